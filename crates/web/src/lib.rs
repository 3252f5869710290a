//! What a page calls: keys, ciphertexts and servers of girih in WebAssembly, on the CPU or, through
//! WebGPU, on the GPU of a browser.
//!
//! Ciphertexts and keys go in and out as the bytes that every other girih program reads. A call
//! that computes belongs into a worker: on the CPU it keeps its thread busy to the end. With
//! WebGPU it is suspended while the GPU works (JavaScript Promise Integration), so these calls
//! return promises; one of them at a time, the next when it has ended. `docs/guide/web.md` leads
//! through them.
#![allow(deprecated, reason = "wasm-bindgen marks Promise Integration so while it is new")]

mod ckks;
mod device;
mod integers;
mod progress;
#[cfg(target_arch = "wasm32")]
mod suspend;
mod tfhe;

pub use ckks::{CkksClientKey, CkksEvaluationKeys, CkksServerKey};
pub use device::Device;
pub use integers::Integers;
pub use progress::on_progress;
pub use tfhe::{ClientKey, EvaluationKeys, ServerKey};

use wasm_bindgen::prelude::*;

/// What calls of this crate return.
type Result<T> = std::result::Result<T, JsError>;

/// An error with a sentence of its own.
fn refuse<T>(why: String) -> Result<T> {
    Err(JsError::new(&why))
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(message: &str);
}

/// Runs when the module is loaded.
///
/// # Errors
/// If streams of random words are not what they are elsewhere.
#[wasm_bindgen(start)]
pub fn start() -> Result<()> {
    // A trap says nothing of why.
    std::panic::set_hook(Box::new(|panic| console_error(&panic.to_string())));
    #[cfg(target_arch = "wasm32")]
    suspend::register();
    check_streams()
}

/// Streams are made of this target's own vectors, and keys of everywhere hang on them: words that
/// the tests of `girih-ring` pin, folded (FNV-1a).
fn check_streams() -> Result<()> {
    const PINNED: u64 = 0x8014_90b1_a031_324f;
    let mut words = vec![0; 4096];
    let seed = girih_ring::sampler::MaskSeed(std::array::from_fn(|i| i as u8));
    seed.stream(1, 0).fill_below(33_538_049 * 33_550_337, &mut words);
    let fold = |h: u64, &word: &u64| (h ^ word).wrapping_mul(0x100_0000_01b3);
    let found = words.iter().fold(0xcbf2_9ce4_8422_2325, fold);
    if found == PINNED {
        Ok(())
    } else {
        refuse("this browser computes with vectors as no other does: keys would be wrong".into())
    }
}
