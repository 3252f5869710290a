//! Tuned plans: what `cargo xtask tune` measured to be fastest, kept for each device and shape.
//!
//! A device lists the plans worth measuring; `tune` measures them and stores the fastest of each
//! transform here; loading asks for it and reports the [`PlanSource`]. What a plan is for (the
//! shape) and what it asks of a device (the options) are values here, which families read and write
//! as types of their own.

use crate::device::cache::{cache_folder, read_cache_file, write_cache_file};
use crate::device::{BackendError, Progress, Result, Transform};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The version of the file and of what its plans mean to the kernels: raised when kernels change
/// enough that a stored plan says nothing about the new ones.
const FORMAT: u32 = 2;

/// Who chose a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanSource {
    /// The device's own model.
    Model,
    /// A measurement stored by `cargo xtask tune`.
    Tuned,
    /// The caller.
    Request,
}

/// One measured winner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedPlan {
    /// [`Backend::identity`](crate::Backend::identity) of the device it was measured on.
    pub device: String,
    /// The shape it was measured for.
    shape: Value,
    /// The options that won, their `transform` included where the family has several.
    options: Value,
    /// Units of work a second: ciphertexts bootstrapped, or operations.
    pub per_s: f64,
}

impl TunedPlan {
    /// The winner for `shape` on `device`: `options`, which name their `transform`, at `per_s`
    /// units of work a second.
    ///
    /// # Errors
    /// [`BackendError::InvalidRequest`] for a shape or options that JSON cannot hold.
    pub fn new(
        device: &str,
        shape: &impl Serialize,
        options: &impl Serialize,
        per_s: f64,
    ) -> Result<Self> {
        Ok(Self { device: device.into(), shape: value(shape)?, options: value(options)?, per_s })
    }

    /// The options, as their family reads them; `path` is the file they came from.
    ///
    /// # Errors
    /// [`BackendError::InvalidRequest`] naming the file and the remedy,
    /// for options of another form.
    pub fn options_as<O: DeserializeOwned>(&self, path: &Path) -> Result<O> {
        O::deserialize(&self.options).map_err(|e| unusable(path, e.to_string()))
    }

    fn transform(&self) -> Option<Transform> {
        Transform::deserialize(self.options.get("transform")?).ok()
    }
}

fn value(of: &impl Serialize) -> Result<Value> {
    serde_json::to_value(of)
        .map_err(|e| BackendError::InvalidRequest(format!("a plan that cannot be stored: {e}")))
}

fn unusable(path: &Path, why: String) -> BackendError {
    BackendError::InvalidRequest(format!(
        "the tuned plans in {} cannot be used ({why}): delete the file, or restore it, and run \
         `cargo xtask tune` again",
        path.display()
    ))
}

/// The stored winners: at most one for each device, shape and transform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedPlans {
    format: u32,
    /// The winners.
    pub plans: Vec<TunedPlan>,
}

/// What a file may hold of any version.
#[derive(Deserialize)]
struct Header {
    format: u32,
}

impl Default for TunedPlans {
    fn default() -> Self {
        Self { format: FORMAT, plans: Vec::new() }
    }
}

impl TunedPlans {
    /// The file that plans are kept in, where the system has a cache folder.
    pub fn path() -> Option<PathBuf> {
        Some(cache_folder()?.join("plans.json"))
    }

    /// Those that this machine keeps, and the file that holds them, where the system has a place
    /// for one; what users should hear of it is noted.
    ///
    /// # Errors
    /// As [`TunedPlans::read`].
    pub fn stored(progress: &dyn Progress) -> Result<Option<(Self, PathBuf)>> {
        let Some(path) = Self::path() else { return Ok(None) };
        let (plans, note) = Self::read(&path)?;
        if let Some(note) = note {
            progress.note(&note);
        }
        Ok(Some((plans, path)))
    }

    /// Reads `path`; a file that is not there holds no plans. The second value is what to tell the
    /// user, where the file was left aside: it is of another version, or somebody else may have
    /// written it.
    ///
    /// # Errors
    /// [`BackendError::InvalidRequest`] for a file that cannot be read or understood, naming it and
    /// the remedy.
    pub fn read(path: &Path) -> Result<(Self, Option<String>)> {
        let refuse = |why| unusable(path, why);
        let bytes = match read_cache_file(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((Self::default(), None)),
            // Somebody else may have written it.
            Err(e) if e.kind() == ErrorKind::PermissionDenied => {
                let note = format!("tuned plans were left aside: {e}");
                return Ok((Self::default(), Some(note)));
            }
            Err(e) => return Err(refuse(e.to_string())),
        };
        let text = String::from_utf8(bytes).map_err(|e| refuse(e.to_string()))?;
        let header: Header = serde_json::from_str(&text).map_err(|e| refuse(e.to_string()))?;
        if header.format != FORMAT {
            let note = format!(
                "tuned plans in {} are of format {}, this version reads format {FORMAT}: ignored; \
                 `cargo xtask tune` replaces them",
                path.display(),
                header.format
            );
            return Ok((Self::default(), Some(note)));
        }
        Ok((serde_json::from_str(&text).map_err(|e| refuse(e.to_string()))?, None))
    }

