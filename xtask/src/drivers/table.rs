//! What compilers made of kernels, as lines of a table and as files to compare with.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One kernel on one chip.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    pub set: String,
    pub kernel: String,
    pub profile: String,
    pub chip: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    Compiled(Costs),
    /// The compiler was stopped after so many seconds.
    Stopped {
        did_not_end_in_s: u64,
    },
}

/// What a compiler tells of one kernel.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Costs {
    /// Of each thread. Intel: the most that are in use at once. Mali: 32 or 64.
    pub registers: u64,
    /// Registers, of vectors and of scalars, that had to go to memory.
    pub spills: u64,
    /// How many subgroups a unit can hold at once. Intel: threads of a subgroup. Mali: 1, or 2
    /// where a unit holds twice as many threads.
    pub waves: u64,
    /// Cycles of a unit for a workgroup, by the driver's estimate.
    pub work: u64,
}

/// The first lines of the table that [`Row::line`] goes on with.
pub fn head() -> String {
    format!(
        "{:<20}{:<24}{:<8}{:>10}{:>8}{:>7}{:>12}",
        "set", "kernel", "profile", "registers", "spills", "waves", "work"
    )
}

impl Row {
    pub fn line(&self) -> String {
        let Self { set, kernel, profile, .. } = self;
        let came = match &self.outcome {
            Outcome::Compiled(Costs { registers, spills, waves, work }) => {
                format!("{registers:>10}{spills:>8}{waves:>7}{work:>12}")
            }
            Outcome::Stopped { did_not_end_in_s } => {
                format!("  did not end in {did_not_end_in_s} s")
            }
        };
        format!("{set:<20}{kernel:<24}{profile:<8}{came}")
    }

    /// Whether two are of the same kernel on the same chip.
    fn is_of(&self, other: &Self) -> bool {
        let name = |row: &Self| {
            (row.set.clone(), row.kernel.clone(), row.profile.clone(), row.chip.clone())
        };
        name(self) == name(other)
    }

    /// What got worse since `before`.
    fn worse(&self, before: &Self) -> Option<String> {
        let (now, old) = match (&self.outcome, &before.outcome) {
            (Outcome::Compiled(now), Outcome::Compiled(old)) => (now, old),
            (Outcome::Stopped { did_not_end_in_s }, Outcome::Compiled(_)) => {
                return Some(format!("it did not end in {did_not_end_in_s} s, and did before"));
            }
            (_, Outcome::Stopped { .. }) => return None,
        };
        if now.spills > old.spills {
            return Some(format!("{} registers spill, {} before", now.spills, old.spills));
        }
        (100 * now.work > 105 * old.work)
            .then(|| format!("work is {}, {} before", now.work, old.work))
    }
}

/// Writes rows to a file, one a line.
///
/// # Errors
/// If it cannot be written.
pub fn write(rows: &[Row], file: &Path) -> Result<()> {
    let text = rows.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    std::fs::write(file, format!("[\n{}\n]\n", text.join(",\n")))
        .with_context(|| file.display().to_string())
}

/// The rows of a file.
///
/// # Errors
/// If it cannot be read.
pub fn read(file: &Path) -> Result<Vec<Row>> {
    let name = || file.display().to_string();
    serde_json::from_slice(&std::fs::read(file).with_context(name)?).with_context(name)
}

