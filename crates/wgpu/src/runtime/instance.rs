//! The instance that adapters are found by.

use wgpu::InstanceDescriptor;

/// An instance that computes and presents nothing.
#[cfg(not(target_os = "linux"))]
pub(crate) fn instance(descriptor: InstanceDescriptor) -> wgpu::Instance {
    wgpu::Instance::new(descriptor)
}

/// An instance that computes and presents nothing, so it asks for no surfaces of Wayland: where it
/// does, Mesa's layer of device selection connects to a compositor, and on a machine without one
/// libwayland writes an error to stderr each time.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "wgpu enables every surface extension unless it is told otherwise")]
pub(crate) fn instance(descriptor: InstanceDescriptor) -> wgpu::Instance {
    use wgpu::hal::vulkan::CreateInstanceCallbackArgs;
    let own = wgpu::hal::InstanceDescriptor {
        name: "girih",
        flags: descriptor.flags,
        memory_budget_thresholds: descriptor.memory_budget_thresholds,
        backend_options: descriptor.backend_options.clone(),
        telemetry: None,
        display: None,
    };
    let without_wayland = |args: CreateInstanceCallbackArgs<'_, '_, '_>| {
        args.extensions.retain(|name| *name != c"VK_KHR_wayland_surface");
    };
    // SAFETY: Vulkan is loaded and made as `wgpu::Instance::new` does it, with one extension less.
    // wgpu looks whether that one is enabled before it makes a surface by it, and we make none.
    let vulkan = unsafe {
        wgpu::hal::vulkan::Instance::init_with_callback(&own, Some(Box::new(without_wayland)))
    };
    match vulkan {
        // SAFETY: it was made just now and belongs to nobody else.
        Ok(vulkan) => unsafe { wgpu::Instance::from_hal::<wgpu::hal::api::Vulkan>(vulkan) },
        // Without Vulkan there are no adapters, as wgpu finds by itself.
        Err(_) => wgpu::Instance::new(descriptor),
    }
}
