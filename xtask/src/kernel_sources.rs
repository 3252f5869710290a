//! `cargo xtask kernel-sources FOLDER [CAPABILITY] [SET..]`: writes the sources of every built-in
//! set to a folder, ready for nvcc.

use crate::Rest;
use crate::cuda_check::packed;
use girih::tfhe::ParameterSet;
use girih_backend::PlanRequest;
use girih_cuda::{SPREAD, SPREAD_ITEMS, variants};
use std::path::Path;

/// What `cargo xtask kernel-sources` runs.
///
/// # Errors
/// What went wrong, in words.
pub fn run(arguments: &Rest) -> anyhow::Result<bool> {
    start(&arguments.words).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(true)
}

fn start(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let folder =
        Path::new(arguments.first().ok_or("usage: kernel-sources FOLDER [CAPABILITY] [SET..]")?);
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
        let set = packed(set)?;
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
