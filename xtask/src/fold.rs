//! `cargo xtask fold`: the single records of a folder, put into one file a kind.

use crate::records;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders of records, one a device, such as docs/benchmarks/h200.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    for folder in &arguments.folders {
        fold(folder)?;
    }
    Ok(true)
}

/// Folds one folder. Single records go only after what replaces them has been read back.
fn fold(folder: &Path) -> Result<()> {
    let entries = records::read(folder)?;
    let mut kinds: BTreeMap<String, BTreeMap<&String, &Value>> = BTreeMap::new();
    for (name, entry) in &entries {
        let kind = records::kind(&entry.value).with_context(|| records::wanted(&entry.path))?;
        kinds.entry(kind).or_default().insert(name, &entry.value);
    }
    for (kind, of_kind) in &kinds {
        let path = folder.join(format!("{kind}.json"));
        if entries.values().any(|entry| entry.single && entry.path == path) {
            bail!("{}: give this record another name, its own is that of a fold", path.display());
        }
        let text = records::fold(of_kind.iter().map(|(name, value)| (*name, *value)))?;
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        println!("{:>6} records  {}", of_kind.len(), path.display());
    }
    let single: Vec<_> = entries.values().filter(|e| e.single).map(|e| &e.path).collect();
    // Beside single records nobody sees what a fold holds, so those go aside first.
    let aside = |path: &Path| path.with_extension("folded");
    for path in &single {
        std::fs::rename(path, aside(path)).with_context(|| path.display().to_string())?;
    }
    let again = records::read(folder)?;
    let same = again.len() == entries.len()
        && again.iter().all(|(name, entry)| entries[name].value == entry.value);
    ensure!(
        same,
        "{}: what was folded reads otherwise; the single records are beside it as *.folded",
        folder.display()
    );
    for path in single {
        std::fs::remove_file(aside(path)).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_folded_once_and_again_with_new_records() {
        let folder = std::env::temp_dir().join(format!("girih-fold-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).expect("writable");
        };
        write("a.json", r#"{"backend":"cuda","plan":{"threads":64},"ms":1.25}"#);
        write("b.json", r#"[{"backend":"wgpu","plan":{"threads":64}}]"#);
        write("c.json", r#"{"example":"iris","figures":{}}"#);
        fold(&folder).expect("records");
        write("a.json", r#"{"backend":"cuda","plan":{"threads":32},"ms":1.5}"#);
        fold(&folder).expect("records");
        let files: Vec<_> = std::fs::read_dir(&folder).expect("there").collect();
        assert_eq!(files.len(), 3, "{files:?}");
        let entries = records::read(&folder).expect("records");
        assert_eq!(entries["a"].value["ms"], 1.5);
        assert_eq!(entries["a"].value["plan"]["threads"], 32);
        assert!(entries.len() == 3 && entries.values().all(|entry| !entry.single));
        for (name, text) in [("d.json", "{}"), ("cuda.json", r#"{"backend":"cuda"}"#)] {
            write(name, text);
            let error = format!("{:#}", fold(&folder).expect_err(name));
            assert!(error.contains(name), "{error}");
            std::fs::remove_file(folder.join(name)).expect("ours");
        }
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
