//! `cargo xtask kernels --drivers amd`: what the compilers of other vendors make of the WGSL
//! kernels, without their hardware.
//!
//! A driver compiles each kernel for a chip that is told to it and says how many registers that
//! takes, what did not fit into them, and how long a workgroup keeps a chip's units busy by its
//! own estimate. Nothing runs.

mod mesa;
mod vulkan;

use crate::bench::arguments::plan_choice;
use anyhow::{Context, Result, bail};
use girih::tfhe::ParameterSet;
use girih::{BackendError, PlanRequest};
use girih_wgpu::{Vendor, VulkanKernel, desktop_gpu};
use mesa::Mesa;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use vulkan::{Compiled, Module};

/// Chips of a vendor by the names that its driver takes, and what people call them.
const AMD: [(&str, &str); 4] =
    [("vega10", "GCN 5"), ("navi21", "RDNA 2"), ("navi31", "RDNA 3"), ("gfx1201", "RDNA 4")];

#[derive(clap::Args)]
pub struct DriverArguments {
    /// Compile the WGSL kernels by the drivers of these vendors for chips that are not here, and
    /// nothing else: amd. Mesa's packages are downloaded below `target`.
    #[arg(long, value_name = "VENDORS", value_delimiter = ',')]
    drivers: Vec<Driver>,
    /// Chips to compile for [default: all that are known].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "drivers")]
    chips: Vec<String>,
    /// Choices of the plans, such as items=4,signed=0 [default: those of the vendor].
    #[arg(long, value_name = "CHOICES", value_delimiter = ',', value_parser = plan_choice,
        requires = "drivers")]
    plan: Vec<(String, u32)>,
    /// Where the packages cannot be had, say so and leave all out.
    #[arg(long, requires = "drivers")]
    if_available: bool,
    /// Write what was found to FILE.
    #[arg(long, value_name = "FILE", requires = "drivers")]
    table: Option<PathBuf>,
    /// Fail where registers spill that did not in FILE, or work is 5 % more than there.
    #[arg(long, value_name = "FILE", requires = "drivers")]
    against: Option<PathBuf>,
    /// For this command itself: compile what a file lists on the driver that the environment names.
    #[arg(long, hide = true)]
    statistics: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Driver {
    Amd,
}

/// One kernel on one chip.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Row {
    set: String,
    kernel: String,
    profile: String,
    chip: String,
    /// Of each thread.
    registers: u64,
    /// Registers, of vectors and of scalars, that had to go to memory.
    spills: u64,
    /// How many subgroups a unit can hold at once.
    waves: u64,
    /// Cycles of a unit for a workgroup, by the driver's estimate.
    work: u64,
}

impl Row {
    /// Whether two are of the same kernel on the same chip.
    fn is_of(&self, other: &Self) -> bool {
        let name = |row: &Self| {
            (row.set.clone(), row.kernel.clone(), row.profile.clone(), row.chip.clone())
        };
        name(self) == name(other)
    }

    /// What got worse since `before`.
    fn worse(&self, before: &Self) -> Option<String> {
        if self.spills > before.spills {
            return Some(format!("{} registers spill, {} before", self.spills, before.spills));
        }
        (100 * self.work > 105 * before.work)
            .then(|| format!("work is {}, {} before", self.work, before.work))
    }
}

/// Whether these arguments are for this module.
pub fn wanted(arguments: &DriverArguments) -> bool {
    !arguments.drivers.is_empty() || arguments.statistics.is_some()
}

