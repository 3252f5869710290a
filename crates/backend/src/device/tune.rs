//! Tuned plans: what `cargo xtask tune` measured to be fastest, kept for each device and shape.
//!
//! A device lists the plans worth measuring ([`Backend::alternatives`]); `tune` measures them and stores the fastest of
//! each transform here; [`Backend::load`] asks [`choose_plan`] and reports the [`PlanSource`] as `plan_from` in
//! [`Engine::plan`](crate::Engine::plan).
//!
//! [`Backend::alternatives`]: crate::Backend::alternatives
//! [`Backend::load`]: crate::Backend::load

use crate::device::cache::{cache_folder, write_cache_file};
use crate::{BackendError, BootstrapShape, LoadOptions, Progress};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version of the file and of what its plans mean to the kernels: raised when kernels change enough that a stored
/// plan says nothing about the new ones.
const FORMAT: u32 = 1;

/// Who chose a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanSource {
    /// The device's own model.
    Model,
    /// A measurement stored by `cargo xtask tune`.
    Tuned,
    /// The caller, through [`LoadOptions::plan`].
    Request,
}

/// One measured winner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedPlan {
    /// [`Backend::identity`](crate::Backend::identity) of the device it was measured on.
    pub device: String,
    /// The shape it was measured for.
    pub shape: BootstrapShape,
    /// The options that won, transform included.
    pub options: LoadOptions,
    /// Ciphertexts bootstrapped a second.
    pub per_s: f64,
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

    /// Reads `path`; a file that is not there holds no plans. The second value is what to tell the user, where the file
    /// is of another version and was left aside.
    ///
    /// # Errors
    /// [`BackendError::InvalidRequest`] for a file that cannot be read or understood, naming it and the remedy.
    pub fn read(path: &Path) -> Result<(Self, Option<String>), BackendError> {
        let refuse = |why: String| {
            BackendError::InvalidRequest(format!(
                "the tuned plans in {} cannot be used ({why}): delete the file, or restore it, and run `cargo xtask tune` again",
                path.display()
            ))
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok((Self::default(), None)),
            Err(e) => return Err(refuse(e.to_string())),
        };
        let header: Header = serde_json::from_str(&text).map_err(|e| refuse(e.to_string()))?;
        if header.format != FORMAT {
            let note = format!(
                "tuned plans in {} are of format {}, this version reads format {FORMAT}: ignored; `cargo xtask tune` replaces them",
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
    pub fn write(&self, path: &Path) -> Result<(), BackendError> {
        let refuse = |why: String| BackendError::InvalidRequest(format!("{} cannot be written: {why}", path.display()));
        let text = serde_json::to_string_pretty(self).map_err(|e| refuse(e.to_string()))?;
        write_cache_file(path, (text + "\n").as_bytes()).map_err(|e| refuse(e.to_string()))
    }

    /// Puts `plan` in the place of an older one of the same device, shape and transform.
    pub fn put(&mut self, plan: TunedPlan) {
        self.plans.retain(|p| p.device != plan.device || p.shape != plan.shape || p.options.transform != plan.options.transform);
        self.plans.push(plan);
    }

    /// The fastest stored plan of `device` for `shape`, of `options.transform` where that is given.
    pub fn best(&self, device: &str, shape: &BootstrapShape, options: &LoadOptions) -> Option<&TunedPlan> {
        let fits =
            |p: &&TunedPlan| p.device == device && p.shape == *shape && options.transform.is_none_or(|t| p.options.transform == Some(t));
        self.plans.iter().filter(fits).max_by(|a, b| a.per_s.total_cmp(&b.per_s))
    }
}

/// The options to load `shape` with on the device called `identity`: those given where they ask for anything of the
/// plan, else the stored winner, else those given, for the device's model to complete.
///
/// # Errors
/// As [`TunedPlans::read`].
pub fn choose_plan(
    identity: &str,
    shape: &BootstrapShape,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<(LoadOptions, PlanSource), BackendError> {
    if options.plan != crate::PlanRequest::default() {
        return Ok((options.clone(), PlanSource::Request));
    }
    if options.untuned {
        return Ok((options.clone(), PlanSource::Model));
    }
    let Some(path) = TunedPlans::path() else { return Ok((options.clone(), PlanSource::Model)) };
    let (plans, note) = TunedPlans::read(&path)?;
    if let Some(note) = note {
        progress.note(&note);
    }
    Ok(match plans.best(identity, shape, options) {
        Some(best) => (best.options.clone(), PlanSource::Tuned),
        None => (options.clone(), PlanSource::Model),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gadget, KeyModulus, PlanRequest, SecretKind, Transform};

    fn shape() -> BootstrapShape {
        BootstrapShape {
            lwe_dimension: 556,
            log2_lwe_modulus: 11,
            polynomial_size: 1024,
            glwe_dimension: 1,
            packing: 1,
            secret: SecretKind::Ternary,
            grouping: 1,
            gadget: Gadget::Decomposition { log2_base: 7, levels: 3, dropped_bits: 7 },
            key_modulus: KeyModulus::Words(vec![134_215_681]),
            log2_ks_modulus: 15,
            log2_ks_base: 5,
        }
    }

    fn plan(transform: Transform, items: u32, per_s: f64) -> TunedPlan {
        let plan = PlanRequest { choices: [("items".to_string(), items)].into(), ..Default::default() };
        let options = LoadOptions { transform: Some(transform), plan, ..Default::default() };
        TunedPlan { device: "wgpu: a GPU".into(), shape: shape(), options, per_s }
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
        let best = |device: &str, transform| {
            let options = LoadOptions { transform, ..Default::default() };
            read.best(device, &shape(), &options).map(|p| p.per_s)
        };
        assert_eq!(best("wgpu: a GPU", None), Some(70.0));
        assert_eq!(best("wgpu: a GPU", Some(Transform::Fft)), Some(60.0));
        assert_eq!(best("another", None), None);
        let other = BootstrapShape { packing: 2, ..shape() };
        assert!(read.best("wgpu: a GPU", &other, &LoadOptions::default()).is_none());
    }

    #[test]
    fn another_version_is_left_aside_with_a_word_and_a_broken_file_is_an_error() {
        let path = folder().join("broken").join("plans.json");
        let write = |text: &str| write_cache_file(&path, text.as_bytes()).expect("a writable folder");
        write(r#"{"format": 999, "plans": "anything"}"#);
        let (plans, note) = TunedPlans::read(&path).expect("another version is no error");
        assert!(plans.plans.is_empty() && note.is_some_and(|n| n.contains("999") && n.contains("plans.json")));
        for text in ["", "{", r#"{"plans": []}"#, r#"{"format": 1, "plans": [{}]}"#] {
            write(text);
            let error = TunedPlans::read(&path).expect_err(text).to_string();
            assert!(error.contains("plans.json") && error.contains("delete the file"), "{error}");
        }
        let (plans, note) = TunedPlans::read(&path.with_file_name("missing.json")).expect("no file, no plans");
        assert!(plans.plans.is_empty() && note.is_none());
    }
}