/// Every row beside the one that a file has of it; whether none got worse.
///
/// # Errors
/// If the file cannot be read or has none of these rows.
pub fn compare(rows: &[Row], file: &Path) -> Result<bool> {
    let before = read(file)?;
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
    println!("{compared} of {} kernels compared with {}", rows.len(), file.display());
    if compared == 0 {
        bail!("{} has none of these kernels", file.display());
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::chips::Driver;

    /// Sets in the tables of docs/guide/gpus.md.
    const PAGE: [&str; 4] = ["STD128", "GIRIH_GATE", "TFHERS_2_2", "M3"];
    /// Chips in them, in the order of vendors.
    const SHOWN: [&str; 7] = ["navi21", "navi31", "gfx1201", "tgl", "dg2", "bmg", "g610"];

    fn row(spills: u64, work: u64) -> Row {
        let of = |text: &str| text.to_owned();
        Row {
            set: of("STD128"),
            kernel: of("blind_rotate"),
            profile: of("int64"),
            chip: of("navi31"),
            outcome: Outcome::Compiled(Costs { registers: 96, spills, waves: 10, work }),
        }
    }

    #[test]
    fn new_spills_and_more_work_are_noticed() {
        let before = row(2, 1000);
        assert_eq!(row(2, 1050).worse(&before), None);
        assert_eq!(row(0, 900).worse(&before), None);
        assert!(row(3, 900).worse(&before).is_some_and(|why| why.contains("3 registers spill")));
        assert!(row(2, 1051).worse(&before).is_some_and(|why| why.contains("1051")));
        let stopped = Row { outcome: Outcome::Stopped { did_not_end_in_s: 60 }, ..before.clone() };
        assert!(stopped.worse(&before).is_some_and(|why| why.contains("60 s")));
        assert_eq!(before.worse(&stopped), None);
        assert!(!before.is_of(&Row { chip: "navi21".into(), ..before.clone() }));
    }

    #[test]
    fn rows_of_compilers_that_were_stopped_are_kept() {
        let stopped = Row { outcome: Outcome::Stopped { did_not_end_in_s: 60 }, ..row(0, 1) };
        for row in [row(2, 1000), stopped] {
            let text = serde_json::to_string(&row).expect("written");
            assert_eq!(serde_json::from_str::<Row>(&text).expect("read"), row, "{text}");
        }
    }

    /// Programs on polynomials are planned so that nothing spills (docs/guide/gpus.md).
    #[test]
    fn no_kernel_of_ckks_spills() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks/compilers");
        for driver in [Driver::Amd, Driver::Intel] {
            let rows = read(&root.join(format!("{}.json", driver.name()))).expect("rows");
            for chip in driver.chips() {
                let is_it = |row: &&Row| row.set == "CKKS_D40" && row.chip == chip.name;
                let of: Vec<&Row> = rows.iter().filter(is_it).collect();
                assert!(of.len() > 10, "{}: {} kernels of CKKS", chip.name, of.len());
                for row in of {
                    let Outcome::Compiled(costs) = &row.outcome else { panic!("{}", row.line()) };
                    assert_eq!(costs.spills, 0, "{} on {}", row.line(), chip.name);
                }
            }
        }
    }

    /// The tables of docs/guide/gpus.md have what docs/benchmarks/compilers has.
    #[test]
    fn the_page_shows_what_was_compiled() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let page = std::fs::read_to_string(root.join("guide/gpus.md")).expect("a page");
        let mut wanted = Vec::new();
        for driver in Driver::ALL {
            let file = root.join(format!("benchmarks/compilers/{}.json", driver.name()));
            let rows = read(&file).expect("rows");
            for chip in driver.chips().filter(|chip| SHOWN.contains(&chip.name)) {
                for profile in ["int64", "core"] {
                    for set in PAGE {
                        let is_it = |row: &&Row| {
                            (row.set.as_str(), row.kernel.as_str()) == (set, "blind_rotate")
                                && (row.chip.as_str(), row.profile.as_str()) == (chip.name, profile)
                        };
                        let Some(one) = rows.iter().find(is_it) else {
                            // Compilers of others take many minutes for some sets.
                            assert_ne!(driver, Driver::Amd, "{set} {} {profile}", chip.name);
                            continue;
                        };
                        let cells = match &one.outcome {
                            Outcome::Compiled(Costs { registers, spills, waves, work }) => {
                                format!("{registers} | {spills} | {waves} | {work}")
                            }
                            Outcome::Stopped { did_not_end_in_s } => {
                                format!("- | - | - | did not end in {did_not_end_in_s} s")
                            }
                        };
                        wanted
                            .push(format!("| {set} | {} | {profile} | {cells} |", chip.generation));
                    }
                }
            }
        }
        let all = wanted.join("\n");
        for line in &wanted {
            assert!(page.contains(line.as_str()), "docs/guide/gpus.md needs\n{all}");
        }
        let of_chips = |line: &&str| {
            line.starts_with("| ") && (line.contains(" | int64 | ") || line.contains(" | core | "))
        };
        let found = page.lines().filter(of_chips).count();
        assert_eq!(found, wanted.len(), "rows of docs/guide/gpus.md that are none");
    }
}
