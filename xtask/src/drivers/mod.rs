//! `cargo xtask kernels --drivers amd,intel,mali`: what the compilers of other vendors make of the
//! WGSL kernels, without their hardware; and `cargo xtask drivers`: whole runs on drivers that this
//! machine can have.
//!
//! A driver compiles each kernel for a chip that is told to it and says how many registers that
//! takes, what did not fit into them, and how long a workgroup keeps a chip's units busy by its
//! own estimate. Nothing runs.

pub(crate) mod apt;
mod chips;
mod mesa;
pub mod runs;
mod source;
mod table;
mod vulkan;

use crate::bench::arguments::plan_choice;
use crate::poly_kernels::recordings;
use anyhow::{Context, Result, bail};
use chips::{Chip, Driver};
use girih::ckks::CkksParameters;
use girih::tfhe::ParameterSet;
use girih::{BackendError, PlanRequest};
use girih_backend::{BootstrapShape, DeviceInfo};
use girih_wgpu::{
    KernelVariant, PolyBuild, Profile, Vendor, VulkanKernel, desktop_gpu, kernel_variants,
    poly_builds_of,
};
use mesa::Mesa;
use std::path::PathBuf;
use std::time::Duration;
use table::Row;
use vulkan::Module;

#[derive(clap::Args)]
pub struct DriverArguments {
    /// Compile the WGSL kernels by the drivers of these vendors for chips that are not here, and
    /// nothing else: amd, intel, mali. Mesa's packages are downloaded below `target`, and what they
    /// lack for intel and mali is built there.
    #[arg(long, value_name = "VENDORS", value_delimiter = ',')]
    drivers: Vec<Driver>,
    /// Chips to compile for [default: all that are known].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "drivers")]
    chips: Vec<String>,
    /// Choices of the plans, such as items=4,signed=0 [default: those of the vendor].
    #[arg(long, value_name = "CHOICES", value_delimiter = ',', value_parser = plan_choice,
        requires = "drivers")]
    plan: Vec<(String, u32)>,
    /// Stop a compiler that takes longer than this for one kernel, and say so in its row.
    #[arg(long, value_name = "SECONDS", requires = "drivers", default_value_t = 600,
        value_parser = clap::value_parser!(u64).range(1..))]
    limit_s: u64,
    /// Only kernels whose name has this in it, such as blind_rotate.
    #[arg(long, value_name = "TEXT", requires = "drivers", default_value = "")]
    kernel: String,
    /// Where a driver cannot be had, say so and leave it out.
    #[arg(long, requires = "drivers")]
    if_available: bool,
    /// Write what was found to FOLDER, a file for each vendor.
    #[arg(long, value_name = "FOLDER", requires = "drivers")]
    table: Option<PathBuf>,
    /// Fail where registers spill that did not in the files of FOLDER, or work is 5 % more than
    /// there.
    #[arg(long, value_name = "FOLDER", requires = "drivers")]
    against: Option<PathBuf>,
    /// For this command itself: compile what a file lists on the driver that the environment names.
    #[arg(long, hide = true)]
    statistics: Option<PathBuf>,
}

/// Whether these arguments are for this module.
pub fn wanted(arguments: &DriverArguments) -> bool {
    !arguments.drivers.is_empty() || arguments.statistics.is_some()
}

