//! Records as they lie in a folder: single ones, as `--json` writes them, and folded ones, many a
//! file with each plan stored once.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What the field `format` of a folded file says.
const FORMAT: u64 = 1;

/// One record, or the list of a sweep, and the file that it came from.
pub struct Entry {
    pub value: Value,
    pub path: PathBuf,
    /// Whether the file holds this entry alone.
    pub single: bool,
}

/// The entries of a folder by name. The name of a single record is its file's, without `.json`;
/// where a folded one has the same, the single one counts, being newer.
pub fn read(folder: &Path) -> Result<BTreeMap<String, Entry>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|e| Ok(e?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    let (mut folded, mut single) = (BTreeMap::new(), BTreeMap::new());
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "json")) {
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let value: Value = serde_json::from_str(&text).with_context(|| wanted(&path))?;
        if value.get("records").is_some() {
            for (name, value) in unfold(value).with_context(|| path.display().to_string())? {
                folded.insert(name, Entry { value, path: path.clone(), single: false });
            }
        } else {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            single.insert(name, Entry { value, path, single: true });
        }
    }
    folded.append(&mut single);
    Ok(folded)
}

/// What a file of records must hold.
pub fn wanted(path: &Path) -> String {
    format!(
        "{}: must hold what `cargo xtask bench --json` or `cargo xtask fold` writes",
        path.display()
    )
}

/// What a record is of: the name of the file into which it is folded.
pub fn kind(value: &Value) -> Result<String> {
    let record = value.get(0).unwrap_or(value);
    if record.get("example").is_some() {
        return Ok("examples".into());
    }
    if record.get("phases").is_some() {
        return Ok("profile".into());
    }
    if record.get("parts").is_some() {
        return Ok("soak".into());
    }
    if record.get("kind").and_then(Value::as_str) == Some("first-result") {
        return Ok("first_result".into());
    }
    let named = record.get("scheme").or(record.get("backend")).and_then(Value::as_str);
    match named.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric())) {
        Some(name) => Ok(name.into()),
        None => bail!(
            "a record names its scheme or its backend, or is an example's, a profile, a soak's or \
             one of first results"
        ),
    }
}

/// The text of a folded file: a line for each plan and each record, so that a new run changes few.
pub fn fold<'a>(entries: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Result<String> {
    let mut plans = Vec::new();
    let mut records = Vec::new();
    for (name, value) in entries {
        let mut value = value.clone();
        each_plan(&mut value, &mut |plan| {
            // Plans of CKKS are short texts, which stay where they are; a number would be taken for
            // that of a plan.
            ensure!(!plan.is_number() && !plan.is_boolean(), "{name}: plan {plan}");
            if plan.is_object() {
                let known = plans.iter().position(|p| p == plan);
                let number = known.unwrap_or_else(|| {
                    plans.push(plan.clone());
                    plans.len() - 1
                });
                *plan = json!(number);
            }
            Ok(())
        })?;
        let text = match &value {
            Value::Array(list) => format!("[\n{}\n]", lines(list)),
            one => one.to_string(),
        };
        records.push(format!("{}: {text}", json!(name)));
    }
    let mut text = String::new();
    writeln!(text, "{{\n\"format\": {FORMAT},\n\"plans\": [\n{}\n],", lines(&plans))?;
    writeln!(text, "\"records\": {{\n{}\n}}\n}}", records.join(",\n"))?;
    Ok(text)
}

fn lines(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n")
}

/// The records of a folded file, with their plans in place.
fn unfold(mut file: Value) -> Result<Map<String, Value>> {
    ensure!(
        file["format"] == json!(FORMAT),
        "folded records of format {}; this version reads format {FORMAT}",
        file["format"]
    );
    let (plans, records) = (file["plans"].take(), file["records"].take());
    let Value::Object(mut records) = records else { bail!("`records` must be an object") };
    for (name, value) in &mut records {
        each_plan(value, &mut |plan| {
            if let Some(number) = plan.as_u64() {
                let found = usize::try_from(number).ok().and_then(|number| plans.get(number));
                *plan =
                    found.with_context(|| format!("{name}: there is no plan {number}"))?.clone();
            }
            Ok(())
        })?;
    }
    Ok(records)
}

/// Changes what every key `plan` holds, at any depth but within plans.
fn each_plan(value: &mut Value, change: &mut dyn FnMut(&mut Value) -> Result<()>) -> Result<()> {
    match value {
        Value::Array(list) => list.iter_mut().try_for_each(|value| each_plan(value, change)),
        Value::Object(fields) => fields.iter_mut().try_for_each(|(key, value)| {
            if key == "plan" {
                change(value)?;
            }
            // A large-precision function has a list of plans, each with its set.
            if key == "plan" && !value.is_array() { Ok(()) } else { each_plan(value, change) }
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_records_are_the_same_and_plans_are_stored_once() {
        let plan = json!({ "threads": 64, "plan": "not looked into" });
        let records = BTreeMap::from([
            ("a".to_owned(), json!({ "backend": "cuda", "plan": plan, "ms": 0.1 })),
            ("b".to_owned(), json!([{ "plan": plan }, { "plan": { "threads": 32 } }])),
            ("c".to_owned(), json!({ "plan": [{ "set": "M1", "plan": plan }], "x": null })),
            ("d".to_owned(), json!({ "scheme": "ckks", "plan": "row_slots=24" })),
        ]);
        let text = fold(&records).expect("records");
        assert_eq!(text.matches("not looked into").count(), 1, "{text}");
        let file: Value = serde_json::from_str(&text).expect("JSON");
        let again: BTreeMap<_, _> = unfold(file).expect("own text").into_iter().collect();
        assert_eq!(again, records);
    }

    #[test]
    fn damaged_folds_are_refused() {
        for (file, word) in [
            (json!({ "format": 2, "plans": [], "records": {} }), "format 2"),
            (json!({ "format": 1, "plans": [], "records": { "a": { "plan": 0 } } }), "no plan 0"),
            (json!({ "format": 1, "plans": [], "records": [] }), "must be an object"),
        ] {
            let error = unfold(file).expect_err(word).to_string();
            assert!(error.contains(word), "{error}");
        }
        assert!(fold([(&"a".to_owned(), &json!({ "plan": 3 }))]).is_err());
        for record in [json!({}), json!([]), json!({ "backend": "../cuda" })] {
            kind(&record).expect_err("no kind");
        }
    }

    #[test]
    fn a_single_record_counts_before_a_folded_one() {
        let folder = std::env::temp_dir().join(format!("girih-records-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let old = json!({ "ms": 2 });
        let text = fold([(&"a".to_owned(), &old), (&"b".to_owned(), &old)]).expect("records");
        std::fs::write(folder.join("cuda.json"), text).expect("writable");
        std::fs::write(folder.join("a.json"), "{ \"ms\": 1 }").expect("writable");
        let entries = read(&folder).expect("records");
        let found: Vec<_> =
            entries.iter().map(|(n, e)| (&n[..], &e.value["ms"], e.single)).collect();
        assert_eq!(found, [("a", &json!(1), true), ("b", &json!(2), false)]);
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
