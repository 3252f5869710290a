//! `girih-bindgen MODULE.wasm FOLDER`: writes girih.js, girih.d.ts and girih_bg.wasm to the folder.

use anyhow::{Result, bail};
use std::path::Path;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        bail!("girih-bindgen needs two arguments: the module and the folder to write to");
    };
    Bindgen::new()
        .input_path(module)
        .out_name("girih")
        .web(true)?
        .typescript(true)
        .omit_default_module_path(false)
        .generate(folder)?;
    // Declarations may not say `async`; what they return is a promise already.
    let types = Path::new(folder).join("girih.d.ts");
    let text = std::fs::read_to_string(&types)?;
    std::fs::write(types, text.replace(" async ", " "))?;
    Ok(())
}
