//! Plans of whole ciphertexts a block.

use crate::bootstrap::layout::{
    Geometry, in_registers, ntt_key_chunks, run_entries, unpacked_step_bytes,
};
use crate::bootstrap::plan::key_switch::KeySwitchPlan;
use crate::bootstrap::plan::knobs::{GROUPS, SPREAD, SPREAD_ITEMS, choice, refusal};
use crate::bootstrap::plan::registers::{
    defers_cosines, joins_levels, key_ring, ntt_key_ring, product_registers, ring_fits,
};
use crate::bootstrap::plan::{CudaPlan, Planner, Split};
use girih_backend::bootstrap::tile_of_groups;
use girih_backend::{BootstrapShape, DoesNotFit, PlanRequest, Result, Transform};

/// Barriers that teams can have for themselves.
const NAMED_BARRIERS: usize = 15;
/// Largest N whose transform one block runs.
const MAX_POLYNOMIAL_SIZE: usize = 2048;
/// Shared memory that the driver keeps of each block.
const RESERVED_BYTES: usize = 1024;
/// LWE indices by which the key is asked into L2 ahead of use.
const PREFETCH_STEPS: usize = 3;

/// Bytes of `Tile` (cuda/bootstrap/ntt.cuh, cuda/bootstrap/fft.cuh).
fn shared_bytes(
    shape: &BootstrapShape,
    transform: Transform,
    groups: usize,
    threads: usize,
    gaps: bool,
) -> usize {
    let g = Geometry::new(shape, transform);
    // `STORED_GROUPS`: teams inside a warp stay with it through rounds without a polynomial, on one
    // that nobody reads.
    let teams = threads / g.team;
    let rounds = (groups * shape.columns()).div_ceil(teams);
    let stored_groups =
        if g.team < 32 { (rounds * teams).div_ceil(shape.columns()) } else { groups };
    let polynomials = stored_groups * shape.columns();
    let accumulators = if in_registers(shape, &g, groups, threads) {
        0
    } else {
        polynomials * shape.polynomial_size * g.held_bytes
    };
    let rotations = (groups * shape.switched_len()).next_multiple_of(8) * 2;
    let slots = polynomials * shape.levels() * g.points;
    let (slots, tables) = match transform {
        Transform::Ntt => {
            (slots * 4 * g.words, g.words * (g.second_radix * 16 * 8 + shape.polynomial_size * 4))
        }
        Transform::Fft => {
            let groups_of_frequencies = g.points / g.tail;
            let bases = 2 * groups * shape.grouping * groups_of_frequencies / 32;
            // Sixteen complex numbers are followed by a gap (`LINE` of cuda/bootstrap/tile.cuh).
            let slots = if gaps { slots / 16 * 17 } else { slots };
            (slots * 16, (8 * 16 + 32 * g.tail + g.tail / 2 * groups_of_frequencies + bases) * 16)
        }
    };
    (slots + tables + accumulators + rotations).next_multiple_of(16)
}

/// Blocks that begin each step together, where clusters exist: what blocks that share much of a key
/// gain by staying together. Lighter keys lose what waiting costs, and so do packed ones and blocks
/// of one ciphertext. Four together were slower wherever tried.
fn model_pace(shape: &BootstrapShape, transform: Transform, groups: usize, packed: bool) -> usize {
    let heavy = transform == Transform::Fft && unpacked_step_bytes(shape) > 512 << 10;
    if heavy && groups > 1 && !packed { 2 } else { 1 }
}

