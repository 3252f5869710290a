//! Operations on batches: each is a recording of that one operation, made once for each level,
//! scale and number of slots, and kept.

use std::ops::RangeInclusive;
use std::sync::Arc;

use num_complex::Complex64;

use super::builder::{Builder, Node, check_length, largest};
use super::ciphertexts::Ciphertexts;
use super::matrix::{LinearMap, Matrix};
use super::recording::{Operand, Recording};
use super::{Bootstrapping, ServerKey};
use crate::approximation::{CompositeSign, Polynomial};
use crate::{Plaintext, Result};

/// What a kept recording is known by: the operation, its constants, and the shapes of its inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OperationKey([u8; 32]);

/// Collects what a recording depends on.
struct Key(blake3::Hasher);

impl Key {
    fn new(operation: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(operation.len() as u64).to_le_bytes()).update(operation.as_bytes());
        Self(hasher)
    }

    fn integer(mut self, value: i64) -> Self {
        self.0.update(&value.to_le_bytes());
        self
    }

    fn number(self, value: f64) -> Self {
        self.integer(value.to_bits() as i64)
    }

    fn complex(self, value: Complex64) -> Self {
        self.number(value.re).number(value.im)
    }

    fn numbers(self, values: &[f64]) -> Self {
        let key = self.integer(values.len() as i64);
        values.iter().fold(key, |key, &value| key.number(value))
    }

    fn polynomial(self, p: &Polynomial) -> Self {
        let interval = p.interval();
        self.number(*interval.start()).number(*interval.end()).numbers(p.coefficients())
    }

    fn sign(self, sign: &CompositeSign) -> Self {
        sign.polynomials().iter().fold(self, Self::polynomial)
    }

    fn ciphertexts(self, x: &Ciphertexts) -> Self {
        self.integer(x.level() as i64).number(x.scale()).integer(x.slots() as i64)
    }

    fn finish(self) -> OperationKey {
        OperationKey(*self.0.finalize().as_bytes())
    }
}

impl ServerKey {
    /// Runs the recording of one operation, made now if there is none yet.
    fn all(
        &self,
        key: Key,
        inputs: &[&Ciphertexts],
        record: impl FnOnce(&mut Builder<'_>, &[Node]) -> Result<Vec<Node>>,
    ) -> Result<Vec<Ciphertexts>> {
        for x in inputs {
            x.check_server(self.shared())?;
        }
        let key = inputs.iter().fold(key, |key, x| key.ciphertexts(x)).finish();
        let recording = self.kept(key, || {
            self.record(|b| {
                let nodes = inputs
                    .iter()
                    .map(|x| b.input_with(x.level(), x.scale(), x.slots()))
                    .collect::<Result<Vec<_>>>()?;
                record(b, &nodes)
            })
        })?;
        recording.run(inputs)
    }

    fn one(
        &self,
        key: Key,
        x: &Ciphertexts,
        record: impl FnOnce(&mut Builder<'_>, &Node) -> Result<Node>,
    ) -> Result<Ciphertexts> {
        only(self.all(key, &[x], |b, nodes| Ok(vec![record(b, &nodes[0])?]))?)
    }

    /// An operation on two batches; on one and itself where they are the same.
    fn two(
        &self,
        operation: &str,
        x: &Ciphertexts,
        y: &Ciphertexts,
        record: impl FnOnce(&mut Builder<'_>, &Node, &Node) -> Result<Node>,
    ) -> Result<Ciphertexts> {
        if x.is_same(y) {
            let key = Key::new(operation).integer(1);
            return self.one(key, x, |b, x| record(b, x, x));
        }
        let key = Key::new(operation).integer(2);
        only(self.all(key, &[x, y], |b, n| Ok(vec![record(b, &n[0], &n[1])?]))?)
    }

    fn kept(
        &self,
        key: OperationKey,
        make: impl FnOnce() -> Result<Recording>,
    ) -> Result<Arc<Recording>> {
        if let Some(recording) = self.kept_recordings().get(&key) {
            return Ok(recording);
        }
        // Not under the lock: a recording may take long, and others are not to wait for it.
        let recording = Arc::new(make()?);
        self.kept_recordings().insert(key, recording.clone());
        Ok(recording)
    }

    /// x + y, pairwise. The batch of higher level is adjusted to the other's.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn add(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("add", x, y, |b, x, y| b.add(x, y))
    }

    /// x - y, pairwise. The batch of higher level is adjusted to the other's.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn sub(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("sub", x, y, |b, x, y| b.sub(x, y))
    }

    /// -x.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn neg(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.one(Key::new("neg"), x, |b, x| b.neg(x))
    }

