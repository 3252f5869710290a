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
use girih_backend::bootstrap::{BootstrapDevice, Loader, other_backend};
use girih_backend::{
    Backend, BackendError, BootstrapShape, DeviceInfo, DeviceKind, DeviceLimits, KeySource,
    LoadOptions, LoadRequest, PlanRequest, Progress, Result, Transform, Waiting, at_once, poly,
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
        let threads = girih_backend::parallel::current_num_threads();
        let limits = DeviceLimits {
            workgroup_memory_bytes: usize::MAX,
            workgroup_threads: 1,
            subgroup_threads: 1,
            binding_bytes: u64::MAX,
            multiprocessors: threads,
        };
        let notes = [
            format!("{threads} threads"),
            format!("f64 FFT on {}", crate::bootstrap::fast::instruction_set()),
        ];
        let info = DeviceInfo::new("cpu", processor_name(), DeviceKind::Cpu, limits)
            .with_transforms([Transform::Fft, Transform::Ntt])
            .with_notes(notes);
        Self { info }
    }
}

impl Default for CpuBackend {
    fn default() -> Self {
        Self::new()
    }
}

/// The bootstrapping key of one transform.
fn rotator(
    keys: &dyn KeySource,
    transform: Transform,
    progress: &dyn Progress,
) -> Result<Box<dyn BlindRotator>> {
    Ok(match transform {
        Transform::Ntt => Box::new(Twin::new(keys, progress)?),
        Transform::Fft => Box::new(FastRotator::new(keys, progress)?),
    })
}

/// The processor's name where the system tells it, else its architecture.
fn processor_name() -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        text.lines().find_map(|l| {
            l.strip_prefix("model name")?.split_once(':').map(|(_, v)| v.trim().to_owned())
        })
    });
    name.unwrap_or_else(|| std::env::consts::ARCH.into())
}

/// The transform to load for. There is nothing else to choose:
/// a request for a plan is refused, not ignored.
fn transform(options: &LoadOptions) -> Result<Transform> {
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

    fn bootstrap(&self) -> Option<&dyn Loader> {
        Some(self)
    }

    fn poly(&self) -> Option<&dyn poly::Loader> {
        Some(self)
    }
}

impl Loader for CpuBackend {
    fn alternatives(&self, _: &BootstrapShape) -> Result<Vec<LoadOptions>> {
        let best = self.info.transforms.first().copied();
        Ok(vec![LoadOptions::default().with_transform(best)])
    }

    fn load<'a>(
        &'a self,
        request: LoadRequest<'a>,
    ) -> Waiting<'a, Result<Box<dyn BootstrapDevice>>> {
        at_once(move || Ok(Box::new(load(request)?) as Box<dyn BootstrapDevice>))
    }
}

fn load(request: LoadRequest<'_>) -> Result<CpuEngine> {
    let LoadRequest { keys, options, progress, .. } = request;
    let (shape, transform, beside) =
        (keys.shape().clone(), transform(options)?, request.beside_as::<CpuEngine>()?);
    let rotator = rotator(keys, transform, progress)?;
    let pipeline: Box<dyn Pipeline> = match (shape.accumulator_modulus(), beside) {
        (Some(modulus), beside) => {
            let switcher = match beside {
                Some(engine) => engine.switcher().ok_or_else(other_backend)?,
                None => Arc::new(KeySwitcher::new(keys, progress)?),
            };
            Box::new(RotateFirst::new(shape.clone(), modulus, transform, rotator, switcher))
        }
        (None, None) => Box::new(SwitchFirst::new(
            shape.clone(),
            rotator,
            TorusKeySwitcher::new(keys, progress)?,
        )),
        (None, Some(_)) => return Err(other_backend()),
    };
    Ok(match beside {
        Some(engine) => engine.beside(shape, transform, pipeline),
        None => CpuEngine::new(shape, transform, pipeline),
    })
}