pub fn run(
    arguments: &DriverArguments,
    sets: &[ParameterSet],
    degrees: &BTreeSet<u32>,
) -> Result<bool> {
    if let Some(list) = &arguments.statistics {
        let modules: Vec<Module> = serde_json::from_slice(&std::fs::read(list)?)?;
        println!("{}", serde_json::to_string(&vulkan::statistics(&modules)?)?);
        return Ok(true);
    }
    let chips = chips(&arguments.chips)?;
    let mesa = match Mesa::from_packages() {
        Err(error) if arguments.if_available => {
            println!("left out, since Mesa's packages cannot be had: {error:#}");
            return Ok(true);
        }
        other => other?,
    };
    let choices = arguments.plan.iter().cloned().collect();
    let request = PlanRequest { choices, ..Default::default() };
    let kernels = kernels(sets, degrees, Vendor::Amd, &request)?;
    let modules: Vec<Module> = kernels.iter().map(Kernel::module).collect();
    let (mut rows, mut good) = (Vec::new(), true);
    for (chip, generation) in chips {
        let found = mesa.compiled(chip, &modules)?;
        println!("{chip}, {generation}: {}", found.device);
        println!(
            "{:<20}{:<24}{:<8}{:>10}{:>8}{:>7}{:>10}",
            "set", "kernel", "profile", "registers", "spills", "waves", "work"
        );
        for (kernel, compiled) in kernels.iter().zip(&found.compiled) {
            match kernel.row(chip, compiled) {
                Ok(row) => {
                    println!(
                        "{:<20}{:<24}{:<8}{:>10}{:>8}{:>7}{:>10}",
                        row.set,
                        row.kernel,
                        row.profile,
                        row.registers,
                        row.spills,
                        row.waves,
                        row.work
                    );
                    rows.push(row);
                }
                Err(why) => {
                    good = false;
                    println!(
                        "{:<20}{:<24}{:<8}FAILED: {why}",
                        kernel.set, kernel.name, kernel.profile
                    );
                }
            }
        }
    }
    if let Some(file) = &arguments.table {
        let text = rows.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        std::fs::write(file, format!("[\n{}\n]\n", text.join(",\n")))
            .with_context(|| file.display().to_string())?;
    }
    if let Some(file) = &arguments.against {
        good &= compare(&rows, file)?;
    }
    Ok(good)
}

fn chips(names: &[String]) -> Result<Vec<(&'static str, &'static str)>> {
    if names.is_empty() {
        return Ok(AMD.to_vec());
    }
    let find = |name: &String| AMD.into_iter().find(|(chip, _)| chip == name);
    let known = AMD.map(|(chip, _)| chip).join(", ");
    let one = |name| find(name).with_context(|| format!("{name}: there are {known}"));
    names.iter().map(one).collect()
}

/// Every row beside the one that a file has of it; whether none got worse.
fn compare(rows: &[Row], file: &Path) -> Result<bool> {
    let name = || file.display().to_string();
    let text = std::fs::read(file).with_context(name)?;
    let before: Vec<Row> = serde_json::from_slice(&text).with_context(name)?;
    let mut good = true;
    let mut compared = 0;
    for row in rows {
        let Some(old) = before.iter().find(|old| old.is_of(row)) else { continue };
        compared += 1;
        if let Some(why) = row.worse(old) {
            good = false;
            println!("WORSE: {} {} {} on {}: {why}", row.set, row.kernel, row.profile, row.chip);
        }
    }
    println!("{compared} of {} kernels compared with {}", rows.len(), name());
    if compared == 0 {
        bail!("{} has none of these kernels", name());
    }
    Ok(good)
}

/// A kernel to compile.
struct Kernel {
    set: String,
    name: String,
    profile: String,
    threads: usize,
    vulkan: VulkanKernel,
}

impl Kernel {
    fn module(&self) -> Module {
        let VulkanKernel { spirv, entry, bindings } = self.vulkan.clone();
        let name = format!("{} {} {}", self.set, self.name, self.profile);
        Module { name, spirv, entry, bindings }
    }

    fn row(&self, chip: &str, compiled: &Compiled) -> Result<Row> {
        if let Some(why) = &compiled.failed {
            bail!("{why}");
        }
        let [program] = compiled.programs.as_slice() else {
            bail!("{} programs", compiled.programs.len());
        };
        let of = |name: &str| {
            let found = program.statistics.get(name).copied();
            found.with_context(|| format!("the driver does not tell `{name}`"))
        };
        let subgroups = self.threads.div_ceil(program.subgroup.max(1) as usize);
        Ok(Row {
            set: self.set.clone(),
            kernel: self.name.clone(),
            profile: self.profile.clone(),
            chip: chip.into(),
            registers: of("VGPRs")? as u64,
            spills: (of("Spilled VGPRs")? + of("Spilled SGPRs")?) as u64,
            waves: of("Subgroups per SIMD")? as u64,
            work: (of("Inverse Throughput")? * subgroups as f64) as u64,
        })
    }
}