    /// x y, pairwise, relinearised and rescaled: one level below the lower operand.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn mul(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("mul", x, y, |b, x, y| b.mul(x, y))
    }

    /// x y, relinearised but not rescaled; see [`Builder::mul_unscaled`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn mul_unscaled(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("mul_unscaled", x, y, |b, x, y| b.mul_unscaled(x, y))
    }

    /// x^2, relinearised and rescaled.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn square(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.mul(x, x)
    }

    /// x plus a vector, the same for every ciphertext of the batch; see [`Builder::add_plain`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn add_plain<T: Copy + Into<Complex64>>(
        &self,
        x: &Ciphertexts,
        values: &[T],
    ) -> Result<Ciphertexts> {
        check_length("the vector to add", values.len(), x.slots())?;
        let plain = self.encoder().encode(values, x.scale())?;
        self.with_plain("add_plain", x, &plain, largest(values), |b, x, plain| {
            b.add_plain_node(x, plain)
        })
    }

    /// x times a vector slot by slot, the same for every ciphertext of the batch; rescaled. See
    /// [`Builder::mul_plain`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn mul_plain<T: Copy + Into<Complex64>>(
        &self,
        x: &Ciphertexts,
        values: &[T],
    ) -> Result<Ciphertexts> {
        check_length("the vector to multiply by", values.len(), x.slots())?;
        let bootstrapped = self.with_a_level("a product with a vector", x)?;
        let x = bootstrapped.as_ref().unwrap_or(x);
        let plain = self.encoder().encode(values, self.plain_scale(x.level(), x.scale())?)?;
        self.with_plain("mul_plain", x, &plain, largest(values), |b, x, plain| {
            b.mul_plain_node(x, plain)
        })
    }

    /// Runs an operation whose vector each call brings along,
    /// so that one recording serves all vectors.
    fn with_plain(
        &self,
        operation: &str,
        x: &Ciphertexts,
        plain: &Plaintext,
        magnitude: f64,
        record: impl FnOnce(&mut Builder<'_>, &Node, &super::builder::PlainNode) -> Result<Node>,
    ) -> Result<Ciphertexts> {
        x.check_server(self.shared())?;
        let key = Key::new(operation).ciphertexts(x).finish();
        let recording = self.kept(key, || {
            self.record(|b| {
                let node = b.input_with(x.level(), x.scale(), x.slots())?;
                let plain = b.plain_input(x.level(), plain.scale())?;
                Ok(vec![record(b, &node, &plain)?])
            })
        })?;
        let chain = self.set().chain();
        let degree = self.set().degree();
        let base = chain.base(x.level());
        let mut words = vec![0; base.len() * degree];
        for (limb, position) in words.chunks_exact_mut(degree).zip(base.clone()) {
            plain.residues(chain, position, limb);
        }
        let buffer = self.shared().engine.allocate(base.len())?;
        let place = buffer.place(0);
        self.shared().engine.write(place, self.chain().level(x.level())?, &words)?;
        only(
            recording.run_operands(&[
                Operand::Ciphertexts(x),
                Operand::Plaintext { place, magnitude },
            ])?,
        )
    }

    /// x plus a number in every slot.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn add_constant(&self, x: &Ciphertexts, c: impl Into<Complex64>) -> Result<Ciphertexts> {
        let c = c.into();
        self.one(Key::new("add_constant").complex(c), x, |b, x| b.add_constant(x, c))
    }

    /// x times a number in every slot; Gaussian integers up to 65,536 cost no level. See
    /// [`Builder::mul_constant`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn mul_constant(&self, x: &Ciphertexts, c: impl Into<Complex64>) -> Result<Ciphertexts> {
        let c = c.into();
        self.one(Key::new("mul_constant").complex(c), x, |b, x| b.mul_constant(x, c))
    }

    /// The sum of x_i y_i over batches, with one relinearisation and one rescale.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations), and
    /// [`Error::Length`](crate::Error::Length) for lists that are empty or of unequal lengths.
    pub fn inner_product(&self, x: &[&Ciphertexts], y: &[&Ciphertexts]) -> Result<Ciphertexts> {
        let key = Key::new("inner_product").integer(x.len() as i64).integer(y.len() as i64);
        let inputs: Vec<_> = x.iter().chain(y).copied().collect();
        let (left, right) = (x.len(), y.len());
        only(self.all(key, &inputs, |b, n| {
            Ok(vec![b.inner_product(&n[..left], &n[left..left + right])?])
        })?)
    }

    /// Rotation left: slot j of the result is slot j + `by`; negative amounts go right.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn rotate(&self, x: &Ciphertexts, by: i64) -> Result<Ciphertexts> {
        let by = by.rem_euclid(x.slots() as i64);
        self.one(Key::new("rotate").integer(by), x, |b, x| b.rotate(x, by))
    }

    /// Several rotations of one batch, whose decomposition is computed once.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn rotate_many(&self, x: &Ciphertexts, by: &[i64]) -> Result<Vec<Ciphertexts>> {
        let key = by.iter().fold(Key::new("rotate_many"), |key, &by| key.integer(by));
        self.all(key, &[x], |b, nodes| b.rotate_many(&nodes[0], by))
    }

    /// Every slot's complex conjugate.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn conjugate(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.one(Key::new("conjugate"), x, |b, x| b.conjugate(x))
    }

    /// Slot j of the result is the sum of slots j, j + stride, .., j + (width - 1) stride; `width`
    /// is a power of two. Needs rotations by stride, 2 stride, .., stride width / 2.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn inner_sum(&self, x: &Ciphertexts, width: usize, stride: i64) -> Result<Ciphertexts> {
        let key = Key::new("inner_sum").integer(width as i64).integer(stride);
        self.one(key, x, |b, x| b.inner_sum(x, width, stride))
    }

    /// The reverse of [`ServerKey::inner_sum`]; see [`Builder::spread`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn spread(&self, x: &Ciphertexts, width: usize, stride: i64) -> Result<Ciphertexts> {
        self.inner_sum(x, width, -stride)
    }

    /// A linear map of slots; see [`LinearMap`]. One level.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn linear_transform(&self, x: &Ciphertexts, map: &LinearMap) -> Result<Ciphertexts> {
        let mut key = Key::new("linear_transform").integer(map.slots() as i64);
        for (by, diagonal) in map.diagonals() {
            key = key.integer(by as i64);
            key = diagonal.iter().fold(key, |key, &value| key.complex(value));
        }
        self.one(key, x, |b, x| b.linear_transform(x, map))
    }

    /// A matrix times the vector in each ciphertext; see [`Builder::matrix_vector`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn matrix_vector(&self, matrix: &Matrix, x: &Ciphertexts) -> Result<Ciphertexts> {
        let key = Key::new("matrix_vector").integer(matrix.rows() as i64);
        let key = key.integer(matrix.columns() as i64);
        let key = matrix.entries().iter().fold(key, |key, &value| key.complex(value));
        self.one(key, x, |b, x| b.matrix_vector(matrix, x))
    }

    /// The product of two encrypted square matrices; see [`Builder::matrix_matrix`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn matrix_matrix(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("matrix_matrix", x, y, |b, x, y| b.matrix_matrix(x, y))
    }

    /// A polynomial of every slot, whose slots lie in its interval. It takes
    /// [`Polynomial::levels`] levels.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn polynomial(&self, x: &Ciphertexts, p: &Polynomial) -> Result<Ciphertexts> {
        let key = Key::new("polynomial").polynomial(p).number(p.error().unwrap_or(0.0));
        self.one(key, x, |b, x| b.polynomial(x, p))
    }

    /// Any function of every slot, on an interval in which all slots lie: fitted to within `error`
    /// by the polynomial of least degree, which is handed out beside the result and tells its
    /// degree and error.
    ///
    /// Slots outside the interval yield garbage, which nobody can see without the key.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations), and
    /// [`Error::Approximation`](crate::Error::Approximation) when no polynomial that the levels
    /// allow is good enough.
    pub fn function(
        &self,
        x: &Ciphertexts,
        f: impl Fn(f64) -> f64,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Ciphertexts, Polynomial)> {
        let p =
            Polynomial::fit(f, interval.clone(), error, self.most_degree(x.level(), &interval))?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// 1/x in every slot, on an interval without 0; see [`ServerKey::function`].
    ///
    /// # Errors
    /// As [`ServerKey::function`].
    pub fn inverse(
        &self,
        x: &Ciphertexts,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Ciphertexts, Polynomial)> {
        let most = self.most_degree(x.level(), &interval);
        let p = Polynomial::inverse(interval, error, most)?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// The square root of every slot; see [`ServerKey::function`].
    ///
    /// # Errors
    /// As [`ServerKey::function`].
    pub fn sqrt(
        &self,
        x: &Ciphertexts,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Ciphertexts, Polynomial)> {
        let most = self.most_degree(x.level(), &interval);
        let p = Polynomial::sqrt(interval, error, most)?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// The sign of every slot of [-range, range]: within the error of `sign` from 1 or -1 where
    /// the slot's magnitude is at least `range` times its gap. Imaginary parts must be zero.
    ///
    /// It takes the levels of `sign`, and one more unless `range` is 1.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn sign(&self, x: &Ciphertexts, range: f64, sign: &CompositeSign) -> Result<Ciphertexts> {
        let key = Key::new("sign").number(range).sign(sign);
        self.one(key, x, |b, x| b.sign(x, range, sign))
    }

    /// 1 where x > y, 0 where x < y, as exact as the sign of (x - y); see [`ServerKey::sign`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn compare(
        &self,
        x: &Ciphertexts,
        y: &Ciphertexts,
        range: f64,
        sign: &CompositeSign,
    ) -> Result<Ciphertexts> {
        self.one_of_difference("compare", x, y, range, sign, |b, x, y| b.compare(x, y, range, sign))
    }

    /// The larger of x and y in every slot; see [`ServerKey::relu`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn max(
        &self,
        x: &Ciphertexts,
        y: &Ciphertexts,
        range: f64,
        sign: &CompositeSign,
    ) -> Result<Ciphertexts> {
        self.one_of_difference("max", x, y, range, sign, |b, x, y| b.max(x, y, range, sign))
    }

    /// The smaller of x and y in every slot; see [`ServerKey::relu`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn min(
        &self,
        x: &Ciphertexts,
        y: &Ciphertexts,
        range: f64,
        sign: &CompositeSign,
    ) -> Result<Ciphertexts> {
        self.one_of_difference("min", x, y, range, sign, |b, x, y| b.min(x, y, range, sign))
    }

    fn one_of_difference(
        &self,
        operation: &str,
        x: &Ciphertexts,
        y: &Ciphertexts,
        range: f64,
        sign: &CompositeSign,
        record: impl FnOnce(&mut Builder<'_>, &Node, &Node) -> Result<Node>,
    ) -> Result<Ciphertexts> {
        let key = Key::new(operation).number(range).sign(sign);
        only(self.all(key, &[x, y], |b, n| Ok(vec![record(b, &n[0], &n[1])?]))?)
    }

    /// max(x, 0) of every slot of [-range, range], within `range` times
    /// [`CompositeSign::relu_error`]. Imaginary parts must be zero. One level more than
    /// [`ServerKey::sign`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn relu(&self, x: &Ciphertexts, range: f64, sign: &CompositeSign) -> Result<Ciphertexts> {
        let key = Key::new("relu").number(range).sign(sign);
        self.one(key, x, |b, x| b.relu(x, range, sign))
    }

    /// Divides by the ratio of the level and goes down one.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn rescale(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.one(Key::new("rescale"), x, |b, x| b.rescale(x))
    }

    /// To the canonical scale of the lower level `to`, by one rounding.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn adjust(&self, x: &Ciphertexts, to: usize) -> Result<Ciphertexts> {
        self.one(Key::new("adjust").integer(to as i64), x, |b, x| b.adjust(x, to))
    }

    /// To level `to` at whatever scale that gives; see [`Builder::drop_to`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn drop_to(&self, x: &Ciphertexts, to: usize) -> Result<Ciphertexts> {
        self.one(Key::new("drop_to").integer(to as i64), x, |b, x| b.drop_to(x, to))
    }

    /// A bootstrapping with the set's own message ratio: from any level up to
    /// [`CkksParameters::default_level`](crate::CkksParameters::default_level). Slots must not
    /// exceed 1 in magnitude.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn bootstrap(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.bootstrap_with(x, &Bootstrapping::default())
    }

    /// A bootstrapping as `how` says; see [`Bootstrapping`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn bootstrap_with(&self, x: &Ciphertexts, how: &Bootstrapping) -> Result<Ciphertexts> {
        self.one(how.key(Key::new("bootstrap")), x, |b, x| b.bootstrap_with(x, how))
    }

    /// Two batches of real vectors bootstrapped at the cost of one; see
    /// [`Builder::bootstrap_two_real`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn bootstrap_two_real(
        &self,
        u: &Ciphertexts,
        v: &Ciphertexts,
        how: &Bootstrapping,
    ) -> Result<(Ciphertexts, Ciphertexts)> {
        let key = how.key(Key::new("bootstrap_two_real"));
        let mut both = self.all(key, &[u, v], |b, n| {
            let (u, v) = b.bootstrap_two_real(&n[0], &n[1], how)?;
            Ok(vec![u, v])
        })?;
        let v = both.pop();
        Ok((only(both)?, only(v.into_iter().collect())?))
    }

    /// Two bootstrappings, the second of the first one's error: about `bits` bits more; see
    /// [`Builder::meta_bootstrap`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn meta_bootstrap(
        &self,
        x: &Ciphertexts,
        bits: u32,
        how: &Bootstrapping,
    ) -> Result<Ciphertexts> {
        let key = how.key(Key::new("meta_bootstrap").integer(i64::from(bits)));
        self.one(key, x, |b, x| b.meta_bootstrap(x, bits, how))
    }
}

impl Bootstrapping {
    fn key(&self, key: Key) -> Key {
        let ratio = self.message_ratio.map_or(-1, i64::from);
        key.integer(ratio)
            .integer(i64::from(self.real))
            .integer(i64::from(self.equal_slots))
            .integer(i64::from(self.phases.is_some()))
            .integer(self.phases.unwrap_or(0) as i64)
    }
}

fn only(mut list: Vec<Ciphertexts>) -> Result<Ciphertexts> {
    Ok(list.pop().expect("a recording yields as many batches as it has outputs"))
}
