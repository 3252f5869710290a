//! The CPU as a [`Backend`].

use crate::bootstrap::blind_rotate::Twin;
use crate::bootstrap::engine::CpuEngine;
use crate::bootstrap::fast::FastRotator;
use crate::bootstrap::key_switch::KeySwitcher;
use crate::bootstrap::key_switch_torus::TorusKeySwitcher;
use crate::bootstrap::pipeline::Pipeline;
use crate::bootstrap::rotate_first::RotateFirst;
use crate::bootstrap::rotator::BlindRotator;
use crate::bootstrap::switch_first::SwitchFirst;
use girih_backend::{
    Backend, BackendError, DeviceInfo, DeviceKind, DeviceLimits, Engine, KeySource, LoadOptions, PlanRequest, Progress, Transform,
    check_beside,
};
use std::sync::Arc;

/// The host processor.
#[derive(Debug)]
pub struct CpuBackend {
    info: DeviceInfo,
}

impl CpuBackend {
    /// The CPU with as many threads as rayon's global pool has.
    pub fn new() -> Self {
        let info = DeviceInfo {
            id: "cpu".into(),
            name: processor_name(),
            kind: DeviceKind::Cpu,
            transforms: vec![Transform::Fft, Transform::Ntt],
            limits: DeviceLimits {
                workgroup_memory_bytes: usize::MAX,
                workgroup_threads: 1,
                subgroup_threads: 1,
                binding_bytes: u64::MAX,
                multiprocessors: rayon::current_num_threads(),
            },
            software: false,
            notes: vec![
                format!("{} threads", rayon::current_num_threads()),
                format!("f64 FFT on {}", crate::bootstrap::fast::instruction_set()),
            ],
        };
        Self { info }
    }
}

impl Default for CpuBackend {
    fn default() -> Self {
        Self::new()
    }
}

/// The bootstrapping key of one transform.
fn rotator(keys: &dyn KeySource, transform: Transform, progress: &dyn Progress) -> Result<Box<dyn BlindRotator>, BackendError> {
    Ok(match transform {
        Transform::Ntt => Box::new(Twin::new(keys, progress)?),
        Transform::Fft => Box::new(FastRotator::new(keys, progress)?),
    })
}

/// The processor's name where the system tells it, else its architecture.
fn processor_name() -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| text.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':').map(|(_, v)| v.trim().to_owned())));
    name.unwrap_or_else(|| std::env::consts::ARCH.into())
}

/// The transform to load for. There is nothing else to choose: a request for a plan is refused, not ignored.
fn transform(options: &LoadOptions) -> Result<Transform, BackendError> {
    if options.plan != PlanRequest::default() {
        return Err(BackendError::Unsupported {
            device: "cpu".into(),
            what: format!("a plan with {}", options.plan),
            why: "the CPU plans no tiles; leave the plan open".into(),
        });
    }
    Ok(options.transform.unwrap_or(Transform::Fft))
}

impl Backend for CpuBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn load(&self, keys: &dyn KeySource, options: &LoadOptions, progress: &dyn Progress) -> Result<Box<dyn Engine>, BackendError> {
        let shape = keys.shape();
        shape.validate()?;
        let transform = transform(options)?;
        let rotator = rotator(keys, transform, progress)?;
        // Neither rotator takes the torus and a modulus of its own at once.
        let pipeline: Box<dyn Pipeline> = match shape.accumulator_modulus() {
            Some(modulus) => {
                let switcher = Arc::new(KeySwitcher::new(keys, progress)?);
                Box::new(RotateFirst::new(shape.clone(), modulus, transform, rotator, switcher))
            }
            None => Box::new(SwitchFirst::new(shape.clone(), rotator, TorusKeySwitcher::new(keys, progress)?)),
        };
        Ok(Box::new(CpuEngine::new(shape.clone(), transform, pipeline)))
    }

    fn load_beside(
        &self,
        engine: &(dyn Engine + 'static),
        keys: &dyn KeySource,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Engine>, BackendError> {
        let shape = keys.shape();
        shape.validate()?;
        check_beside(engine.shape(), shape)?;
        let other = || BackendError::InvalidRequest("keys loaded beside an engine of another backend".into());
        let engine = (engine as &dyn std::any::Any).downcast_ref::<CpuEngine>().ok_or_else(other)?;
        let (Some(switcher), Some(modulus)) = (engine.switcher(), shape.accumulator_modulus()) else { return Err(other()) };
        let transform = transform(options)?;
        let rotator = rotator(keys, transform, progress)?;
        let pipeline = RotateFirst::new(shape.clone(), modulus, transform, rotator, switcher);
        Ok(Box::new(engine.beside(shape.clone(), transform, Box::new(pipeline))))
    }
}
