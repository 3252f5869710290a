//! [`WordKernel`]s on the vectors of an instruction set that is named when a program runs.

use super::lanes::{Portable, WordKernel};
use crate::fft::Simd;

/// Runs `kernel` compiled for `simd`.
///
/// # Panics
/// If this processor lacks it.
#[inline]
#[allow(unsafe_code)] // Calls of functions compiled for detected features.
pub(crate) fn dispatch<K: WordKernel>(simd: Simd, kernel: K) -> K::Output {
    assert!(simd.is_available(), "{} was asked for on a processor without it", simd.name());
    match simd {
        Simd::Portable => kernel.run(Portable(())),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the features were detected just above.
        Simd::Avx2 => unsafe { super::x86::run_avx2(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the features were detected just above.
        Simd::Avx512 => unsafe { super::x86::run_avx512(kernel) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => unreachable!("not available, as asserted above"),
    }
}
