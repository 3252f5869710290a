//! Operations on batches: each is a recording of that one operation, made once for each level,
//! scale and number of slots, and kept.

mod arithmetic;
mod functions;
mod levels;
mod slots;

use std::sync::Arc;

use num_complex::Complex64;

use super::ServerKey;
use super::builder::{Builder, Node, digest_of};
use super::ciphertexts::Ciphertexts;
use super::recording::{Operand, Recording};
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
        self.recording_of(key, inputs, record)?.run(inputs)
    }

    /// The recording of one operation on batches like these, made now if there is none yet.
    fn recording_of(
        &self,
        key: Key,
        inputs: &[&Ciphertexts],
        record: impl FnOnce(&mut Builder<'_>, &[Node]) -> Result<Vec<Node>>,
    ) -> Result<Arc<Recording>> {
        for x in inputs {
            x.check_server(self.shared())?;
        }
        let key = inputs.iter().fold(key, |key, x| key.ciphertexts(x)).finish();
        self.kept(key, || {
            self.record(|b| {
                let nodes = inputs
                    .iter()
                    .map(|x| b.input_with(x.level(), x.scale(), x.slots()))
                    .collect::<Result<Vec<_>>>()?;
                record(b, &nodes)
            })
        })
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
        only(recording.run_operands(&[
            Operand::Ciphertexts(x),
            Operand::Plaintext { place, magnitude, digest: digest_of(plain.coefficients()) },
        ])?)
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
}

fn only(mut list: Vec<Ciphertexts>) -> Result<Ciphertexts> {
    Ok(list.pop().expect("a recording yields as many batches as it has outputs"))
}