    /// Writes `path`, whole or not at all.
    ///
    /// # Errors
    /// [`BackendError::InvalidRequest`] naming the file and what the system said.
    pub fn write(&self, path: &Path) -> Result<()> {
        let refuse = |why: String| {
            BackendError::InvalidRequest(format!("{} cannot be written: {why}", path.display()))
        };
        let text = serde_json::to_string_pretty(self).map_err(|e| refuse(e.to_string()))?;
        write_cache_file(path, (text + "\n").as_bytes()).map_err(|e| refuse(e.to_string()))
    }

    /// Puts `plan` in the place of an older one of the same device, shape and transform.
    pub fn put(&mut self, plan: TunedPlan) {
        self.plans.retain(|p| {
            p.device != plan.device || p.shape != plan.shape || p.transform() != plan.transform()
        });
        self.plans.push(plan);
    }

    /// The fastest stored plan of `device` for `shape`, of `transform` where that is given.
    pub fn best(
        &self,
        device: &str,
        shape: &impl Serialize,
        transform: Option<Transform>,
    ) -> Option<&TunedPlan> {
        let shape = value(shape).ok()?;
        let fits = |p: &&TunedPlan| {
            p.device == device
                && p.shape == shape
                && transform.is_none_or(|t| p.transform() == Some(t))
        };
        self.plans.iter().filter(fits).max_by(|a, b| a.per_s.total_cmp(&b.per_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shape() -> Value {
        json!({ "size": 1024, "words": [134_215_681] })
    }

    fn plan(transform: Transform, items: u32, per_s: f64) -> TunedPlan {
        let options = json!({ "transform": transform, "items": items });
        TunedPlan::new("wgpu: a GPU", &shape(), &options, per_s).expect("values are JSON")
    }

    fn folder() -> PathBuf {
        std::env::temp_dir().join(format!("girih-tune-{}", std::process::id()))
    }

    #[test]
    fn the_fastest_plan_of_the_transform_asked_for_comes_back_from_the_file() {
        let path = folder().join("round_trip").join("plans.json");
        let mut plans = TunedPlans::default();
        plans.put(plan(Transform::Ntt, 8, 1.0));
        plans.put(plan(Transform::Ntt, 16, 70.0));
        plans.put(plan(Transform::Fft, 4, 60.0));
        plans.write(&path).expect("a writable folder");
        let (read, note) = TunedPlans::read(&path).expect("just written");
        assert_eq!((&read, note), (&plans, None));
        assert_eq!(read.plans.len(), 2, "the later plan of a transform replaces the earlier");
        let best =
            |device: &str, transform| read.best(device, &shape(), transform).map(|p| p.per_s);
        assert_eq!(best("wgpu: a GPU", None), Some(70.0));
        assert_eq!(best("wgpu: a GPU", Some(Transform::Fft)), Some(60.0));
        assert_eq!(best("another", None), None);
        assert!(read.best("wgpu: a GPU", &json!({ "size": 2048 }), None).is_none());
        let options: Value = read
            .best("wgpu: a GPU", &shape(), None)
            .expect("stored")
            .options_as(&path)
            .expect("any value");
        assert_eq!(options["items"], 16);
        let error = read.plans[0].options_as::<u32>(&path).expect_err("no number").to_string();
        assert!(error.contains("plans.json") && error.contains("delete the file"), "{error}");
    }

    #[test]
    fn another_version_is_left_aside_with_a_word_and_a_broken_file_is_an_error() {
        let path = folder().join("broken").join("plans.json");
        let write =
            |text: &str| write_cache_file(&path, text.as_bytes()).expect("a writable folder");
        write(r#"{"format": 999, "plans": "anything"}"#);
        let (plans, note) = TunedPlans::read(&path).expect("another version is no error");
        assert!(
            plans.plans.is_empty()
                && note.is_some_and(|n| n.contains("999") && n.contains("plans.json"))
        );
        for text in ["", "{", r#"{"plans": []}"#, r#"{"format": 2, "plans": [{}]}"#] {
            write(text);
            let error = TunedPlans::read(&path).expect_err(text).to_string();
            assert!(error.contains("plans.json") && error.contains("delete the file"), "{error}");
        }
        let (plans, note) =
            TunedPlans::read(&path.with_file_name("missing.json")).expect("no file, no plans");
        assert!(plans.plans.is_empty() && note.is_none());
    }
}
