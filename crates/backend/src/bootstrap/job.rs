//! Jobs: what one call asks of a device.

use crate::{BackendError, BootstrapShape, Result};

/// A stored ciphertext and the small integer it is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Index of the ciphertext in the engine's store.
    pub ciphertext: u32,
    /// Its weight.
    pub weight: i32,
}

/// A small integer combination of stored ciphertexts modulo a power of two: `sum weight_i * c_i +
/// (0, constant)`.
///
/// Stored words are reduced by masking, so a ciphertext modulo a larger power of two may be
/// combined modulo a smaller one: that is exactly reduction, not rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// Up to [`Combination::MAX_OPERANDS`] operands; unused ones have weight 0.
    pub operands: [Operand; 4],
    /// Added to every body; modulo 2^64 (native torus) in units of 2^32.
    pub constant: u32,
    /// log2 of the modulus of the result. 64 on the native torus, and only there.
    pub log2_modulus: u32,
}

impl Combination {
    /// Most operands that one combination can take.
    pub const MAX_OPERANDS: usize = 4;

    /// A combination of `operands` plus `constant` modulo `2^log2_modulus`.
    ///
    /// # Panics
    /// If more than [`Combination::MAX_OPERANDS`] operands are given: the caller builds these, not
    /// its input.
    pub fn new(operands: &[Operand], constant: u32, log2_modulus: u32) -> Self {
        assert!(operands.len() <= Self::MAX_OPERANDS, "a combination takes at most 4 operands");
        let mut all = [Operand { ciphertext: 0, weight: 0 }; Self::MAX_OPERANDS];
        all[..operands.len()].copy_from_slice(operands);
        Self { operands: all, constant, log2_modulus }
    }

    /// The operands that take part (weight not zero).
    pub fn used(&self) -> impl Iterator<Item = Operand> + '_ {
        self.operands.iter().copied().filter(|o| o.weight != 0)
    }
}

/// One bootstrapping: combine, look up, switch back, store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootstrapJob {
    /// What is bootstrapped; its modulus divides 2N, and 2N / modulus is the factor f of the
    /// initial rotation (native torus: it is 2^64, and the switched ciphertext is rounded to 2N).
    pub input: Combination,
    /// Index of the test polynomial of slot 0, as [`crate::Engine::add_tables`] returned it.
    pub table: u32,
    /// Slot j uses test polynomial `table + j * table_stride`: 0 shares one,
    /// 1 gives each slot its own.
    pub table_stride: u32,
    /// Added modulo Q to every body at extraction (Q/8 for gates).
    pub output_offset: u64,
    /// log2 of the modulus of the result: log2 q, or that of a larger input modulus for
    /// large-precision functions (at most 30); 64 on the native torus.
    pub log2_output_modulus: u32,
    /// Index at which the result is stored. It may be one of this job's own operands, not one of
    /// another job's.
    pub output: u32,
    /// A second result of the same rotation, on the native torus only.
    pub second: Option<SecondOutput>,
}

impl BootstrapJob {
    /// The indices at which results are stored: one or two.
    pub fn outputs(&self) -> impl Iterator<Item = u32> + Clone + use<> {
        std::iter::once(self.output).chain(self.second.map(|second| second.output))
    }
}

/// A second result of one bootstrapping: another coefficient of the accumulator, which is what the
/// test polynomial holds as many coefficients further on (negated beyond its end). Where inputs
/// use half of a test polynomial, the other half is a second function of them at no cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondOutput {
    /// Which coefficient, from 1 to N - 1; that of the first result is 0.
    pub coefficient: u32,
    /// As [`BootstrapJob::output_offset`].
    pub output_offset: u64,
    /// As [`BootstrapJob::output`], and another index.
    pub output: u32,
}

/// A combination without a bootstrapping, optionally rescaled to another modulus with rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearJob {
    /// What is computed.
    pub input: Combination,
    /// log2 of the modulus of the result; below `input.log2_modulus` each word is rounded half up,
    /// at it nothing happens.
    pub log2_output_modulus: u32,
    /// Index at which the result is stored.
    pub output: u32,
}

/// Largest log2 of a stored ciphertext's modulus.
const MAX_LOG2_STORED: u32 = 30;

fn invalid(job: usize, what: String) -> BackendError {
    BackendError::InvalidRequest(format!("job {job}: {what}"))
}

/// The moduli that an input may have: up to `2^most`, or 2^64 on the native torus.
fn check_combination(
    job: usize,
    c: &Combination,
    stored: usize,
    shape: &BootstrapShape,
    most: u32,
) -> Result<()> {
    for operand in c.used() {
        if operand.ciphertext as usize >= stored {
            return Err(invalid(
                job,
                format!(
                    "operand {} is outside the store of {stored} ciphertexts",
                    operand.ciphertext
                ),
            ));
        }
    }
    check_modulus(job, "input", c.log2_modulus, shape, most)
}

