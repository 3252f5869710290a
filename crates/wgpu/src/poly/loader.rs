//! Rings opened on an adapter.

use crate::WgpuBackend;
use crate::poly::device::WgpuPoly;
use crate::poly::kernels::{PolyBuild, PolyKernel};
use crate::poly::{LOG2_DEGREES, log2_row};
use girih_backend::poly::{Loader, PolyDevice, PolyPlan, RingShape};
use girih_backend::{Backend, BackendError, DoesNotFit, Result};
use std::sync::Arc;

/// Workgroups that a launch of columns should have on a GPU, two for each of the multiprocessors of
/// the largest. Fewer leave some of these idle; for more, more tiles repeat loads and conversions
/// (docs/experiments.md).
const LEAST_GROUPS: usize = 256;

/// What the kernels of `ring` are built with; an error where they do not fit the device.
fn fitting(backend: &WgpuBackend, ring: &RingShape) -> Result<PolyBuild> {
    let (gpu, limits) = (backend.gpu(), &backend.gpu().limits);
    if !LOG2_DEGREES.contains(&ring.log2_degree) {
        return Err(BackendError::Unsupported {
            device: gpu.name.clone(),
            what: format!("polynomials of degree 2^{}", ring.log2_degree),
            why: format!(
                "its kernels go from 2^{} to 2^{}",
                LOG2_DEGREES.start(),
                LOG2_DEGREES.end()
            ),
        });
    }
    let build = PolyBuild {
        kernel: PolyKernel::Rows,
        log2_degree: ring.log2_degree,
        invariant: false,
        slots: 0,
        segments: 1,
        profile: backend.profile(),
        vendor: backend.vendor(),
    };
    let tile = || format!("a row of 2^{} words", log2_row(ring.log2_degree));
    let threads = limits
        .max_compute_invocations_per_workgroup
        .min(limits.max_compute_workgroup_size_x) as usize;
    let memory = limits.max_compute_workgroup_storage_size as usize;
    let reason = if build.threads() > threads {
        let (needed, available) = (build.threads(), threads);
        Some(DoesNotFit::Threads { tile: tile(), needed, available })
    } else if build.workgroup_bytes() > memory {
        let (needed, available) = (build.workgroup_bytes(), memory);
        Some(DoesNotFit::Memory { tile: tile(), needed, available })
    } else {
        None
    };
    if let Some(reason) = reason {
        return Err(BackendError::DoesNotFit { device: gpu.name.clone(), reason });
    }
    Ok(build)
}

impl Loader for WgpuBackend {
    fn open(&self, ring: Arc<RingShape>) -> Result<Box<dyn PolyDevice>> {
        let build = fitting(self, &ring)?;
        let (gpu, kernels) = (Arc::clone(self.gpu()), Arc::clone(self.poly_kernels()));
        Ok(Box::new(WgpuPoly::open(gpu, kernels, build, ring)?))
    }

    fn plan(&self, ring: &RingShape) -> PolyPlan {
        let of_gpu = gpu_plan(ring.log2_degree);
        if self.info().software { PolyPlan { least_column_tiles: 1, ..of_gpu } } else { of_gpu }
    }
}

/// The plan of GPUs for rings of degree 2^`log2_degree`.
pub(crate) fn gpu_plan(log2_degree: u32) -> PolyPlan {
    let groups = 1 << (log2_degree - log2_row(log2_degree));
    PolyPlan {
        // Slots are a thread's own memory: few of them are kept close by.
        most_row_slots: 16,
        least_column_tiles: (LEAST_GROUPS / groups).max(1),
        ..PolyPlan::default()
    }
}
