//! The whole way of a user's calls through a device, whatever comes out of it: for drivers whose
//! device does nothing, and for tools that watch what is called. Results are compared elsewhere.

use crate::poly::{Work, compare};
use crate::synthetic::{GateBatch, SyntheticKeys};
use girih_backend::poly::PolyEngine;
use girih_backend::{
    Backend, BackendError, BootstrapShape, Combination, LinearJob, LoadOptions, LoadRequest,
    Operand,
};

/// Ciphertexts of a batch: more than the kernels for few take.
const CIPHERTEXTS: usize = 200;

/// Loads keys of `shape`, runs a batch of gates and linear jobs, reads all of it back and frees it,
/// twice: the second time finds what the first has left. Returns how many words were read.
///
/// # Errors
/// Whatever the device refuses or fails at.
pub fn bootstraps(device: &dyn Backend, shape: &BootstrapShape) -> Result<usize, BackendError> {
    let keys = SyntheticKeys::new(shape.clone(), 7);
    let options = LoadOptions::default().by_model();
    let mut words = 0;
    for _ in 0..2 {
        let engine = LoadRequest::new(&keys).options(&options).load(device)?;
        let mut batch = GateBatch::prepare(&engine, CIPHERTEXTS)?;
        batch.run(&engine)?;
        let operand = Operand { ciphertext: 0, weight: 2 };
        let log2_output_modulus = shape.log2_stored_modulus();
        engine.combine(&[LinearJob {
            input: Combination::new(&[operand], 1, log2_output_modulus),
            log2_output_modulus,
            output: 1,
        }])?;
        let mut read = vec![0; 3 * CIPHERTEXTS * shape.ciphertext_len()];
        engine.read(0, &mut read)?;
        engine.synchronize()?;
        words += read.len();
    }
    Ok(words)
}

/// The same of a program on polynomials: its residents loaded, run, its outputs read back.
///
/// # Errors
/// As above.
pub fn program(device: &dyn Backend, work: &Work) -> Result<usize, BackendError> {
    let mut words = 0;
    for _ in 0..2 {
        let engine = PolyEngine::open(device, work.program.ring().clone())?;
        let outputs = compare::run(&engine, work, engine.plan())?;
        words += outputs.iter().map(Vec::len).sum::<usize>();
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly::kernels;
    use crate::shapes;
    use girih_cpu::CpuBackend;

    #[test]
    fn everything_that_was_written_is_read() {
        let shape = shapes::all().into_iter().find(|s| s.name == "gd_n256_r16").expect("there");
        let length = shape.shape.ciphertext_len();
        let read = bootstraps(&CpuBackend::new(), &shape.shape).expect("a CPU does it");
        assert_eq!(read, 2 * 3 * CIPHERTEXTS * length);
        let work = kernels::all(4).swap_remove(0);
        let outputs = work.program.outputs();
        let limbs: usize = outputs.iter().map(|&v| work.program.type_of(v).basis.len()).sum();
        assert_eq!(program(&CpuBackend::new(), &work).expect("a CPU does it"), 2 * 16 * limbs);
    }
}
