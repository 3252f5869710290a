//! Sums and products, with ciphertexts, vectors and constants.

use num_bigint::BigInt;
use num_complex::Complex64;
use std::f64::consts::SQRT_2;

use super::parts::{InputShape, PlainNode};
use super::{Builder, Node};
use crate::encoder::Parts;
use crate::program::RecordError;
use crate::server::check::{check_length, largest};
use crate::server::tracked::{Tracked, salt, short};
use crate::{Error, Result};
use girih_backend::poly::{Domain, Term, Value};
use girih_backend::{Preparation, preparing};

/// Constants that are Gaussian integers up to this magnitude cost no level.
const LARGEST_FREE_CONSTANT: f64 = 65536.0;

impl Builder<'_> {
    /// x + y. The operand of higher level is adjusted; where scales differ at one level, which only
    /// products that were not rescaled and real bootstrappings leave, both go a level down.
    ///
    /// # Errors
    /// [`Error::Scale`] when the scales differ at level 0.
    pub fn add(&mut self, x: &Node, y: &Node) -> Result<Node> {
        self.check(&[x, y])?;
        let (x, y) = self.at_one_scale(x, y)?;
        let at = self.recorder.add(&x.at, &y.at)?;
        let (x, y) = (x.estimate, y.estimate);
        Ok(self.noted("a sum", at, move |e| e[x].plus(&e[y])))
    }

    /// x - y; levels and scales as in [`Builder::add`].
    ///
    /// # Errors
    /// [`Error::Scale`] when the scales differ at level 0.
    pub fn sub(&mut self, x: &Node, y: &Node) -> Result<Node> {
        self.check(&[x, y])?;
        let (x, y) = self.at_one_scale(x, y)?;
        let at = self.recorder.sub(&x.at, &y.at)?;
        let (x, y) = (x.estimate, y.estimate);
        Ok(self.noted("a difference", at, move |e| e[x].minus(&e[y])))
    }

    /// -x.
    ///
    /// # Errors
    /// [`Error::Order`] for a node of another recording.
    pub fn neg(&mut self, x: &Node) -> Result<Node> {
        self.check(&[x])?;
        let at = self.recorder.negate(&x.at)?;
        let x = x.estimate;
        Ok(self.noted("a negative", at, move |e| e[x].clone().times_exactly((-1.0).into())))
    }

    /// x y, relinearised and rescaled: one level below the lower operand.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] at level 0, [`Error::MissingKey`] without the multiplication key.
    pub fn mul(&mut self, x: &Node, y: &Node) -> Result<Node> {
        let product = self.mul_unscaled(x, y)?;
        self.rescale(&product)
    }

    /// x y, relinearised but not rescaled: the scale is the product of both. Sums of such products
    /// are rescaled once, by [`Builder::rescale`].
    ///
    /// # Errors
    /// As [`Builder::mul`].
    pub fn mul_unscaled(&mut self, x: &Node, y: &Node) -> Result<Node> {
        self.product(x, y, f64::INFINITY)
    }

    /// x y, which is known to stay below `most`.
    pub(super) fn mul_at_most(&mut self, x: &Node, y: &Node, most: f64) -> Result<Node> {
        let product = self.product(x, y, most)?;
        self.rescale(&product)
    }

    fn product(&mut self, x: &Node, y: &Node, most: f64) -> Result<Node> {
        self.check(&[x, y])?;
        let same = x.estimate == y.estimate;
        let x = self.with_levels("a product", x, 1)?;
        let y = if same { x } else { self.with_levels("a product", y, 1)? };
        let (x, y) = self.at_one_level(&x, &y)?;
        let at = self.recorder.multiply(&x.at, &y.at)?;
        let noise = self.model().key_switch(at.level, at.scale);
        let (x, y, salt) = (x.estimate, y.estimate, salt("product", &[at.level as u64]));
        Ok(self.noted("a product", at, move |e| {
            e[x].product(&e[y], salt).with_noise(noise).at_most(most)
        }))
    }

    /// The sum of x_i y_i, with one relinearisation and one rescale. All operands are adjusted to
    /// the lowest level among them.
    ///
    /// # Errors
    /// As [`Builder::mul`], [`Error::Length`] for lists that are empty or of unequal lengths, and
    /// [`Error::Scale`] when the products have different scales.
    pub fn inner_product(&mut self, x: &[Node], y: &[Node]) -> Result<Node> {
        if x.is_empty() || x.len() != y.len() {
            return Err(Error::Length {
                what: "a list of factors",
                found: y.len(),
                rule: format!(
                    "it must be as long as the other, which has {}, and not empty",
                    x.len()
                ),
            });
        }
        let mut factors = Vec::with_capacity(2 * x.len());
        for node in x.iter().chain(y) {
            self.check(&[node])?;
            factors.push(self.with_levels("an inner product", node, 1)?);
        }
        let level = factors.iter().map(|node| node.at.level).min().unwrap_or(0);
        for node in &mut factors {
            if node.at.level > level {
                *node = self.adjust(node, level)?;
            }
        }
        let (x, y) = factors.split_at(x.len());
        let scale = x[0].at.scale * y[0].at.scale;
        let mut tensor: Option<[Value; 3]> = None;
        for (x, y) in x.iter().zip(y) {
            if !self.set().scales_agree(x.at.scale * y.at.scale, scale) {
                return Err(Error::Scale {
                    operation: "an inner product".into(),
                    rule: "all products need one scale: rescale or adjust the factors first".into(),
                });
            }
            let product = self.recorder.tensor(&x.at, &y.at)?;
            tensor = Some(match tensor {
                None => product,
                Some(mut sum) => {
                    for (part, more) in sum.iter_mut().zip(product) {
                        let terms = vec![Term::plus(*part), Term::plus(more)];
                        *part = self.recorder.builder().sum(terms).map_err(RecordError::from)?;
                    }
                    sum
                }
            });
        }
        let slots = factors.iter().map(|node| node.at.slots).max().unwrap_or(1);
        let tensor = tensor.expect("the lists are not empty");
        let at = self.recorder.relinearise(tensor, level, scale, slots)?;
        let noise = self.model().key_switch(level, scale);
        let salt = salt("product", &[level as u64]);
        let pairs: Vec<_> = x.iter().zip(y).map(|(x, y)| (x.estimate, y.estimate)).collect();
        let product = self.noted("an inner product", at, move |e| {
            let one = |&(x, y): &(usize, usize)| e[x].product(&e[y], salt);
            let sum = pairs.iter().map(one).reduce(|sum, product| sum.plus(&product));
            let sum = sum.expect("the lists are not empty");
            // One pair is a product as any other; the key switch of a sum is one of its own.
            if pairs.len() == 1 { sum } else { sum.renewed(salt) }.with_noise(noise)
        });
        self.rescale(&product)
    }

    /// x^2, relinearised and rescaled.
    ///
    /// # Errors
    /// As [`Builder::mul`].
    pub fn square(&mut self, x: &Node) -> Result<Node> {
        self.mul(x, x)
    }

    /// x plus a vector of real or complex numbers: a power of two of them, at most as many as `x`
    /// has slots; fewer are repeated.
    ///
    /// # Errors
    /// [`Error::Length`] for another length, [`Error::Value`] for a number that is not finite or
    /// too large.
    pub fn add_plain<T: Copy + Into<Complex64>>(&mut self, x: &Node, values: &[T]) -> Result<Node> {
        self.check(&[x])?;
        let plain = self.encoded("the vector to add", x, values, x.at.scale)?;
        self.add_plain_node(x, &plain)
    }

    /// x times a vector of real or complex numbers, slot by slot; rescaled. Lengths as in
    /// [`Builder::add_plain`].
    ///
    /// # Errors
    /// As [`Builder::add_plain`], and [`Error::OutOfLevels`] at level 0.
    pub fn mul_plain<T: Copy + Into<Complex64>>(&mut self, x: &Node, values: &[T]) -> Result<Node> {
        self.check(&[x])?;
        let x = self.with_levels("a product with a vector", x, 1)?;
        let scale = self.product_scale(&x)? / x.at.scale;
        let plain = self.encoded("the vector to multiply by", &x, values, scale)?;
        self.mul_plain_node(&x, &plain)
    }

    fn encoded<T: Copy + Into<Complex64>>(
        &mut self,
        what: &'static str,
        x: &Node,
        values: &[T],
        scale: f64,
    ) -> Result<PlainNode> {
        check_length(what, values.len(), x.at.slots)?;
        let encoding = preparing(Preparation::Encoding);
        let mut parts = Parts::default();
        parts.fill(values.iter().map(|&value| value.into()));
        let coefficients = self.server.encoder().coefficients_of(&mut parts, scale)?;
        let digest = digest_of(&coefficients);
        drop(encoding);
        let value = self.recorder.plaintext(coefficients, x.at.level)?;
        let (magnitude, full) = (largest(values), self.set().slots());
        let plain = self.noted("a vector", x.at, move |_| Tracked::plain(full, digest, magnitude));
        let estimate = plain.estimate;
        let level = x.at.level;
        Ok(PlainNode { value, level, scale, estimate })
    }

    /// Declares a plaintext that each call brings along, in coefficients at `level` and `scale`.
    pub(crate) fn plain_input(&mut self, level: usize, scale: f64) -> Result<PlainNode> {
        let basis = self.recorder.chain().clone().level(level)?.clone();
        let builder = self.recorder.builder();
        let input = builder.input(basis, Domain::Coefficients).map_err(RecordError::from)?;
        let value = builder.transform(input, Domain::Evaluations);
        self.inputs.push(InputShape::Plaintext { level });
        self.tape.inputs += 1;
        Ok(PlainNode { value, level, scale, estimate: self.tape.inputs - 1 })
    }

    pub(crate) fn add_plain_node(&mut self, x: &Node, plain: &PlainNode) -> Result<Node> {
        let at = self.recorder.add_plaintext(&x.at, plain.value)?;
        let encoding = self.model().encoding(plain.scale, at.slots);
        let (x, plain) = (x.estimate, plain.estimate);
        Ok(self.noted("a sum with a vector", at, move |e| e[x].plus_plain(&e[plain], encoding)))
    }

    pub(crate) fn mul_plain_node(&mut self, x: &Node, plain: &PlainNode) -> Result<Node> {
        debug_assert_eq!(x.at.level, plain.level);
        let at = self.recorder.multiply_plaintext(&x.at, plain.value, plain.scale)?;
        let encoding = self.model().encoding(plain.scale, at.slots);
        let (x, plain, salt) = (x.estimate, plain.estimate, salt("vector", &[]));
        let product = self.noted("a product with a vector", at, move |e| {
            e[x].product_with_plain(&e[plain], salt, encoding)
        });
        self.rescale(&product)
    }

    /// x plus a number in every slot.
    ///
    /// # Errors
    /// [`Error::Value`] for a number that is not finite or too large.
    pub fn add_constant(&mut self, x: &Node, c: impl Into<Complex64>) -> Result<Node> {
        self.check(&[x])?;
        let c = c.into();
        self.check_constant("the number to add", c, x.at.level, x.at.scale)?;
        let at = self.recorder.add_constant(&x.at, c.re, c.im)?;
        // The number itself is rounded to a multiple of 1 / scale.
        let rounding = 0.5 / x.at.scale * if c.im == 0.0 { 1.0 } else { SQRT_2 };
        let x = x.estimate;
        Ok(self.noted("a sum with a number", at, move |e| {
            let magnitude = e[x].magnitude() + c.norm();
            e[x].clone().with_bias(rounding).reaching(magnitude)
        }))
    }

    /// x times a number in every slot.
    ///
    /// Whole numbers and whole multiples of i (Gaussian integers, to be exact) up to 65,536 cost
    /// no level and no noise; any other number costs a level.
    ///
    /// # Errors
    /// [`Error::Value`] for a number that is not finite or too large, [`Error::OutOfLevels`] at
    /// level 0.
    pub fn mul_constant(&mut self, x: &Node, c: impl Into<Complex64>) -> Result<Node> {
        self.check(&[x])?;
        let c = c.into();
        self.check_constant("the number to multiply by", c, x.at.level, x.at.scale)?;
        if is_free(c) {
            return self.mul_gaussian(x, c);
        }
        let x = self.with_levels("a product with a number", x, 1)?;
        let scale = self.product_scale(&x)?;
        let at = self.recorder.multiply_constant(&x.at, c.re, c.im, scale)?;
        // The number itself was rounded to a multiple of x.scale / scale.
        let rounding = 0.5 * x.at.scale / scale;
        let x = x.estimate;
        // Of c and of its products with units the roundings are those of one.
        let salt = salt("number", &unit_free(c));
        let product = self.noted("a product with a number", at, move |e| {
            let bias = e[x].magnitude() * rounding * SQRT_2;
            e[x].clone().times(c.norm()).with_bias(bias).renewed(salt)
        });
        self.rescale(&product)
    }

    fn mul_gaussian(&mut self, x: &Node, c: Complex64) -> Result<Node> {
        let at = if c.im == 0.0 {
            self.recorder.multiply_integer(&x.at, &BigInt::from(c.re as i64))?
        } else {
            let scale = x.at.scale;
            self.recorder.multiply_constant(&x.at, c.re, c.im, scale)?
        };
        let x = x.estimate;
        Ok(self.noted("a product with a whole number", at, move |e| e[x].clone().times_exactly(c)))
    }

    /// Refuses numbers that are not finite, or that no ciphertext at `level` could hold.
    fn check_constant(&self, what: &str, c: Complex64, level: usize, scale: f64) -> Result<()> {
        let refuse =
            |rule: String| Err(Error::Value { what: what.into(), value: c.to_string(), rule });
        if !c.is_finite() {
            return refuse("only finite numbers can be encoded".into());
        }
        let chain = self.set().chain();
        let log2_most = chain.log2_product(chain.base(level)) - 1.0 - scale.log2();
        if c.norm().log2() >= log2_most {
            return refuse(format!("at level {level} slots must stay below 2^{log2_most:.1}"));
        }
        Ok(())
    }
}

/// What a number and its products with -1 and i have in common.
fn unit_free(c: Complex64) -> [u64; 2] {
    let (a, b) = (c.re.abs().to_bits(), c.im.abs().to_bits());
    [a.min(b), a.max(b)]
}

/// A digest of an encoded polynomial, the same of all coefficients and of those of X^0, X^r, ..
/// where others are 0.
pub(crate) fn digest_of(coefficients: &[i64]) -> u64 {
    // The largest step of exponents with nothing between.
    let used = coefficients.iter().enumerate().skip(1).filter(|(_, c)| **c != 0);
    let step = used.fold(coefficients.len(), |step, (k, _)| step.min(k & k.wrapping_neg()));
    let kept: Vec<i64> = coefficients.iter().copied().step_by(step).collect();
    short(blake3::Hasher::new().update(bytemuck::cast_slice(&kept)))
}

/// Whether a product with this number costs no level.
pub(super) fn is_free(c: Complex64) -> bool {
    let whole = |v: f64| v.fract() == 0.0 && v.abs() <= LARGEST_FREE_CONSTANT;
    whole(c.re) && whole(c.im)
}