fn check_modulus(
    job: usize,
    what: &str,
    log2: u32,
    shape: &BootstrapShape,
    most: u32,
) -> Result<()> {
    match shape.is_torus() {
        true if log2 != 64 => {
            Err(invalid(job, format!("{what} modulus 2^{log2} must be 2^64, the native torus")))
        }
        false if !(1..=most).contains(&log2) => {
            Err(invalid(job, format!("{what} modulus 2^{log2} must be from 2 to 2^{most}")))
        }
        _ => Ok(()),
    }
}

fn check_second(job: usize, second: SecondOutput, shape: &BootstrapShape) -> Result<()> {
    if !shape.is_torus() {
        let what = "a second result: rotations have one, but on the native torus";
        return Err(invalid(job, what.into()));
    }
    let size = shape.polynomial_size;
    if !(1..size).contains(&(second.coefficient as usize)) {
        return Err(invalid(
            job,
            format!(
                "a second result at coefficient {}: it must be from 1 to {}",
                second.coefficient,
                size - 1
            ),
        ));
    }
    Ok(())
}

/// Marks outputs, so that a job that reads another's output, or two that write one place, are found
/// in one pass.
fn check_independence<'a>(
    stored: usize,
    jobs: impl Iterator<Item = (&'a Combination, impl Iterator<Item = u32>)> + Clone,
) -> Result<()> {
    let mut writer = vec![u32::MAX; stored];
    let outputs = jobs.clone().enumerate();
    for (index, output) in outputs.flat_map(|(i, (_, outputs))| outputs.map(move |o| (i, o))) {
        let Some(slot) = writer.get_mut(output as usize) else {
            return Err(invalid(
                index,
                format!("output {output} is outside the store of {stored} ciphertexts"),
            ));
        };
        if *slot != u32::MAX {
            return Err(invalid(index, format!("output {output} is also written by job {slot}")));
        }
        *slot = index as u32;
    }
    for (index, (input, _)) in jobs.enumerate() {
        for operand in input.used() {
            let by = writer[operand.ciphertext as usize];
            if by != u32::MAX && by as usize != index {
                return Err(invalid(
                    index,
                    format!(
                        "operand {} is written by job {by} of the same list; put them into two \
                         lists",
                        operand.ciphertext
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Checks a list of bootstrapping jobs against the loaded keys, the store and the tables.
///
/// # Errors
/// [`BackendError::InvalidRequest`] naming the first job that does not fit and why.
pub fn validate_jobs(
    shape: &BootstrapShape,
    stored: usize,
    tables: usize,
    jobs: &[BootstrapJob],
) -> Result<()> {
    for (index, job) in jobs.iter().enumerate() {
        check_combination(index, &job.input, stored, shape, shape.log2_monomials())?;
        let last = u64::from(job.table) + u64::from(job.table_stride) * (shape.packing as u64 - 1);
        if last >= tables as u64 {
            return Err(invalid(
                index,
                format!("test polynomial {last} is not among the {tables} loaded"),
            ));
        }
        check_modulus(
            index,
            "output",
            job.log2_output_modulus,
            shape,
            MAX_LOG2_STORED.min(shape.log2_ks_modulus),
        )?;
        if let Some(modulus) = shape.accumulator_modulus()
            && job.output_offset >= modulus
        {
            return Err(invalid(
                index,
                format!("output offset {} must be below Q = {modulus}", job.output_offset),
            ));
        }
        if let Some(second) = job.second {
            check_second(index, second, shape)?;
        }
    }
    check_independence(stored, jobs.iter().map(|j| (&j.input, j.outputs())))
}

/// Checks a list of linear jobs against the loaded keys and the store.
///
/// # Errors
/// [`BackendError::InvalidRequest`] naming the first job that does not fit and why.
pub fn validate_linear_jobs(
    shape: &BootstrapShape,
    stored: usize,
    jobs: &[LinearJob],
) -> Result<()> {
    for (index, job) in jobs.iter().enumerate() {
        check_combination(index, &job.input, stored, shape, MAX_LOG2_STORED)?;
        if !(1..=job.input.log2_modulus).contains(&job.log2_output_modulus) {
            return Err(invalid(
                index,
                format!(
                    "output modulus 2^{} must be from 2 to the input modulus 2^{}",
                    job.log2_output_modulus, job.input.log2_modulus
                ),
            ));
        }
    }
    check_independence(stored, jobs.iter().map(|j| (&j.input, std::iter::once(j.output))))
}

/// Checks what a read or a write of the store asks for: `words` from ciphertext `first` on, whole
/// ciphertexts within `stored`.
///
/// # Errors
/// [`BackendError::InvalidRequest`] naming the length or the range.
pub fn validate_range(
    shape: &BootstrapShape,
    stored: usize,
    first: usize,
    words: usize,
) -> Result<()> {
    let len = shape.ciphertext_len();
    if !words.is_multiple_of(len) {
        return Err(BackendError::InvalidRequest(format!(
            "{words} words are not a whole number of ciphertexts of {len} words"
        )));
    }
    let last = first.saturating_add(words / len);
    if last > stored {
        return Err(BackendError::InvalidRequest(format!(
            "ciphertexts {first}..{last} are outside the store of {stored}; reserve them first"
        )));
    }
    Ok(())
}

/// Checks test polynomials: whole ones of N coefficients, each in `[0, Q)`.
///
/// # Errors
/// [`BackendError::InvalidRequest`] naming the wrong length, or the first coefficient that is out
/// of range.
pub fn validate_tables(shape: &BootstrapShape, polynomials: &[u64]) -> Result<()> {
    let size = shape.polynomial_size;
    if polynomials.is_empty() || !polynomials.len().is_multiple_of(size) {
        return Err(BackendError::InvalidRequest(format!(
            "{} coefficients are not a whole number of test polynomials of N = {size}",
            polynomials.len()
        )));
    }
    // On the native torus every word is a coefficient.
    let Some(modulus) = shape.accumulator_modulus() else { return Ok(()) };
    match polynomials.iter().enumerate().find(|&(_, &c)| c >= modulus) {
        Some((i, c)) => Err(BackendError::InvalidRequest(format!(
            "test polynomial coefficient {i} is {c}: it must be below Q = {modulus}"
        ))),
        None => Ok(()),
    }
}

/// Checks test polynomials that take the place of those from index `first` on, of `loaded`.
///
/// # Errors
/// As [`validate_tables`], and [`BackendError::InvalidRequest`] naming the range.
pub fn validate_table_range(
    shape: &BootstrapShape,
    loaded: usize,
    first: u32,
    polynomials: &[u64],
) -> Result<()> {
    validate_tables(shape, polynomials)?;
    let first = first as usize;
    let last = first + polynomials.len() / shape.polynomial_size;
    if last > loaded {
        return Err(BackendError::InvalidRequest(format!(
            "test polynomials {first}..{last} are not among the {loaded} loaded; add them first"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::synthetic::{small_shape, torus_shape};

    #[test]
    fn second_results_are_for_the_torus_and_for_places_of_their_own() {
        let torus = torus_shape(256, 15, 2, 1);
        let job = |log2, coefficient, output| BootstrapJob {
            input: Combination::new(&[Operand { ciphertext: 0, weight: 1 }], 0, log2),
            table: 0,
            table_stride: 0,
            output_offset: 0,
            log2_output_modulus: log2,
            output: 1,
            second: Some(SecondOutput { coefficient, output_offset: 0, output }),
        };
        let check = |jobs: &[BootstrapJob]| validate_jobs(&torus, 4, 1, jobs);
        for (coefficient, output) in [(1, 0), (128, 2), (255, 3)] {
            assert!(check(&[job(64, coefficient, output)]).is_ok(), "{coefficient} {output}");
        }
        // Job 1 writes and reads other places than job 0.
        let other = BootstrapJob {
            input: Combination::new(&[Operand { ciphertext: 3, weight: 1 }], 0, 64),
            output: 3,
            ..job(64, 5, 0)
        };
        for (jobs, why) in [
            (vec![job(64, 0, 2)], "coefficient 0: it must be from 1 to 255"),
            (vec![job(64, 256, 2)], "coefficient 256"),
            (vec![job(64, 1, 4)], "output 4 is outside the store of 4"),
            (vec![job(64, 1, 1)], "output 1 is also written by job 0"),
            (vec![job(64, 1, 2), other], "operand 0 is written by job 1"),
            (vec![job(64, 1, 3), other], "output 3 is also written by job 0"),
        ] {
            let error = check(&jobs).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
        let error = validate_jobs(&small_shape(), 4, 2, &[job(9, 1, 2)]).expect_err("prime words");
        assert!(error.to_string().contains("native torus"), "{error}");
    }

    #[test]
    fn tables_replace_only_tables() {
        let (shape, two) = (torus_shape(256, 15, 2, 1), vec![0; 2 * 256]);
        assert!(validate_table_range(&shape, 3, 1, &two).is_ok());
        for (first, len, why) in [
            (2, 512, "2..4 are not among the 3"),
            (u32::MAX, 256, "among the 3"),
            (0, 300, "whole number"),
        ] {
            let error =
                validate_table_range(&shape, 3, first, &two[..len]).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn ranges_are_whole_ciphertexts_within_the_store() {
        let shape = torus_shape(256, 15, 2, 1);
        // Two halves of each of kN + r words.
        let len = 2 * 257;
        assert!(validate_range(&shape, 3, 1, 2 * len).is_ok());
        for (first, words, why) in [
            (0, len + 1, "whole number"),
            (2, 2 * len, "2..4"),
            (usize::MAX, len, "outside the store of 3"),
        ] {
            let error = validate_range(&shape, 3, first, words).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
