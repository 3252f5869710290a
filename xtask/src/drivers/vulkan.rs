//! Statistics of a Vulkan driver's compiler about kernels that never run
//! (`VK_KHR_pipeline_executable_properties`).

#![allow(unsafe_code, reason = "Vulkan, called as its specification says")]

use anyhow::{Context, Result, bail};
use ash::vk;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::time::{Duration, Instant};

/// A kernel to compile.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Module {
    pub name: String,
    pub spirv: Vec<u32>,
    pub entry: String,
    /// Each binding of group 0, and whether it is a uniform buffer.
    pub bindings: Vec<(u32, bool)>,
}

/// What a compiler made of one.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Compiled {
    pub name: String,
    /// Why it was not compiled.
    pub failed: Option<String>,
    /// After how long the compiler was stopped.
    pub stopped: Option<Duration>,
    /// Programs for the chip, such as one for each width of a subgroup.
    pub programs: Vec<Program>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Program {
    /// Threads that run in step.
    pub subgroup: u32,
    /// By the driver's names.
    pub statistics: BTreeMap<String, f64>,
}

/// A line of the process that a driver runs in.
#[derive(Debug, Deserialize, Serialize)]
pub enum Told {
    /// The device's name, before anything is compiled.
    Device(String),
    /// What became of the next module.
    Compiled(Compiled),
}

/// What the one driver that is found says.
#[derive(Debug)]
pub struct Found {
    /// The device's name.
    pub device: String,
    pub compiled: Vec<Compiled>,
}

/// What is printed ahead of a module, so that lines of a compiler are known to be about it.
const MARK: &str = "module ";

impl Found {
    /// Adds what a compiler printed to its standard error (Mali's does, where it is asked to:
    /// `SHADER-DB: MESA_SHADER_COMPUTE shader: 7 inst, 0.1 cycles, ..., 0:0 spills:fills`).
    pub fn add_told(&mut self, text: &str) {
        let mut at = None;
        for line in text.lines() {
            if let Some(number) = line.strip_prefix(MARK) {
                at = number.parse::<usize>().ok();
            }
            let Some((_, told)) = line.split_once("SHADER-DB: ") else { continue };
            let compiled = at.and_then(|at| self.compiled.get_mut(at));
            let Some(program) = compiled.and_then(|one| one.programs.first_mut()) else { continue };
            let told = told.split_once("shader: ").map_or(told, |(_, numbers)| numbers);
            for (name, value) in told.split(", ").filter_map(|part| part.split_once(' ')).flat_map(
                |(values, names)| values.split(':').zip(names.split(':')).map(|(v, n)| (n, v)),
            ) {
                if let Ok(value) = value.parse() {
                    program.statistics.insert(name.trim().into(), value);
                }
            }
        }
    }
}

/// Compiles every module on the first device that the loader finds, and tells what came of each as
/// soon as it is known: a compiler may not come to an end.
///
/// # Errors
/// If there is no loader, no device, or one that tells no statistics.
pub fn statistics(modules: &[Module], tell: impl FnMut(Told) -> Result<()>) -> Result<()> {
    // SAFETY: the loader is a Vulkan loader.
    let entry = unsafe { ash::Entry::load() }.context("the Vulkan loader")?;
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the structure is complete and outlives the call.
    let instance = unsafe { entry.create_instance(&info, None) }.context("a Vulkan instance")?;
    let done = on(&instance, modules, tell);
    // SAFETY: what was made of it is gone.
    unsafe { instance.destroy_instance(None) };
    done
}

fn on(
    instance: &ash::Instance,
    modules: &[Module],
    mut tell: impl FnMut(Told) -> Result<()>,
) -> Result<()> {
    // SAFETY: the instance is alive.
    let devices = unsafe { instance.enumerate_physical_devices() }.context("Vulkan devices")?;
    let physical = *devices.first().context("the driver shows no device")?;
    // SAFETY: `physical` is of this instance.
    let (properties, features, extensions) = unsafe {
        (
            instance.get_physical_device_properties(physical),
            instance.get_physical_device_features(physical),
            instance.enumerate_device_extension_properties(physical)?,
        )
    };
    let wanted = ash::khr::pipeline_executable_properties::NAME;
    if !extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(wanted)) {
        bail!("{} tells no statistics of its compiler", text(&properties.device_name));
    }
    let priorities = [1.0];
    let queue = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
    let extensions = [wanted.as_ptr()];
    let mut told = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
        .pipeline_executable_info(true);
    let on = vk::PhysicalDeviceFeatures::default().shader_int64(features.shader_int64 != 0);
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queue)
        .enabled_extension_names(&extensions)
        .enabled_features(&on)
        .push_next(&mut told);
    // SAFETY: queue family 0 exists on every device, features and extension are there.
    let device = unsafe { instance.create_device(physical, &info, None) }.context("a device")?;
    let compiler = Compiler {
        statistics: ash::khr::pipeline_executable_properties::Device::new(instance, &device),
        device,
    };
    let done = tell(Told::Device(text(&properties.device_name))).and_then(|()| {
        modules.iter().enumerate().try_for_each(|(number, module)| {
            eprintln!("{MARK}{number}");
            tell(Told::Compiled(compiler.compiled(module)))
        })
    });
    // SAFETY: every object made of it is gone.
    unsafe { compiler.device.destroy_device(None) };
    done
}

