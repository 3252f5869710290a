//! How far long calls have come, told to one function of the page.

use girih_backend::{Instant, Progress};
use js_sys::Function;
use std::cell::{Cell, RefCell};
use std::time::Duration;
use wasm_bindgen::prelude::*;

thread_local! {
    static LISTENER: RefCell<Option<Function>> = const { RefCell::new(None) };
    static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A page draws no faster than it looks.
const LEAST: Duration = Duration::from_millis(40);

/// Names the function that hears how far long calls have come: what they do, units of it that are
/// done, and how many there are; `undefined` for none. It is called at most 25 times a second, and
/// at the end of each kind of work.
#[wasm_bindgen(js_name = onProgress)]
pub fn on_progress(
    #[wasm_bindgen(
        unchecked_param_type = "((what: string, done: number, total: number) => void) | undefined"
    )]
    listener: Option<Function>,
) {
    LISTENER.set(listener);
}

/// Tells the page's function.
pub struct ToPage;

impl Progress for ToPage {
    fn report(&self, what: &str, done: usize, total: usize) {
        let now = Instant::now();
        if done < total && LAST.get().is_some_and(|last| now - last < LEAST) {
            return;
        }
        LAST.set(Some(now));
        LISTENER.with_borrow(|listener| {
            if let Some(listener) = listener {
                // What the page's function throws is the page's to see to.
                let (done, total) = (done as f64, total as f64);
                let told =
                    listener.call3(&JsValue::UNDEFINED, &what.into(), &done.into(), &total.into());
                _ = told;
            }
        });
    }
}
