//! Every slot of every output against the plain result.

use girih::ckks::Complex64;

/// What comparing slots showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// Components compared: two a slot.
    pub components: usize,
    /// Slots of which a component errs by more than was allowed.
    pub wrong: usize,
    squares: f64,
    log2_errors: f64,
    /// The largest error of a component.
    pub max_error: f64,
}

impl Checked {
    /// Compares slots; an error above `allowed` is wrong, as is one that is not a number.
    pub fn add(&mut self, got: &[Complex64], want: &[Complex64], allowed: f64) {
        assert_eq!(got.len(), want.len(), "as many slots as were computed");
        for (got, want) in got.iter().zip(want) {
            let errors = [(got.re - want.re).abs(), (got.im - want.im).abs()];
            self.wrong += usize::from(!errors.iter().all(|e| *e <= allowed));
            for error in errors {
                self.components += 1;
                self.squares += error * error;
                // An exact component counts as the last bit of an f64.
                self.log2_errors += error.max(f64::EPSILON).log2();
                self.max_error = self.max_error.max(error);
            }
        }
    }

    /// Standard deviation of a component's error.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.components.max(1) as f64).sqrt()
    }

    /// Mean over components of the bits that are right after the point.
    pub fn mean_bits(&self) -> f64 {
        -self.log2_errors / self.components.max(1) as f64
    }

    /// The same of the worst component.
    pub fn worst_bits(&self) -> f64 {
        -self.max_error.max(f64::EPSILON).log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_wrong_by_either_part_and_by_no_number() {
        let zero = [Complex64::new(0.0, 0.0); 4];
        let got = [
            Complex64::new(0.25, 0.0),
            Complex64::new(0.0, -0.5),
            Complex64::new(f64::NAN, 0.0),
            Complex64::new(0.0, 0.0),
        ];
        let mut checked = Checked::default();
        checked.add(&got, &zero, 0.3);
        assert_eq!((checked.wrong, checked.components), (2, 8));
        assert_eq!(checked.worst_bits(), 1.0);
        let mut exact = Checked::default();
        exact.add(&zero, &zero, 0.0);
        assert_eq!((exact.wrong, exact.mean_bits(), exact.deviation()), (0, 52.0, 0.0));
    }
}
