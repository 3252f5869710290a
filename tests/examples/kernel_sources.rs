//! Writes the sources of every built-in set to a folder, ready for nvcc: `kernel_sources FOLDER
//! [CAPABILITY] [SET..]`.

use girih::ParameterSet;
use girih_backend::PlanRequest;
use girih_cuda::{SPREAD, SPREAD_ITEMS, variants};
use std::path::Path;

/// The packing at which BOLT-FHE runs its sets.
const PACKINGS: [(&str, usize); 6] =
    [("M1", 3), ("M2", 2), ("M3", 5), ("M4", 4), ("M5", 5), ("M6", 2)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder =
        Path::new(arguments.first().ok_or("usage: kernel_sources FOLDER [CAPABILITY] [SET..]")?);
    let capability = arguments.get(1).map_or(Ok(90), |c| c.parse())?;
    let only = arguments.get(2..).unwrap_or_default();
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse().ok());
    let request = PlanRequest {
        groups: number("GROUPS"),
        subgroups_per_polynomial: number("WARPS"),
        choices: [
            ("ITEMS", SPREAD_ITEMS),
            ("SPREAD", SPREAD),
            ("PACKED", "packed"),
            ("RING", "ring"),
            ("BLOCKS", "blocks"),
            ("PACE", "pace"),
        ]
        .into_iter()
        .filter_map(|(variable, name)| Some((name.to_owned(), number(variable)? as u32)))
        .collect(),
        ..Default::default()
    };
    for set in ParameterSet::all() {
        if !only.is_empty() && !only.iter().any(|n| n == set.name()) {
            continue;
        }
        let set = PACKINGS
            .iter()
            .find(|(n, _)| *n == set.name())
            .map_or(Ok(set.clone()), |(_, r)| set.with_packing(*r))?;
        match variants(set.name(), set.shape(), capability, &request) {
            Ok(all) => {
                for variant in all {
                    let at = folder.join(&variant.name);
                    std::fs::create_dir_all(&at)?;
                    for source in &variant.sources {
                        for (name, text) in source.file.headers {
                            std::fs::write(at.join(name), text)?;
                        }
                        std::fs::write(at.join("constants.cuh"), &source.constants)?;
                        std::fs::write(
                            at.join(format!("{}.cu", source.file.name)),
                            source.file.text,
                        )?;
                    }
                    println!("{} {:?}", variant.name, variant.plan);
                }
            }
            Err(error) => println!("{}: {error}", set.name()),
        }
    }
    Ok(())
}
