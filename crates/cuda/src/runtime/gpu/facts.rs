//! What the driver says of a GPU before it is opened.
#![allow(unsafe_code)] // Calls the C interface of the driver.

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use girih_backend::{BackendError, DeviceLimits, Result};

/// Facts about one GPU.
#[derive(Clone, Debug)]
pub(crate) struct GpuFacts {
    pub name: String,
    pub capability: u32,
    pub limits: DeviceLimits,
    pub memory_bytes: usize,
    pub driver_version: i32,
    /// How many times slower f64 runs than f32.
    pub f64_slowness: i32,
}

pub(super) fn no_device(requested: &str, why: impl Into<String>) -> BackendError {
    BackendError::NoDevice { requested: requested.into(), why: why.into() }
}

/// Starts the driver and counts its devices.
pub(crate) fn count_devices() -> Result<usize> {
    // SAFETY: only asks the loader for a library; without it the first call of cudarc would panic.
    if !unsafe { sys::is_culib_present() } {
        return Err(no_device(
            "cuda",
            "the NVIDIA driver (libcuda) was not found; install driver 580 or newer",
        ));
    }
    result::init()
        .map_err(|e| no_device("cuda", format!("the driver did not start: {}", describe(e))))?;
    let count = result::device::get_count().map_err(|e| no_device("cuda", describe(e)))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

pub(super) fn describe(error: DriverError) -> String {
    let text = error.error_string().ok().map(|s| s.to_string_lossy().into_owned());
    format!("{:?}{}", error.0, text.map_or_else(String::new, |t| format!(" ({t})")))
}

/// Facts about device `ordinal`; the driver is started.
pub(crate) fn facts(ordinal: usize) -> Result<GpuFacts> {
    let id = format!("cuda:{ordinal}");
    let error = |e| no_device(&id, describe(e));
    let device = result::device::get(ordinal as i32).map_err(error)?;
    // SAFETY: `device` is a device of the driver.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) }.map_err(error);
    use sys::CUdevice_attribute_enum as A;
    let capability = (10 * attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?
        + attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?) as u32;
    let mut driver_version = 0;
    // SAFETY: writes one integer.
    unsafe { sys::cuDriverGetVersion(&mut driver_version) };
    Ok(GpuFacts {
        name: result::device::get_name(device).map_err(error)?,
        capability,
        limits: DeviceLimits {
            workgroup_memory_bytes: attribute(
                A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )? as usize,
            workgroup_threads: attribute(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)? as usize,
            subgroup_threads: attribute(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE)? as usize,
            binding_bytes: u64::MAX,
            multiprocessors: attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize,
        },
        // SAFETY: `device` is a device of the driver.
        memory_bytes: unsafe { result::device::total_mem(device) }.map_err(error)?,
        driver_version,
        f64_slowness: attribute(A::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)?,
    })
}