/// The kernels of the sets and of rings of the degrees, as they are planned for `vendor`.
fn kernels(
    sets: &[ParameterSet],
    degrees: &BTreeSet<u32>,
    vendor: Vendor,
    request: &PlanRequest,
) -> Result<Vec<Kernel>> {
    let mut all = Vec::new();
    for set in sets {
        let named = [(set.name().to_owned(), set.shape().clone())];
        let variants = match girih_wgpu::kernel_variants(&named, None, vendor, request) {
            Err(BackendError::DoesNotFit { .. }) => {
                girih_wgpu::kernel_variants(&named, Some(&desktop_gpu()), vendor, request)?
            }
            other => other?,
        };
        for variant in variants.into_iter().filter(|variant| !variant.traced) {
            let name = variant.kernel.name();
            all.push(Kernel {
                set: variant.set.clone(),
                name: if variant.few { format!("{name}, few") } else { name.to_owned() },
                profile: variant.profile.to_string(),
                threads: variant.workgroup_threads(),
                vulkan: variant.for_vulkan().map_err(anyhow::Error::msg)?,
            });
        }
    }
    for build in degrees.iter().copied().flat_map(girih_wgpu::poly_builds) {
        all.push(Kernel {
            set: format!("N = 2^{}", build.log2_degree),
            name: format!("{}, {} slots", build.kernel.name(), build.slots),
            profile: build.profile.to_string(),
            threads: build.threads(),
            vulkan: build.for_vulkan().map_err(anyhow::Error::msg)?,
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets in the table of docs/guide/gpus.md.
    const PAGE: [&str; 4] = ["STD128", "GIRIH_GATE", "TFHERS_2_2", "M3"];

    fn row(spills: u64, work: u64) -> Row {
        let of = |text: &str| text.to_owned();
        Row {
            set: of("STD128"),
            kernel: of("blind_rotate"),
            profile: of("int64"),
            chip: of("navi31"),
            registers: 96,
            spills,
            waves: 10,
            work,
        }
    }

    #[test]
    fn new_spills_and_more_work_are_noticed() {
        let before = row(2, 1000);
        assert_eq!(row(2, 1050).worse(&before), None);
        assert_eq!(row(0, 900).worse(&before), None);
        assert!(row(3, 900).worse(&before).is_some_and(|why| why.contains("3 registers spill")));
        assert!(row(2, 1051).worse(&before).is_some_and(|why| why.contains("1051")));
        assert!(!before.is_of(&Row { chip: "navi21".into(), ..before.clone() }));
    }

    /// The table of docs/guide/gpus.md has what docs/benchmarks/compilers/amd.json has.
    #[test]
    fn the_page_shows_what_was_compiled() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |file: &str| std::fs::read_to_string(root.join(file)).expect("a file");
        let rows: Vec<Row> =
            serde_json::from_str(&read("docs/benchmarks/compilers/amd.json")).expect("rows");
        let page = read("docs/guide/gpus.md");
        let found: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("| ") && line.contains(" int64 |"))
            .collect();
        let mut wanted = Vec::new();
        for (chip, generation) in AMD.into_iter().filter(|(chip, _)| *chip != "vega10") {
            for profile in ["int64", "core"] {
                let of = |set: &str, what: fn(&Row) -> u64| {
                    let one = rows.iter().find(|row| {
                        (row.set.as_str(), row.kernel.as_str()) == (set, "blind_rotate")
                            && (row.chip.as_str(), row.profile.as_str()) == (chip, profile)
                    });
                    what(one.unwrap_or_else(|| panic!("{set} {chip} {profile}")))
                };
                for set in PAGE {
                    let numbers: [fn(&Row) -> u64; 4] =
                        [|r| r.registers, |r| r.spills, |r| r.waves, |r| r.work];
                    let cells = numbers.map(|what| of(set, what).to_string()).join(" | ");
                    wanted.push(format!("| {set} | {generation} | {profile} | {cells} |"));
                }
            }
        }
        for line in &wanted {
            assert!(
                page.contains(line.as_str()),
                "docs/guide/gpus.md needs\n{}",
                wanted.join("\n")
            );
        }
        assert_eq!(2 * found.len(), wanted.len(), "rows of docs/guide/gpus.md that are none");
    }

    #[test]
    fn every_kernel_of_a_set_becomes_a_module() {
        let sets = [ParameterSet::by_name("STD128").expect("built in")];
        let found = kernels(&sets, &BTreeSet::from([10]), Vendor::Amd, &PlanRequest::default())
            .expect("they fit");
        assert!(found.iter().any(|k| k.set == "STD128") && found.iter().any(|k| k.set != "STD128"));
        for kernel in found {
            let module = kernel.module();
            assert_eq!(module.spirv[0], 0x0723_0203, "{}", module.name);
            assert!(!module.bindings.is_empty() && kernel.threads > 0, "{}", module.name);
        }
    }
}
