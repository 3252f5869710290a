//! `cargo xtask rates`: what an adapter's arithmetic and exchanges cost, the figures behind the
//! choice of transform and of exchanges.
//!
//! ```text
//! rates DEVICE_NUMBER
//! ```
//! Every row is a kernel of nothing but one operation, timed by the host over launches long enough
//! to hide them.

use crate::Rest;
use std::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const THREADS: u32 = 128;
/// Steps of a thread's loop.
const STEPS: u32 = 4096;
/// Independent chains of a thread.
const CHAINS: u32 = 8;

struct Row {
    name: &'static str,
    features: wgpu::Features,
    /// Declarations, then what a chain holds, then one step of chain `x_C`.
    globals: &'static str,
    start: &'static str,
    step: &'static str,
    /// What turns a chain into a u32.
    end: &'static str,
    /// Operations that a step counts as.
    operations: f64,
}

/// One butterfly stage of radix 2 across lanes, by shuffles and by workgroup memory: both move
/// every value of a chain once.
const ROWS: [Row; 7] = [
    Row {
        name: "f64 fused multiply-add",
        features: wgpu::Features::SHADER_F64,
        globals: "",
        start: "f64(t + C)",
        step: "x_C = fma(x_C, f64(0.999lf), f64(0.5lf));",
        end: "u32(x_C)",
        operations: 1.0,
    },
    Row {
        name: "f32 fused multiply-add",
        features: wgpu::Features::empty(),
        globals: "",
        start: "f32(t + C)",
        step: "x_C = fma(x_C, 0.999f, 0.5f);",
        end: "u32(x_C)",
        operations: 1.0,
    },
    Row {
        name: "u32 multiply-add",
        features: wgpu::Features::empty(),
        globals: "",
        start: "t + Cu",
        step: "x_C = x_C * 2654435761u + m;",
        end: "x_C",
        operations: 1.0,
    },
    Row {
        name: "product by a constant, signed, int64",
        features: wgpu::Features::SHADER_INT64,
        globals: "",
        start: "i32(t) + C",
        step: "x_C = x_C * 51234567 - i32((i64(x_C) * 1639506007li) >> 32u) * 134215681;",
        end: "u32(x_C)",
        operations: 1.0,
    },
    Row {
        name: "product by a constant, signed, core",
        features: wgpu::Features::empty(),
        globals: "fn quotient(x: i32) -> i32 { \
                  let low = (x << 16u) >> 16u; let high = (x + 0x8000) >> 16u; \
                  return high * 25017 + ((high * -8105 + (low * 25017 + 0x8000)) >> 16u); }",
        start: "i32(t) + C",
        step: "x_C = x_C * 51234567 - quotient(x_C) * 134215681;",
        end: "u32(x_C)",
        operations: 1.0,
    },
    Row {
        name: "exchange by subgroupShuffleXor",
        features: wgpu::Features::SUBGROUP,
        globals: "",
        start: "t + Cu",
        step: "x_C = subgroupShuffleXor(x_C, 1u << ((i + Cu) & 3u)) + m;",
        end: "x_C",
        operations: 1.0,
    },
    Row {
        name: "exchange by workgroup memory, barrier included",
        features: wgpu::Features::empty(),
        globals: "var<workgroup> shared_words: array<u32, 1056>;",
        start: "t + Cu",
        step: "",
        end: "x_C",
        operations: 1.0,
    },
];

fn wgsl(row: &Row) -> String {
    let chains =
        |text: &str| (0..CHAINS).map(|c| text.replace('C', &c.to_string())).collect::<Vec<_>>();
    let starts: String = chains(row.start)
        .iter()
        .enumerate()
        .map(|(c, s)| format!("    var x_{c} = {s};\n"))
        .collect();
    let steps = if row.step.is_empty() {
        // Written where it was last read, as the transform does: one barrier an exchange.
        let write = chains("        shared_words[place + Cu * 128u] = x_C;\n").concat();
        let read = chains("        x_C = shared_words[source + Cu * 128u] + m;\n").concat();
        format!(
            "        let source = t ^ ((i + 1u) & 15u); let place = t ^ (i & 15u);\n{write}        \
             workgroupBarrier();\n{read}"
        )
    } else {
        chains(row.step).iter().map(|s| format!("        {s}\n")).collect()
    };
    let ends = chains(row.end).join(" ^ ");
    format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n{}\n\
         @compute @workgroup_size({THREADS})\nfn main(@builtin(workgroup_id) g: vec3<u32>, \
         @builtin(local_invocation_index) t: u32) {{\n\
         \x20   let m = out[0];\n{starts}    for (var i = 0u; i < {STEPS}u; i++) {{\n{steps}    \
         }}\n    out[1u + g.x * {THREADS}u + t] = {ends};\n}}\n",
        row.globals
    )
}

fn measure(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    row: &Row,
    groups: u32,
) -> Result<f64, Box<dyn std::error::Error>> {
    let source = wgsl(row);
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(row.name),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(row.name),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        },
        cache: None,
    });
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4 * u64::from(1 + groups * THREADS),
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
    });
    let mut best = f64::INFINITY;
    for _ in 0..4 {
        let start = Instant::now();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &bind_group, &[]);
            pass.dispatch_workgroups(groups, 1, 1);
        }
        queue.submit([encoder.finish()]);
        device.poll(wgpu::PollType::wait_indefinitely())?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(row.operations * f64::from(groups) * f64::from(THREADS * CHAINS) * f64::from(STEPS) / best)
}

/// What `cargo xtask rates` runs.
///
/// # Errors
/// What went wrong, in words.
pub fn run(arguments: &Rest) -> anyhow::Result<bool> {
    start(&arguments.words).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(true)
}

fn start(arguments: &[String]) -> Outcome {
    let number: usize = arguments.first().map_or(Ok(0), |number| number.parse())?;
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let adapter = adapters.get(number).ok_or(format!("there are {} adapters", adapters.len()))?;
    let software = adapter.get_info().device_type == wgpu::DeviceType::Cpu;
    println!("{} ({})", adapter.get_info().name, adapter.get_info().driver_info);
    for row in &ROWS {
        if !adapter.features().contains(row.features) {
            println!("{:<50} absent", row.name);
            continue;
        }
        let descriptor =
            wgpu::DeviceDescriptor { required_features: row.features, ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
        let rate = measure(&device, &queue, row, if software { 8 } else { 16_384 })?;
        println!("{:<50} {rate:10.3e} a second", row.name);
    }
    Ok(())
}