impl Planner<'_> {
    /// Plans whole ciphertexts a block within the limits, keeping what `request` fixes.
    ///
    /// # Errors
    /// `DoesNotFit` with the bound that is exceeded; `Unsupported` for shapes and requests that
    /// these kernels do not know.
    pub fn whole(&self, request: &PlanRequest) -> Result<CudaPlan> {
        let Self { device, shape, transform, cluster, .. } = *self;
        self.check(request)?;
        if shape.polynomial_size > MAX_POLYNOMIAL_SIZE {
            return Err(self.unsupported(
                format!("N = {} in one block", shape.polynomial_size),
                "one block runs N up to 2048; larger rings are spread over the blocks of a \
                 cluster, which needs sm_90 or above",
            ));
        }
        let geometry = Geometry::new(shape, transform);
        // 64-bit accumulators and tails of four leave no registers for a second ciphertext; three
        // blocks take turns instead. So they do on the torus, whose key is light.
        let wide_tails =
            transform == Transform::Fft && geometry.held_bytes == 8 && geometry.tail == 4;
        let all = match transform {
            // Several small blocks hide each other's waits better than a large one, unless the key
            // of many columns weighs more than its transforms.
            Transform::Ntt if shape.columns() >= 8 => vec![2, 1],
            Transform::Ntt => vec![1, 2, 3, 4],
            // Keys of pairs are not light, and two share them. Triples have no registers for that.
            Transform::Fft if shape.grouping == 2 => vec![2, 1],
            Transform::Fft if shape.grouping > 2 || wide_tails || shape.is_torus() => vec![1],
            Transform::Fft => vec![4, 3, 2, 1],
        };
        let candidates: Vec<usize> =
            request.groups.or(choice(request, GROUPS)).map_or(all, |g| vec![g]);
        // Of the fewest ciphertexts: no other plan needs less.
        let mut refused: Option<(usize, DoesNotFit)> = None;
        let mut best: Option<(usize, CudaPlan)> = None;
        for groups in candidates {
            match self.with_groups(request, groups) {
                Ok(plan) => {
                    let teams = plan.threads / geometry.team;
                    let cost = match transform {
                        // The most ciphertexts on a multiprocessor; of equals the first.
                        Transform::Ntt => usize::MAX - groups * plan.blocks_per_multiprocessor,
                        // Rounds of transforms a ciphertext, in twelfths; of equals the first,
                        // which shares keys among more.
                        Transform::Fft => {
                            12 * (groups * shape.columns()).div_ceil(teams) / groups.max(1)
                        }
                    };
                    if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                        best = Some((cost, plan));
                    }
                }
                Err(_) if refused.as_ref().is_some_and(|(least, _)| *least < groups) => {}
                Err(reason) => refused = Some((groups, reason)),
            }
        }
        if let Some((_, mut plan)) = best {
            // Without clusters no block can wait for another.
            plan.pace = plan.pace.min(cluster);
            if let Some(pace) = choice(request, "pace").filter(|&pace| pace > cluster) {
                let why = format!(
                    "clusters have at most {cluster} blocks there (several need sm_90 or above)"
                );
                return Err(refusal(device, "pace", pace, why));
            }
            // Whether and how ciphertexts are spread, and how many a block serves,
            // was decided before.
            for (name, &value) in request
                .choices
                .iter()
                .filter(|(name, _)| ![SPREAD, SPREAD_ITEMS, GROUPS].contains(&name.as_str()))
            {
                self.choose(&mut plan, name, value as usize)?;
            }
            return Ok(plan);
        }
        let none = || DoesNotFit::Transform {
            transform,
            why: "a block serves at least one ciphertext".into(),
        };
        Err(self.does_not_fit(refused.map_or_else(none, |(_, reason)| reason)))
    }

    fn with_groups(&self, request: &PlanRequest, groups: usize) -> Result<CudaPlan, DoesNotFit> {
        let Self { shape, transform, limits, .. } = *self;
        let geometry = Geometry::new(shape, transform);
        let threads = self.threads_of_block(request, groups, &geometry);
        // As many frequencies for each thread, so that keys can be in flight: for one ciphertext
        // that is worth teams without a polynomial, and the slots that these have.
        let even = threads.next_power_of_two();
        let is_open = transform == Transform::Fft
            && groups == 1
            && request.subgroups_per_polynomial.is_none();
        let fits =
            shared_bytes(shape, transform, groups, even, false) <= limits.workgroup_memory_bytes;
        let threads = if is_open && fits { even } else { threads };
        let registers = product_registers(shape, transform, groups);
        let transform_registers = if transform == Transform::Fft { 96 } else { 48 };
        // Many rows keep more in flight: three blocks of 164 registers beat four of 128.
        let many_rows = transform == Transform::Ntt && shape.levels() * shape.columns() > 6;
        let others = if many_rows || shape.grouping > 1 { 80 } else { 48 };
        let by_registers = 65_536
            / (threads
                * (registers.max(transform_registers) + others).next_multiple_of(8).min(255));
        // Blocks that one multiprocessor runs at once.
        let resident = |bytes: usize| {
            ((limits.workgroup_memory_bytes + RESERVED_BYTES) / (bytes + RESERVED_BYTES))
                .min(by_registers)
                .min(4)
        };
        let bytes = |gaps| shared_bytes(shape, transform, groups, threads, gaps);
        // Gaps save addresses; they are not worth a block.
        let gaps = transform == Transform::Fft
            && geometry.second_radix == 16
            && resident(bytes(true)) == resident(bytes(false));
        let bytes = bytes(gaps);
        if bytes > limits.workgroup_memory_bytes {
            return Err(DoesNotFit::Memory {
                tile: tile_of_groups(shape, groups),
                needed: bytes,
                available: limits.workgroup_memory_bytes,
            });
        }
        // A request is taken as it is; the model only chooses among what it may.
        let most = if transform == Transform::Fft { 180 } else { 96 };
        if request.groups.is_none() && groups > 1 && registers > most {
            return Err(DoesNotFit::Transform {
                transform,
                why: format!("{groups} ciphertexts a block need {registers} registers"),
            });
        }
        let packed = self.packs(request);
        let key_ring = match transform {
            Transform::Ntt => {
                ntt_key_ring(shape, &geometry, groups, threads, resident(bytes).max(1))
            }
            Transform::Fft => key_ring(shape, &geometry, groups, threads, packed),
        };
        Ok(CudaPlan {
            transform,
            split: Split::Ciphertexts(groups),
            threads,
            blocks_per_multiprocessor: resident(bytes).max(1),
            shared_bytes: bytes,
            key_ring,
            packed,
            prefetch_steps: PREFETCH_STEPS,
            key_switch: KeySwitchPlan::new(shape, limits),
            multiprocessors: limits.multiprocessors,
            pace: model_pace(shape, transform, groups, packed),
            gaps,
            defer_cosines: defers_cosines(shape, &geometry, groups, threads),
            join_levels: transform == Transform::Fft
                && joins_levels(shape, &geometry, groups, threads),
            spread_items: 4,
        })
    }

    fn threads_of_block(&self, request: &PlanRequest, groups: usize, geometry: &Geometry) -> usize {
        let Self { shape, transform, limits, .. } = *self;
        let step = geometry.team.max(32);
        // Enough for the product phase, no more than there are polynomials to transform.
        let useful = (groups * shape.columns() * geometry.team)
            .min(geometry.frequency_items(transform))
            .min(256);
        let wanted = request
            .subgroups_per_polynomial
            .map_or(useful, |warps| groups * shape.columns() * warps * 32);
        let most = if geometry.team > 32 {
            NAMED_BARRIERS * geometry.team
        } else {
            limits.workgroup_threads
        };
        wanted.next_multiple_of(step).min(most).min(limits.workgroup_threads / step * step)
    }
}

