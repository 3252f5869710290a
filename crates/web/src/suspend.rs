//! Calls wait for the GPU by JavaScript Promise Integration: a promise that a callback of the
//! browser resolves.

use js_sys::{Function, Promise};
use std::cell::{Cell, RefCell};
use wasm_bindgen::prelude::*;

thread_local! {
    /// Lets the suspended call go on.
    static RESUME: RefCell<Option<Function>> = const { RefCell::new(None) };
    /// Somebody wanted to before there was one.
    static RESUMED: Cell<bool> = const { Cell::new(false) };
}

#[wasm_bindgen]
extern "C" {
    /// Suspends the calls of WebAssembly on the stack until `promise` is settled.
    #[wasm_bindgen(suspending, js_namespace = Promise, js_name = resolve)]
    fn settled(promise: &Promise);
}

fn suspend() {
    if !RESUMED.take() {
        let promise = Promise::new(&mut |resolve, _| RESUME.set(Some(resolve)));
        settled(&promise);
    }
}

fn resume() {
    match RESUME.take() {
        // The resolver of a promise does not fail.
        Some(resolve) => _ = resolve.call0(&JsValue::UNDEFINED),
        None => RESUMED.set(true),
    }
}

/// Makes devices wait by suspension, where the browser has it.
pub fn register() {
    if available() {
        girih_backend::suspend_by(girih_backend::Suspension { suspend, resume });
    }
}

/// Whether the browser has JavaScript Promise Integration: what stands in for it elsewhere, so that
/// the module loads, calls itself missing.
fn available() -> bool {
    let get = |of: &JsValue, name: &str| js_sys::Reflect::get(of, &name.into()).ok();
    let suspending = get(&js_sys::global(), "WebAssembly").and_then(|w| get(&w, "Suspending"));
    suspending.is_some_and(|s| s.is_function() && get(&s, "missing").is_none_or(|m| m.is_falsy()))
}