struct Compiler {
    device: ash::Device,
    statistics: ash::khr::pipeline_executable_properties::Device,
}

impl Compiler {
    fn compiled(&self, module: &Module) -> Compiled {
        let start = Instant::now();
        let result = self.programs(module);
        let seconds = start.elapsed().as_secs_f64();
        let name = module.name.clone();
        match result {
            Ok(programs) => Compiled { name, failed: None, stopped: None, programs },
            Err(why) => {
                let failed = Some(format!("{why} after {seconds:.1} s"));
                Compiled { name, failed, stopped: None, programs: Vec::new() }
            }
        }
    }

    fn programs(&self, module: &Module) -> Result<Vec<Program>> {
        let device = &self.device;
        let entry = CString::new(module.entry.as_str())?;
        let bindings: Vec<_> = module
            .bindings
            .iter()
            .map(|&(binding, uniform)| {
                let kind = if uniform {
                    vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC
                } else {
                    vk::DescriptorType::STORAGE_BUFFER
                };
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(kind)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        // SAFETY: structures outlive the calls; each object is destroyed once, after its last use,
        // whatever was made of the others.
        unsafe {
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set = device.create_descriptor_set_layout(&info, None)?;
            let sets = [set];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            let layout = device.create_pipeline_layout(&info, None);
            let info = vk::ShaderModuleCreateInfo::default().code(&module.spirv);
            let shader = device.create_shader_module(&info, None);
            let programs = match (&layout, &shader) {
                (&Ok(layout), &Ok(shader)) => self.pipeline(layout, shader, &entry),
                (&Err(why), _) | (_, &Err(why)) => Err(why.into()),
            };
            shader.into_iter().for_each(|shader| device.destroy_shader_module(shader, None));
            layout.into_iter().for_each(|layout| device.destroy_pipeline_layout(layout, None));
            device.destroy_descriptor_set_layout(set, None);
            programs
        }
    }

    fn pipeline(
        &self,
        layout: vk::PipelineLayout,
        shader: vk::ShaderModule,
        entry: &CStr,
    ) -> Result<Vec<Program>> {
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(shader)
            .name(entry);
        let info = [vk::ComputePipelineCreateInfo::default()
            .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
            .stage(stage)
            .layout(layout)];
        // SAFETY: layout and module are of this device and alive.
        let made =
            unsafe { self.device.create_compute_pipelines(vk::PipelineCache::null(), &info, None) };
        let pipeline = made.map_err(|(_, why)| why)?[0];
        let programs = self.told(pipeline);
        // SAFETY: nothing uses it.
        unsafe { self.device.destroy_pipeline(pipeline, None) };
        programs
    }

    fn told(&self, pipeline: vk::Pipeline) -> Result<Vec<Program>> {
        let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
        // SAFETY: the pipeline is alive and was made with its statistics.
        let programs = unsafe { self.statistics.get_pipeline_executable_properties(&info)? };
        let of = |(index, program): (usize, &vk::PipelineExecutablePropertiesKHR<'_>)| {
            let info = vk::PipelineExecutableInfoKHR::default()
                .pipeline(pipeline)
                .executable_index(index as u32);
            // SAFETY: as above, and the index is one of those that were told.
            let found = unsafe { self.statistics.get_pipeline_executable_statistics(&info)? };
            let statistics = found.iter().map(|one| (text(&one.name), value(one))).collect();
            Ok(Program { subgroup: program.subgroup_size, statistics })
        };
        programs.iter().enumerate().map(of).collect()
    }
}

fn value(one: &vk::PipelineExecutableStatisticKHR<'_>) -> f64 {
    use vk::PipelineExecutableStatisticFormatKHR as Format;
    // SAFETY: the format says which field was written.
    unsafe {
        match one.format {
            Format::BOOL32 => f64::from(one.value.b32),
            Format::INT64 => one.value.i64 as f64,
            Format::UINT64 => one.value.u64 as f64,
            _ => one.value.f64,
        }
    }
}

/// A string in an array, up to its end.
fn text(bytes: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_compiler_prints_is_of_the_module_before_it() {
        let one = || Compiled {
            name: "one".into(),
            failed: None,
            stopped: None,
            programs: vec![Program { subgroup: 16, statistics: BTreeMap::new() }],
        };
        let mut found = Found { device: "a chip".into(), compiled: vec![one(), one()] };
        found.add_told(
            "module 0\nSHADER-DB: MESA_SHADER_COMPUTE shader: 12 inst, 0.5 cycles, 2 threads, 0 \
             loops, 3:4 spills:fills\nmodule 1\nsomething else\n",
        );
        let of = |at: usize, name: &str| found.compiled[at].programs[0].statistics.get(name);
        assert_eq!(of(0, "cycles"), Some(&0.5));
        assert_eq!((of(0, "spills"), of(0, "fills")), (Some(&3.0), Some(&4.0)));
        assert_eq!(of(1, "cycles"), None);
    }
}
