//! Modules as `wgpu` makes them, by the validator of Khronos.

use super::{Outcome, absent};
use crate::drivers::apt;
use anyhow::{Context, Result};
use girih::tfhe::ParameterSet;
use girih::{BackendError, PlanRequest};
use girih_wgpu::{SpirvModule, Vendor, desktop_gpu, kernel_variants, poly_builds};
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

const PACKAGES: [&str; 1] = ["spirv-tools"];

/// Every kernel of every built-in set, planned for NVIDIA and for AMD, and those of polynomials of
/// three degrees, for Vulkan 1.0 to 1.3, with checks and without.
///
/// # Errors
/// If the validator cannot be had.
pub fn run() -> Result<Outcome> {
    let folder = apt::unpacked("spirv-tools", &PACKAGES).map_err(absent)?;
    let validator = folder.join("usr/bin/spirv-val");
    let version = apt::version(&folder, "spirv-tools").unwrap_or_default();
    let (mut seen, mut modules, mut bad) = (HashSet::new(), 0, 0);
    let mut check = |title: String, made: Result<Vec<SpirvModule>, String>| -> Result<()> {
        for module in made.map_err(anyhow::Error::msg)? {
            if !seen.insert(module.words.clone()) {
                continue;
            }
            modules += 1;
            if let Some(why) = refused(&validator, &folder, &module)? {
                bad += 1;
                println!("  {title}, {}: {why}", module.environment);
            }
        }
        Ok(())
    };
    for set in ParameterSet::all() {
        let named = [(set.name().to_owned(), set.shape().clone())];
        for vendor in [Vendor::Nvidia, Vendor::Amd] {
            let request = PlanRequest::default();
            let variants = match kernel_variants(&named, None, vendor, &request) {
                Err(BackendError::DoesNotFit { .. }) => {
                    kernel_variants(&named, Some(&desktop_gpu()), vendor, &request)?
                }
                other => other?,
            };
            for variant in variants.into_iter().filter(|variant| !variant.traced) {
                let title =
                    format!("{} {} {}", variant.set, variant.kernel.label(), variant.profile);
                check(title, variant.spirv())?;
            }
        }
    }
    let degrees = [11, 16, 17].into_iter();
    let vendors =
        |degree| [Vendor::Nvidia, Vendor::Intel].map(|vendor| poly_builds(degree, vendor));
    for build in degrees.flat_map(vendors).flatten() {
        check(format!("N = 2^{} {}", build.log2_degree, build.kernel.name()), build.spirv())?;
    }
    let what = format!("{modules} modules by spirv-val {version}, {bad} refused");
    Ok((what, bad == 0 && modules > 0))
}

/// What the validator has against a module.
fn refused(validator: &Path, folder: &Path, module: &SpirvModule) -> Result<Option<String>> {
    let file = folder.join(format!("module-{}.spv", std::process::id()));
    let bytes: Vec<u8> = module.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&file, bytes)?;
    let output = Command::new(validator)
        .args(["--relax-block-layout", "--target-env", module.environment])
        .arg(&file)
        .output()
        .context("spirv-val");
    std::fs::remove_file(&file).ok();
    let output = output?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok((!output.status.success()).then_some(said))
}