pub fn run(
    arguments: &DriverArguments,
    sets: &[ParameterSet],
    ckks_sets: &[CkksParameters],
) -> Result<bool> {
    if let Some(list) = &arguments.statistics {
        let modules: Vec<Module> = serde_json::from_slice(&std::fs::read(list)?)?;
        vulkan::statistics(&modules, |told| {
            println!("{}", serde_json::to_string(&told)?);
            Ok(())
        })?;
        return Ok(true);
    }
    let chips = chips::named(&arguments.drivers, &arguments.chips)?;
    let mut good = true;
    for &driver in &arguments.drivers {
        let of: Vec<&Chip> = chips.iter().copied().filter(|chip| chip.driver == driver).collect();
        let mesa = match Mesa::of(driver) {
            Err(error) if arguments.if_available => {
                println!("{} left out, since Mesa cannot be had: {error:#}", driver.name());
                continue;
            }
            other => other?,
        };
        let choices = arguments.plan.iter().cloned().collect();
        let request = PlanRequest { choices, ..Default::default() };
        let mut kernels = kernels(sets, ckks_sets, driver.vendor(), &request)?;
        kernels.retain(|kernel| kernel.name.contains(&arguments.kernel));
        if kernels.is_empty() {
            bail!("no kernel has `{}` in its name", arguments.kernel);
        }
        let limit = Duration::from_secs(arguments.limit_s);
        // Before minutes of work rather than after them.
        if let Some(folder) = &arguments.table {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let rows = compiled(&mesa, &of, &kernels, limit, &mut good)?;
        let file = format!("{}.json", driver.name());
        if let Some(folder) = &arguments.table {
            table::write(&rows, &folder.join(&file))?;
        }
        if let Some(folder) = &arguments.against {
            good &= table::compare(&rows, &folder.join(&file))?;
        }
    }
    Ok(good)
}

/// Compiles kernels for chips and prints what came of it.
fn compiled(
    mesa: &Mesa,
    chips: &[&Chip],
    kernels: &[Kernel],
    limit: Duration,
    good: &mut bool,
) -> Result<Vec<Row>> {
    let modules: Vec<Module> = kernels.iter().map(Kernel::module).collect();
    let mut rows = Vec::new();
    for chip in chips {
        let found = mesa.compiled(chip, &modules, limit)?;
        println!("{}, {}: {}\n{}", chip.name, chip.generation, found.device, table::head());
        for (kernel, compiled) in kernels.iter().zip(&found.compiled) {
            match chip.driver.row(kernel, chip, compiled) {
                Ok(row) => {
                    println!("{}", row.line());
                    rows.push(row);
                }
                Err(why) => {
                    *good = false;
                    let Kernel { set, name, profile, .. } = kernel;
                    println!("{set:<20}{name:<24}{profile:<8}FAILED: {why}");
                }
            }
        }
    }
    Ok(rows)
}

/// A kernel to compile.
struct Kernel {
    set: String,
    name: String,
    profile: String,
    threads: usize,
    /// Bytes of a thread that are to lie in memory.
    bytes_in_memory: usize,
    vulkan: VulkanKernel,
}

impl Kernel {
    fn module(&self) -> Module {
        let VulkanKernel { spirv, entry, bindings } = self.vulkan.clone();
        let name = format!("{} {} {}", self.set, self.name, self.profile);
        Module { name, spirv, entry, bindings }
    }
}

/// The kernels of the sets, as they are planned for `vendor`.
fn kernels(
    sets: &[ParameterSet],
    ckks_sets: &[CkksParameters],
    vendor: Vendor,
    request: &PlanRequest,
) -> Result<Vec<Kernel>> {
    let mut all = Vec::new();
    for set in sets {
        let named = [(set.name().to_owned(), set.shape().clone())];
        for variant in as_on_cards(&named, vendor, request)? {
            let name = variant.kernel.label();
            all.push(Kernel {
                set: variant.set.clone(),
                name: if variant.few { format!("{name}, few") } else { name.to_owned() },
                profile: variant.profile.to_string(),
                threads: variant.workgroup_threads(),
                bytes_in_memory: 0,
                vulkan: variant.for_vulkan().map_err(anyhow::Error::msg)?,
            });
        }
    }
    for set in ckks_sets {
        for build in poly_builds(set, vendor)? {
            let both = if build.invariant { " of both rings" } else { "" };
            all.push(Kernel {
                set: set.name().to_owned(),
                name: format!("{}{both}, {} slots", build.kernel.name(), build.slots),
                profile: build.profile.to_string(),
                threads: build.threads(),
                bytes_in_memory: build.bytes_in_memory(),
                vulkan: build.for_vulkan().map_err(anyhow::Error::msg)?,
            });
        }
    }
    Ok(all)
}

/// Segments of memory that kernels are built for here: the most, which take the most work.
const SEGMENTS: usize = 5;

/// What products, rotations and the bootstrapping of a set run with, each build once.
fn poly_builds(set: &CkksParameters, vendor: Vendor) -> Result<Vec<PolyBuild>> {
    let mut all = Vec::new();
    for (_, recording) in recordings(set, true)? {
        for profile in Profile::ALL {
            all.extend(poly_builds_of(&recording.program, vendor, profile, SEGMENTS)?);
        }
    }
    all.sort_unstable_by_key(|build| {
        (build.kernel.name(), build.invariant, build.slots, build.profile.to_string())
    });
    all.dedup();
    Ok(all)
}

/// Kernels of shapes within the limits that they are run in: cards of AMD and Intel have 64-bit
/// integers, and run by 32-bit words in a browser only, within what every browser grants. A shape
/// that needs more than that is run on cards alone.
fn as_on_cards(
    shapes: &[(String, BootstrapShape)],
    vendor: Vendor,
    request: &PlanRequest,
) -> Result<Vec<KernelVariant>> {
    let of = |card: Option<&DeviceInfo>| kernel_variants(shapes, card, vendor, request);
    let card = desktop_gpu();
    let on_card = match vendor {
        Vendor::Amd | Vendor::Intel => of(Some(&card))?,
        _ => Vec::new(),
    };
    let everywhere = match of(None) {
        Err(BackendError::DoesNotFit { .. }) => of(Some(&card))?,
        other => other?,
    };
    let alone = !on_card.is_empty();
    let core = everywhere.into_iter().filter(|v| !alone || v.profile == Profile::Core);
    let wide = on_card.into_iter().filter(|v| v.profile == Profile::Int64);
    Ok(core.chain(wide).filter(|variant| !variant.traced).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_a_set_becomes_a_module() {
        let sets = [ParameterSet::by_name("STD128").expect("built in")];
        let ckks = [CkksParameters::by_name("CKKS_N14_D40").expect("built in")];
        let found = kernels(&sets, &ckks, Vendor::Amd, &PlanRequest::default()).expect("they fit");
        assert!(found.iter().any(|k| k.set == "STD128") && found.iter().any(|k| k.set != "STD128"));
        for kernel in found {
            let module = kernel.module();
            assert_eq!(module.spirv[0], 0x0723_0203, "{}", module.name);
            assert!(!module.bindings.is_empty() && kernel.threads > 0, "{}", module.name);
        }
    }
}
