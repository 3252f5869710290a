//! What crates say of themselves, and that archives of them are whole.

use super::{assert_none, files, read, root};

/// Folders whose files are texts of a crate, with the source that names them.
const TEXTS: [(&str, &str); 2] = [("cuda", "kernels.rs"), ("shaders", "shaders.rs")];

#[test]
fn every_kernel_is_a_text_of_its_crate() {
    let mut wrong = Vec::new();
    for (folder, source) in TEXTS {
        let named = read(&root().join(folder).join(source));
        let kernels = files(&root().join(folder)).into_iter().filter(|path| {
            path.extension().is_some_and(|e| ["cu", "cuh", "hpp", "wgsl"].iter().any(|x| e == *x))
        });
        let names: Vec<String> =
            kernels.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
        assert!(names.len() > 20, "{folder}: {names:?}");
        for name in names.iter().filter(|name| !named.contains(&format!("= \"{name}\""))) {
            wrong.push(format!("{folder}/{source} has no {name}"));
        }
    }
    assert_none(wrong);
}

/// What a crate's page in a registry and its archive are made of.
const SAID: [&str; 8] = [
    "description = ",
    "documentation = ",
    "version.workspace",
    "license.workspace",
    "readme",
    "categories.workspace",
    "keywords",
    "[package.metadata.docs.rs]",
];

#[test]
fn crates_that_are_published_say_what_they_are() {
    let workspace = read(&root().join("Cargo.toml"));
    let members = workspace.split("members = [").nth(1).and_then(|rest| rest.split(']').next());
    let members = members.expect("a list of members").split('"').skip(1).step_by(2);
    let (mut published, mut wrong) = (0, Vec::new());
    for member in members {
        let folder = root().join(member);
        let manifest = read(&folder.join("Cargo.toml"));
        if manifest.lines().any(|line| line == "publish = false") {
            continue;
        }
        published += 1;
        for said in SAID {
            if !manifest.lines().any(|line| line.starts_with(said)) {
                wrong.push(format!("{member}/Cargo.toml has no `{said}`"));
            }
        }
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            // Beside it, as a link: archives hold what lies in the crate's folder.
            if read(&folder.join(licence)) != read(&root().join(licence)) {
                wrong.push(format!("{member}/{licence} is another text"));
            }
        }
    }
    assert!(published > 10, "{published} crates");
    assert_none(wrong);
}
