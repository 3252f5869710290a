//! What computes.

use crate::{Result, refuse};
use wasm_bindgen::prelude::*;

/// An opened device.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Device(pub(crate) girih::Device);

#[wasm_bindgen]
impl Device {
    /// Opens the CPU, or the adapter that the browser hands out.
    ///
    /// # Errors
    /// If the browser has no adapter for WebGPU, cannot suspend calls, or refuses to open it.
    #[wasm_bindgen(jspi)]
    pub fn open(
        #[wasm_bindgen(unchecked_param_type = "'cpu' | 'webgpu'")] kind: &str,
    ) -> Result<Device> {
        let name = match kind {
            "cpu" => "cpu",
            "webgpu" => "wgpu:browser",
            _ => return refuse(format!("no device `{kind}`: there are cpu and webgpu")),
        };
        Ok(Self(girih::Device::open(name)?))
    }

    /// `cpu` or `webgpu`.
    #[wasm_bindgen(getter, unchecked_return_type = "'cpu' | 'webgpu'")]
    pub fn kind(&self) -> String {
        if self.0.info().id == "cpu" { "cpu".into() } else { "webgpu".into() }
    }

    /// What it calls itself; browsers may not tell a GPU's name.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.0.info().name.clone()
    }

    /// Whether a program stands in for a GPU.
    #[wasm_bindgen(getter)]
    pub fn software(&self) -> bool {
        self.0.info().software
    }
}
