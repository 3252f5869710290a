//! Linear maps and matrices.

use super::{Builder, Node};
use crate::encoder::Factors;
use crate::program::{DiagonalPlan, LinearTransform, Recorded};
use crate::server::maps::LinearMaps;
use crate::server::matrix::{LinearMap, Matrix, ProductMaps};
use crate::server::tracked::{MapNorms, Tracked, salt, times};
use crate::{Error, Result};

impl Builder<'_> {
    /// A linear map of slots; one level. The map's slots divide the ciphertext's, whose vector
    /// then must repeat with that period.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] at level 0, [`Error::Length`] for a map of more slots than the
    /// ciphertext has; without the keys of [`LinearMap::rotations`], [`Error::MissingKey`] when
    /// the recording is finished.
    pub fn linear_transform(&mut self, x: &Node, map: &LinearMap) -> Result<Node> {
        self.check(&[x])?;
        if map.slots() > x.at.slots {
            return Err(Error::Length {
                what: "a linear map",
                found: map.slots(),
                rule: format!(
                    "the ciphertext has {} slots, and maps need as many or fewer: `with_slots({})` \
                     says that its vector repeats",
                    x.at.slots,
                    map.slots()
                ),
            });
        }
        let x = self.with_levels("a linear transform", x, 1)?;
        let (level, scale) = (x.at.level, self.canonical("a linear transform", x.at.level - 1)?);
        let transform = self.encoded_map(map, map.plan(), &x, scale)?;
        let chain = self.set().chain();
        let divides = transform.divides(chain.base(level).len(), chain.auxiliary_len());
        let at = if divides {
            self.recorder.linear_transform_divided(&x.at, &transform)?
        } else {
            self.recorder.linear_transform(&x.at, &transform)?
        };
        let norms = map.norms();
        let model = self.model();
        let count = (map.diagonals().count() as f64).sqrt();
        let encoding = count * model.encoding(transform.plaintext_scale, map.slots());
        // Products with diagonals see what rotations are off by, undivided or divided.
        let switching = norms.row_norm
            * if divides {
                model.key_switch(level, x.at.scale)
            } else {
                model.key_product(level, x.at.scale)
            };
        let noise = switching.hypot(model.rounding(scale));
        let (x, full) = (x.estimate, self.set().slots());
        let digest = map.digest();
        let plain = Tracked::plain(full, digest, 1.0);
        let salt = salt("linear transform", &[digest, level as u64]);
        Ok(self.noted("a linear map", at, move |e| {
            let of_diagonals = times(e[x].magnitude(), encoding);
            let mapped = e[x].clone().mapped(&norms).with_encoding(&plain, of_diagonals);
            mapped.renewed(salt).with_noise(noise)
        }))
    }

    /// `map` by the diagonals of `plan`, for `x`.
    fn encoded_map(
        &self,
        map: &LinearMap,
        plan: DiagonalPlan,
        x: &Node,
        scale: f64,
    ) -> Result<LinearTransform> {
        let mut diagonals: Vec<Option<Factors<'_>>> = Vec::new();
        for (by, diagonal) in map.diagonals() {
            diagonals.resize(by / plan.stride, None);
            diagonals.push(Some(diagonal));
        }
        let (ratio, encoder) = (self.set().rescale_ratio(x.at.level), self.server.encoder());
        Ok(LinearTransform::encode(&diagonals, plan, ratio, x.at.scale, scale, encoder)?)
    }

    /// A matrix of linear maps: one result for each of its rows, one level below the lowest of
    /// `x`, to which all are adjusted.
    ///
    /// # Errors
    /// As [`Builder::linear_transform`], and [`Error::Length`] for another number of ciphertexts
    /// than the matrix has inputs, or of slots than its maps have; without the keys of
    /// [`LinearMaps::rotations`], [`Error::MissingKey`] when the recording is finished.
    pub fn linear_transforms(&mut self, x: &[Node], maps: &LinearMaps) -> Result<Vec<Node>> {
        const OPERATION: &str = "a matrix of linear maps";
        if x.len() != maps.inputs() {
            return Err(Error::Length {
                what: "the vectors of a matrix of linear maps",
                found: x.len(),
                rule: format!("it takes {}", maps.inputs()),
            });
        }
        let mut inputs = Vec::with_capacity(x.len());
        for x in x {
            self.check(&[x])?;
            if x.at.slots != maps.slots() {
                return Err(Error::Length {
                    what: "a vector for linear maps",
                    found: x.at.slots,
                    rule: format!("the maps have {} slots, and it needs as many", maps.slots()),
                });
            }
            inputs.push(self.with_levels(OPERATION, x, 1)?);
        }
        let level = inputs.iter().map(Node::level).min().unwrap_or(0);
        for x in &mut inputs {
            // Diagonals bring a scale in order, but the same ones serve all inputs of a level.
            if x.at.level > level {
                *x = self.adjust(x, level)?;
            }
        }
        let (plan, scale) = (maps.plan(), self.canonical(OPERATION, level - 1)?);
        let mut rows = Vec::with_capacity(maps.outputs());
        for row in maps.rows() {
            let encode = |(map, x): (&Option<LinearMap>, &Node)| {
                map.as_ref().map(|map| self.encoded_map(map, plan, x, scale)).transpose()
            };
            rows.push(row.iter().zip(&inputs).map(encode).collect::<Result<Vec<_>>>()?);
        }
        let referred: Vec<Vec<Option<&LinearTransform>>> =
            rows.iter().map(|row| row.iter().map(Option::as_ref).collect()).collect();
        let referred: Vec<&[Option<&LinearTransform>]> =
            referred.iter().map(Vec::as_slice).collect();
        let at: Vec<Recorded> = inputs.iter().map(|x| x.at).collect();
        let results = self.recorder.linear_transforms(&at, &referred)?;
        let mut nodes = Vec::with_capacity(results.len());
        for ((maps, transforms), at) in maps.rows().iter().zip(&rows).zip(results) {
            nodes.push(self.noted_row(maps, transforms, &inputs, at));
        }
        Ok(nodes)
    }

    /// What is known of one result of a matrix of maps.
    fn noted_row(
        &mut self,
        maps: &[Option<LinearMap>],
        transforms: &[Option<LinearTransform>],
        inputs: &[Node],
        at: Recorded,
    ) -> Node {
        struct Part {
            x: usize,
            norms: MapNorms,
            plain: Tracked,
            encoding: f64,
        }
        let (model, full) = (self.model(), self.set().slots());
        let (mut noise, mut parts) = (model.rounding(at.scale), Vec::new());
        let mut digests = vec![at.level as u64 + 1];
        for ((map, transform), x) in maps.iter().zip(transforms).zip(inputs) {
            let (Some(map), Some(transform)) = (map, transform) else { continue };
            let (norms, digest) = (map.norms(), map.digest());
            noise = noise.hypot(norms.row_norm * model.key_switch(x.at.level, x.at.scale));
            let count = (map.diagonals().count() as f64).sqrt();
            let encoding = count * model.encoding(transform.plaintext_scale, map.slots());
            let plain = Tracked::plain(full, digest, 1.0);
            digests.push(digest);
            parts.push(Part { x: x.estimate, norms, plain, encoding });
        }
        let salt = salt("linear transform", &digests);
        self.noted("a linear map", at, move |e| {
            let one = |part: &Part| {
                let of_diagonals = times(e[part.x].magnitude(), part.encoding);
                let mapped = e[part.x].clone().mapped(&part.norms);
                mapped.with_encoding(&part.plain, of_diagonals)
            };
            let sum = parts.iter().map(one).reduce(|sum, part| sum.plus(&part));
            sum.expect("a row has a map").renewed(salt).with_noise(noise)
        })
    }

    /// A matrix in the clear times the vector in a ciphertext, one level.
    ///
    /// The vector, padded with zeros to a power of two b of columns, must repeat with period b (a
    /// ciphertext of b slots always does). The product repeats with the padded number of rows, and
    /// has as many slots if the ciphertext has fewer.
    ///
    /// # Errors
    /// [`Error::Length`] for a ciphertext of fewer than b slots, else as
    /// [`Builder::linear_transform`], the keys being those of [`Matrix::rotations`].
    pub fn matrix_vector(&mut self, matrix: &Matrix, x: &Node) -> Result<Node> {
        self.check(&[x])?;
        let [rows, columns] = matrix.padded();
        if x.at.slots < columns {
            return Err(Error::Length {
                what: "the vector of a product with a matrix",
                found: x.at.slots,
                rule: format!(
                    "{} columns need a vector of {columns} slots, or more that repeat",
                    matrix.columns()
                ),
            });
        }
        let x = if x.at.slots < rows { self.with_slots(x, rows)? } else { *x };
        let Some((map, sum)) = matrix.by_diagonals()? else {
            let x = self.with_levels("a linear transform", &x, 1)?;
            let zero = self.mul_constant(&x, 0.0)?;
            return self.adjust(&zero, x.at.level - 1);
        };
        let product = self.linear_transform(&x, &map)?;
        if sum.width == 1 {
            return Ok(product);
        }
        self.inner_sum(&product, sum.width, sum.stride as i64)
    }

    /// The product of two encrypted d x d matrices, each row after row in d^2 slots (all that the
    /// ciphertext has); three levels, d key switches and 4 d cheaper ones.
    ///
    /// # Errors
    /// [`Error::Length`] unless the slots are d^2 with d a power of two, [`Error::OutOfLevels`]
    /// below level 3; without the keys of [`Matrix::product_rotations`], [`Error::MissingKey`]
    /// when the recording is finished.
    pub fn matrix_matrix(&mut self, x: &Node, y: &Node) -> Result<Node> {
        const OPERATION: &str = "a product of matrices";
        self.check(&[x, y])?;
        let slots = x.at.slots;
        let size = 1usize << (slots.ilog2() / 2);
        if size * size != slots || y.at.slots != slots {
            return Err(Error::Length {
                what: OPERATION,
                found: y.at.slots,
                rule: format!(
                    "both need one number d^2 of slots, d a power of two; one has {slots}"
                ),
            });
        }
        let same = x.estimate == y.estimate;
        let x = self.with_levels(OPERATION, x, 3)?;
        let y = if same { x } else { self.with_levels(OPERATION, y, 3)? };
        let maps = ProductMaps::new(size)?;
        let rows = self.linear_transform(&x, &maps.rows)?;
        let columns = self.linear_transform(&y, &maps.columns)?;
        let mut left = vec![self.adjust(&rows, rows.at.level - 1)?];
        for shift in &maps.shifts {
            left.push(self.linear_transform(&rows, shift)?);
        }
        let turns: Vec<i64> = (0..size).map(|k| (k * size) as i64).collect();
        let right = self.rotate_many(&columns, &turns)?;
        self.inner_product(&left, &right)
    }
}
