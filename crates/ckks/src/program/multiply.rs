//! Products of ciphertexts (docs/ckks.md, "Keys and key switching").

use girih_backend::poly::{Term, Value};

use super::error::RecordError;
use super::recorder::{Recorded, Recorder};

impl Recorder {
    /// (b b', a b' + a' b, a a').
    ///
    /// # Errors
    /// When the operands stand at different levels.
    pub fn tensor(&mut self, x: &Recorded, y: &Recorded) -> Result<[Value; 3], RecordError> {
        if x.level != y.level {
            let (left, right) = (x.level, y.level);
            return Err(RecordError::Levels { operation: "a product", left, right });
        }
        let d0 = self.sum(vec![Term::product(x.b, y.b)])?;
        let d1 = self.sum(vec![Term::product(x.a, y.b), Term::product(y.a, x.b)])?;
        let d2 = self.sum(vec![Term::product(x.a, y.a)])?;
        Ok([d0, d1, d2])
    }

    /// The relinearised product, at the product of the scales; not rescaled.
    ///
    /// # Errors
    /// When the operands stand at different levels.
    pub fn multiply(&mut self, x: &Recorded, y: &Recorded) -> Result<Recorded, RecordError> {
        let tensor = self.tensor(x, y)?;
        self.relinearise(tensor, x.level, x.scale * y.scale, x.slots.max(y.slots))
    }

    /// The product with itself; not rescaled.
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn square(&mut self, x: &Recorded) -> Result<Recorded, RecordError> {
        self.multiply(x, x)
    }
}