impl Planner<'_> {
    /// Takes one choice of `KNOBS` that is within its range.
    fn choose(&self, plan: &mut CudaPlan, name: &str, value: usize) -> Result<()> {
        let Self { device, shape, transform, .. } = *self;
        let refuse = |why: String| Err(refusal(device, name, value, why));
        match name {
            "blocks" => plan.blocks_per_multiprocessor = value,
            "cosines" if value == 1 && transform == Transform::Ntt => {
                return refuse("the integer transform has none".into());
            }
            "cosines" => plan.defer_cosines = value == 1,
            "gaps" if value == 1 && !plan.gaps => {
                return refuse("gaps need the f64 FFT, N of 512 or more, and memory".into());
            }
            "gaps" => {
                plan.gaps = value == 1;
                let groups = plan.split.ciphertexts();
                plan.shared_bytes = shared_bytes(shape, transform, groups, plan.threads, plan.gaps);
            }
            "pace" => plan.pace = value,
            "prefetch" => plan.prefetch_steps = value,
            "ring" => return self.choose_ring(plan, value),
            _ => return self.choose_for_both(plan, name, value),
        }
        Ok(())
    }

    fn choose_ring(&self, plan: &mut CudaPlan, value: usize) -> Result<()> {
        let Self { device, shape, transform, .. } = *self;
        let geometry = Geometry::new(shape, transform);
        let run = match transform {
            Transform::Ntt => ntt_key_chunks(shape, &geometry),
            Transform::Fft => run_entries(shape, &geometry),
        };
        // What a ring reads behind the key stays inside its slack.
        if value > 16 && !plan.packed {
            return Err(refusal(device, "ring", value, "it may be 0 to 16 of such entries".into()));
        }
        let fits = ring_fits(&geometry, plan.threads, plan.packed)
            && run.is_multiple_of(value.max(1))
            && !(plan.packed && value % 2 == 1);
        if value > 0 && !fits {
            let why = format!(
                "a ring needs as many frequencies for each thread, and a divisor of its {run} \
                 entries"
            );
            return Err(refusal(device, "ring", value, why));
        }
        plan.key_ring = value;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::limits::limits_of;
    use girih_backend::{Gadget, KeyModulus, SecretKind};

    fn shape(polynomial_size: usize, glwe_dimension: usize, packing: usize) -> BootstrapShape {
        let words = girih_ring::ntt_prime_pair_above(41, 2 * polynomial_size as u32);
        BootstrapShape {
            lwe_dimension: 512,
            log2_lwe_modulus: 9,
            polynomial_size,
            glwe_dimension,
            packing,
            secret: SecretKind::Ternary,
            grouping: 1,
            gadget: Gadget::ModulusRaising { log2_modulus: 18 },
            key_modulus: KeyModulus::Words(words.expect("a pair").to_vec()),
            log2_ks_modulus: 14,
            log2_ks_base: 7,
        }
    }

    /// Table 8 of the BOLT-FHE paper: the largest k + r in 100 KB of shared memory and 1,024
    /// threads, where all accumulators lie in shared memory as 64-bit words beside two staged
    /// polynomials and the exponents. The packings that the paper runs fit a block here as well, on
    /// a card of the same kind.
    #[test]
    fn packings_of_bolts_table_8_fit() {
        let limits = limits_of(89);
        for (size, most, run) in
            [(512, 22, &[(3, 5)][..]), (1024, 10, &[(1, 3), (2, 4), (3, 5)]), (2048, 4, &[(1, 2)])]
        {
            let of_paper = |columns: usize| 8 * size * (columns + 2) + 2 * 512;
            let available = 100 * 1024;
            assert!(of_paper(most) <= available && of_paper(most + 1) > available, "N = {size}");
            for &(k, r) in run {
                assert!(k + r <= most, "N = {size}, k = {k}, r = {r}");
                let shape = shape(size, k, r);
                let open = PlanRequest::default();
                let plan = |transform| {
                    let (device, shape, limits) = ("cuda", &shape, &limits);
                    Planner { device, shape, transform, limits, cluster: 1 }.whole(&open).ok()
                };
                // By one of the transforms at least.
                let plan = plan(Transform::Fft).or(plan(Transform::Ntt));
                assert!(
                    plan.is_some_and(|p| p.threads <= 1024 && p.shared_bytes <= available),
                    "N = {size}, k = {k}, r = {r}"
                );
            }
        }
    }
}
