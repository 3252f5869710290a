//! Chips to compile for, and what the numbers of their compilers mean.

use super::Kernel;
use super::table::{Costs, Outcome, Row};
use super::vulkan::{Compiled, Program};
use anyhow::{Context, Result, bail};
use girih_wgpu::Vendor;

/// Whose compiler it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Driver {
    /// RADV.
    Amd,
    /// ANV.
    Intel,
    /// PanVK.
    Mali,
}

/// A chip by the name that people who write drivers give it, and what others call it.
#[derive(Debug)]
pub struct Chip {
    pub name: &'static str,
    pub generation: &'static str,
    pub driver: Driver,
    /// The variable of the environment that makes the driver compile for it.
    pub setting: (&'static str, &'static str),
}

const fn amd(name: &'static str, generation: &'static str) -> Chip {
    Chip { name, generation, driver: Driver::Amd, setting: ("RADV_FORCE_FAMILY", name) }
}

const fn intel(name: &'static str, generation: &'static str) -> Chip {
    Chip { name, generation, driver: Driver::Intel, setting: ("INTEL_STUB_GPU_PLATFORM", name) }
}

pub const CHIPS: [Chip; 8] = [
    amd("vega10", "GCN 5"),
    amd("navi21", "RDNA 2"),
    amd("navi31", "RDNA 3"),
    amd("gfx1201", "RDNA 4"),
    intel("tgl", "Xe, Tiger Lake"),
    intel("dg2", "Arc A"),
    intel("bmg", "Arc B"),
    Chip {
        name: "g610",
        generation: "Mali-G610",
        driver: Driver::Mali,
        setting: ("PAN_GPU_ID", "a867"),
    },
];

impl Driver {
    pub const ALL: [Self; 3] = [Self::Amd, Self::Intel, Self::Mali];

    pub fn name(self) -> &'static str {
        match self {
            Self::Amd => "amd",
            Self::Intel => "intel",
            Self::Mali => "mali",
        }
    }

    /// Whose plans its chips get.
    pub fn vendor(self) -> Vendor {
        match self {
            Self::Amd => Vendor::Amd,
            Self::Intel => Vendor::Intel,
            Self::Mali => Vendor::Other,
        }
    }

    pub fn chips(self) -> impl Iterator<Item = &'static Chip> {
        CHIPS.iter().filter(move |chip| chip.driver == self)
    }

    /// The row of a kernel on a chip.
    ///
    /// # Errors
    /// Why it was not compiled, or what the driver does not tell.
    pub(super) fn row(self, kernel: &Kernel, chip: &Chip, compiled: &Compiled) -> Result<Row> {
        if let Some(why) = &compiled.failed {
            bail!("{why}");
        }
        let outcome = match (compiled.stopped, compiled.programs.as_slice()) {
            (Some(limit), _) => Outcome::Stopped { did_not_end_in_s: limit.as_secs() },
            (None, [program]) => {
                Outcome::Compiled(self.costs(program, kernel.threads, kernel.bytes_in_memory)?)
            }
            (None, programs) => bail!("{} programs", programs.len()),
        };
        Ok(Row {
            set: kernel.set.clone(),
            kernel: kernel.name.clone(),
            profile: kernel.profile.clone(),
            chip: chip.name.into(),
            outcome,
        })
    }

    /// What a program of so many threads costs, each of which has so many bytes in memory where its
    /// text means them to lie.
    fn costs(self, program: &Program, threads: usize, in_memory: usize) -> Result<Costs> {
        let of = |name: &str| {
            let found = program.statistics.get(name).copied();
            found.with_context(|| format!("the driver does not tell `{name}`"))
        };
        let subgroups = threads.div_ceil(program.subgroup.max(1) as usize) as f64;
        Ok(match self {
            Self::Amd => Costs {
                registers: of("VGPRs")? as u64,
                spills: (of("Spilled VGPRs")? + of("Spilled SGPRs")?) as u64,
                waves: of("Subgroups per SIMD")? as u64,
                work: (of("Inverse Throughput")? * subgroups) as u64,
            },
            // Registers are always 128 for each hardware thread; a wider subgroup fills a unit
            // with more threads of ours.
            //
            // The compiler counts every store to memory of a thread as a spill. Where that memory
            // has room for what is meant to lie there and no more, none is one.
            Self::Intel => Costs {
                registers: of("Max live registers")? as u64,
                spills: match in_memory as f64 * f64::from(program.subgroup) {
                    meant if meant > 0.0 && of("Scratch Memory Size")? <= meant => 0,
                    _ => of("Spill Count")? as u64,
                },
                waves: u64::from(program.subgroup),
                work: (of("Cycle Count")? * subgroups) as u64,
            },
            // With 32 registers or less twice as many threads run at once, else there are 64. The
            // estimate is of one thread.
            Self::Mali => Costs {
                registers: 64 / (of("threads")?.max(1.0) as u64),
                spills: of("spills")? as u64,
                waves: of("threads")? as u64,
                work: (of("cycles")? * threads as f64) as u64,
            },
        })
    }
}

/// The chips of `drivers` with these names, or all of them.
///
/// # Errors
/// For a name that is none of theirs, with those that are.
pub fn named(drivers: &[Driver], names: &[String]) -> Result<Vec<&'static Chip>> {
    let all: Vec<&Chip> = drivers.iter().flat_map(|driver| driver.chips()).collect();
    if names.is_empty() {
        return Ok(all);
    }
    let known = all.iter().map(|chip| chip.name).collect::<Vec<_>>().join(", ");
    let find = |name: &String| {
        let found = all.iter().copied().find(|chip| chip.name == name);
        found.with_context(|| format!("{name}: there are {known}"))
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_those_of_the_drivers_that_are_asked_for() {
        let of = |drivers: &[Driver], names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            named(drivers, &names)
                .map(|chips| chips.iter().map(|chip| chip.name).collect::<Vec<_>>())
        };
        assert_eq!(of(&[Driver::Intel], &[]).expect("all"), ["tgl", "dg2", "bmg"]);
        assert_eq!(of(&Driver::ALL, &["g610", "navi31"]).expect("two"), ["g610", "navi31"]);
        let error = of(&[Driver::Amd], &["dg2"]).expect_err("of Intel").to_string();
        assert!(error.contains("dg2") && error.contains("vega10"), "{error}");
    }

    #[test]
    fn every_vendor_counts_for_a_whole_workgroup() {
        let program = |subgroup, statistics: &[(&str, f64)]| Program {
            subgroup,
            statistics: statistics.iter().map(|&(name, x)| (name.to_owned(), x)).collect(),
        };
        let intel = [
            ("Max live registers", 90.0),
            ("Spill Count", 2.0),
            ("Cycle Count", 100.0),
            ("Scratch Memory Size", 2048.0),
        ];
        let of_intel = |in_memory| {
            let costs = Driver::Intel.costs(&program(16, &intel), 128, in_memory);
            let costs = costs.expect("all is told");
            (costs.registers, costs.spills, costs.waves, costs.work)
        };
        assert_eq!(of_intel(0), (90, 2, 16, 800));
        // All of it is what is meant to lie there, or something else does too.
        assert_eq!((of_intel(128).1, of_intel(64).1), (0, 2));
        let mali = [("threads", 1.0), ("spills", 3.0), ("cycles", 2.5)];
        let costs = Driver::Mali.costs(&program(16, &mali), 128, 0).expect("all is told");
        assert_eq!((costs.registers, costs.spills, costs.waves, costs.work), (64, 3, 1, 320));
        assert!(Driver::Amd.costs(&program(16, &mali), 128, 0).is_err());
    }
}
