//! Files that records go to, those of examples and of `cargo xtask` alike: refused before the work
//! that fills them.

use std::io::{Error, Result, Write as _};
use std::path::Path;

/// Refuses a file that could not be written when the work that fills it is done. `option` is what
/// named it.
pub fn check_file(option: &str, path: &str) -> Result<()> {
    let check = |path: &Path| {
        make_folder(path)?;
        let is_new = !path.exists();
        std::fs::OpenOptions::new().append(true).create(true).open(path)?;
        if is_new { std::fs::remove_file(path) } else { Ok(()) }
    };
    if path == "-" {
        return Ok(());
    }
    check(Path::new(path))
        .map_err(|e| Error::new(e.kind(), format!("{option} {path}: cannot be written: {e}")))
}

/// Writes pretty JSON to a file, or to standard output for `-`.
pub fn write_json(path: &str, value: &serde_json::Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    if path == "-" {
        return writeln!(std::io::stdout(), "{text}");
    }
    let written = make_folder(Path::new(path)).and_then(|()| std::fs::write(path, text + "\n"));
    written.map_err(|e| Error::new(e.kind(), format!("{path}: {e}")))
}

fn make_folder(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_written_are_refused_and_others_left_as_they_are() {
        // Each example that brings this file along runs it, at the same time.
        let folder = std::env::temp_dir().join(format!(
            "girih-output-{}-{}",
            std::process::id(),
            module_path!().replace("::", "-")
        ));
        let path = |name: &str| folder.join(name).display().to_string();
        check_file("--json", &path("new/record.json")).expect("a folder to be made");
        assert!(folder.join("new").is_dir() && !folder.join("new/record.json").exists());
        std::fs::write(folder.join("kept"), "kept").expect("writable");
        check_file("--json", &path("kept")).expect("writable");
        assert_eq!(std::fs::read_to_string(folder.join("kept")).expect("there"), "kept");
        for bad in [path("new"), path("kept/record.json"), String::new()] {
            let error = check_file("--json", &bad).expect_err(&bad).to_string();
            assert!(error.starts_with("--json") && error.contains(&bad), "{error}");
        }
        check_file("--json", "-").expect("standard output");
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
