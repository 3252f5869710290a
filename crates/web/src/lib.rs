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
#[wasm_bindgen(start)]
pub fn start() {
    // A trap says nothing of why.
    std::panic::set_hook(Box::new(|panic| console_error(&panic.to_string())));
    #[cfg(target_arch = "wasm32")]
    suspend::register();
}
