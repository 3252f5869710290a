//! The kernels that CKKS has the poly family compile.

use anyhow::Result;
use girih::ckks::{CkksParameters, Encoder};
use girih::contract::ckks::{
    BootstrappingPlan, Chain, ChainShape, RecordedProgram, Recorder, Variant,
};
use girih_backend::DeviceLimits;
use girih_backend::poly::{PolyPlan, lower};
use girih_cuda::{Source, poly_general_sources, poly_general_sources_of, poly_kernel_sources};
use std::sync::Arc;

/// A kernel, what needs it first, and its bytes of dynamic shared memory.
pub struct PolyKernel {
    pub name: String,
    pub source: Source,
    pub shared: usize,
}

/// What a program does, beside its recording.
pub type Named = (String, RecordedProgram);

/// Products, rotations and divisions of a set at some levels, and its bootstrapping if asked for.
pub fn recordings(set: &CkksParameters, bootstrapping: bool) -> Result<Vec<Named>> {
    let chain = Chain::new(ChainShape::from(set))?;
    let top = chain.highest_normal();
    let slots = chain.most_slots();
    let mut all = Vec::new();
    for level in [top, top / 2, 1] {
        let scale = chain.scale(level).unwrap_or(1.0);
        let mut r = Recorder::new(chain.clone());
        let (x, y) = (r.input(level, scale, slots)?, r.input(level, scale, slots)?);
        let z = r.multiply(&x, &y)?;
        let z = r.rescale(&z)?;
        r.output(&z);
        all.push((format!("product, level {level}"), r.finish()));
        let mut r = Recorder::new(chain.clone());
        let x = r.input(level, scale, slots)?;
        let y = r.rotate(&x, 1)?;
        r.output(&y);
        all.push((format!("rotation, level {level}"), r.finish()));
    }
    if let (true, Some(own)) = (bootstrapping, set.bootstrapping()) {
        let encoder = Encoder::new(set.chain().log2_degree())?;
        // As a server chooses it.
        let both = chain.ring().has_invariant();
        let variant = if both { Variant::Invariant } else { Variant::Pair };
        let plan = BootstrappingPlan::new(&chain, slots, own.message_ratio(), variant, &encoder)?;
        let mut r = Recorder::new(chain.clone());
        let start = plan.start(&chain);
        let x = r.input(start, chain.scale(start).unwrap_or(1.0), slots)?;
        let y = r.bootstrap(&x, &plan)?;
        r.output(&y);
        all.push(("bootstrapping".into(), r.finish()));
    }
    Ok(all)
}

/// The kernels that any program of a set's degree can run with, and those that its products,
/// rotations and bootstrapping take beside them on a device with these limits, each once.
///
/// # Errors
/// As [`kernels`].
pub fn general(
    set: &CkksParameters,
    limits: &DeviceLimits,
    plan: &PolyPlan,
) -> Result<Vec<(Source, usize)>> {
    let both_rings = Chain::new(ChainShape::from(set))?.ring().has_invariant();
    let mut all = poly_general_sources(set.chain().log2_degree(), both_rings);
    for (_, recording) in recordings(set, true)? {
        let program = &recording.program;
        let schedule = lower(program, plan, &[])?;
        let own = poly_general_sources_of(program.ring(), limits, &schedule, program.residents())?;
        for (source, shared) in own {
            let is_same = |known: &Source| {
                known.file.name == source.file.name && known.constants == source.constants
            };
            match all.iter_mut().find(|(known, _)| is_same(known)) {
                Some((_, most)) => *most = shared.max(*most),
                None => all.push((source, shared)),
            }
        }
    }
    Ok(all)
}

/// The kernels of a set on a device with these limits, each once.
///
/// # Errors
/// For sets that cannot be recorded, and schedules that do not fit.
pub fn kernels(
    set: &CkksParameters,
    bootstrapping: bool,
    limits: &DeviceLimits,
    plan: &PolyPlan,
) -> Result<Vec<PolyKernel>> {
    let mut all: Vec<PolyKernel> = Vec::new();
    for (what, recording) in recordings(set, bootstrapping)? {
        let ring = Arc::clone(recording.program.ring());
        let schedule = lower(&recording.program, plan, &[])?;
        for (source, shared) in
            poly_kernel_sources(&ring, limits, &schedule, recording.program.residents())?
        {
            if !all.iter().any(|k| {
                k.source.file.name == source.file.name && k.source.constants == source.constants
            }) {
                all.push(PolyKernel { name: format!("{} {what}", set.name()), source, shared });
            }
        }
    }
    Ok(all)
}
