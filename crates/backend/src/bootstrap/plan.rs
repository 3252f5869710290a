//! The tile plan: what lives on chip while one bootstrapping runs, decided before launch and never
//! by trial.
//!
//! One workgroup runs `groups` CM ciphertexts side by side, each with `K = k + r` accumulator
//! polynomials. A plan says where accumulators live, how many polynomials are staged for the
//! transform's exchanges at once, and how many threads share one polynomial; from that follow bytes
//! and threads, and the bound that binds. Digits are *staged*: one exchange area serves all of them
//! in turn, so workgroup memory does not grow with the number of digits.

use crate::{BootstrapShape, DeviceLimits, DoesNotFit, KeyModulus, Transform};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where the accumulator lives from initialisation to extraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccumulatorHome {
    /// In registers; workgroup memory holds only exchanges.
    Registers,
    /// In workgroup memory.
    Workgroup,
}

/// How a kernel lays its tile out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileLayout {
    /// Where accumulators live.
    pub accumulator: AccumulatorHome,
    /// Bytes of one accumulator coefficient.
    pub accumulator_bytes: usize,
    /// Bytes that one coefficient takes in the exchange area (4 a word for the NTT, 8 for the
    /// folded FFT: 16 a complex point, N/2 points).
    pub exchange_bytes: usize,
    /// Polynomials in the exchange area at once, for each ciphertext group.
    pub staged: usize,
    /// Bytes of one rotation amount if all n are kept on chip, else 0.
    pub rotation_bytes: usize,
    /// Whether each of the K polynomials has threads of its own (else one set of threads serves all
    /// in turn).
    pub threads_per_column: bool,
}

impl TileLayout {
    /// The layout of the BOLT-FHE paper: 64-bit words, all K accumulators in shared memory beside
    /// two staged polynomials (one digit, one product), rotation amounts kept, a set of warps for
    /// each polynomial.
    ///
    /// It reproduces the r ranges of the paper's Table 8 on 100 KB and 1,024 threads.
    pub const BOLT: Self = Self {
        accumulator: AccumulatorHome::Workgroup,
        accumulator_bytes: 8,
        exchange_bytes: 8,
        staged: 2,
        rotation_bytes: 2,
        threads_per_column: true,
    };

    /// The layout of girih's kernels for `shape`: accumulators in registers,
    /// one set of threads a group.
    pub fn for_shape(shape: &BootstrapShape, transform: Transform) -> Self {
        let words = match &shape.key_modulus {
            KeyModulus::Words(words) => words.len(),
            KeyModulus::Torus64 => 2,
        };
        let accumulator_words =
            if shape.accumulator_modulus().is_some_and(|q| q < 1 << 31) { 1 } else { 2 };
        Self {
            accumulator: AccumulatorHome::Registers,
            accumulator_bytes: 4 * accumulator_words,
            exchange_bytes: match transform {
                Transform::Ntt => 4 * words,
                Transform::Fft => 8,
            },
            staged: 1,
            rotation_bytes: 0,
            threads_per_column: false,
        }
    }
}

/// Constraints on a plan; everything left open is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRequest {
    /// Tile layout.
    pub layout: Option<TileLayout>,
    /// Subgroups (warps) that share one polynomial (BOLT's WPP).
    pub subgroups_per_polynomial: Option<usize>,
    /// Ciphertext groups of one workgroup, which share each key load.
    pub groups: Option<usize>,
    /// LWE indices per launch, for drivers that stop long kernels; the accumulator is parked in
    /// memory between launches.
    pub steps_per_launch: Option<usize>,
    /// Choices that only one kind of device knows, under the names it gives them
    /// ([`crate::bootstrap::Loader::alternatives`] lists them, as does its documentation). A name
    /// or value that the device does not know is refused.
    #[serde(default)]
    pub choices: BTreeMap<String, u32>,
}

impl std::fmt::Display for PlanRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers = [
            ("staged", self.layout.as_ref().map(|l| l.staged)),
            ("subgroups", self.subgroups_per_polynomial),
            ("groups", self.groups),
            ("steps", self.steps_per_launch),
        ];
        let named =
            numbers.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        let all: Vec<String> = named
            .chain(self.choices.iter().map(|(name, value)| format!("{name}={value}")))
            .collect();
        f.write_str(if all.is_empty() { "model" } else { "" })?;
        f.write_str(&all.join(" "))
    }
}

/// A plan that fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TilePlan {
    /// How polynomials are multiplied.
    pub transform: Transform,
    /// Tile layout.
    pub layout: TileLayout,
    /// Ciphertext groups of one workgroup.
    pub groups: usize,
    /// Subgroups that share one polynomial (BOLT's WPP).
    pub subgroups_per_polynomial: usize,
    /// Transform points that one thread holds (BOLT's IPT): coefficients for the NTT, complex
    /// points for the FFT.
    pub items_per_thread: usize,
    /// Threads of one workgroup.
    pub workgroup_threads: usize,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: usize,
    /// LWE indices per launch.
    pub steps_per_launch: usize,
}

/// A tile of so many ciphertext groups in words, for [`DoesNotFit::Memory`].
pub fn tile_of_groups(shape: &BootstrapShape, groups: usize) -> String {
    format!(
        "the tile (N = {}, k + r = {}, {groups} groups)",
        shape.polynomial_size,
        shape.columns()
    )
}

/// A tile whose polynomials are shared by so many subgroups in words, for [`DoesNotFit::Threads`].
pub fn tile_of_subgroups(shape: &BootstrapShape, subgroups: usize) -> String {
    format!(
        "the tile (N = {}, k + r = {}, {subgroups} subgroups a polynomial)",
        shape.polynomial_size,
        shape.columns()
    )
}

impl TilePlan {
    /// Plans the tile of `shape` within `limits`: a pure function, so that plans can be tested
    /// without a device.
    ///
    /// # Errors
    /// The first bound that is exceeded, with what was needed and what there is.
    pub fn new(
        shape: &BootstrapShape,
        transform: Transform,
        limits: &DeviceLimits,
        request: &PlanRequest,
    ) -> Result<Self, DoesNotFit> {
        let size = shape.polynomial_size;
        if transform == Transform::Ntt && shape.key_modulus == KeyModulus::Torus64 {
            return Err(DoesNotFit::Transform {
                transform,
                why: "2^64 has no roots of unity; use the f64 transform".into(),
            });
        }
        let layout =
            request.layout.clone().unwrap_or_else(|| TileLayout::for_shape(shape, transform));
        let groups = request.groups.unwrap_or(1);
        let points = match transform {
            Transform::Ntt => size,
            Transform::Fft => size / 2,
        };
        let sets = if layout.threads_per_column { shape.columns() } else { 1 };
        // 8 points a thread keep a radix-8 pass in registers;
        // fewer threads than a subgroup would idle.
        let subgroups_per_polynomial = request
            .subgroups_per_polynomial
            .unwrap_or_else(|| (points / 8).div_ceil(limits.subgroup_threads).max(1));
        let threads_per_polynomial = subgroups_per_polynomial * limits.subgroup_threads;
        let plan = Self {
            transform,
            items_per_thread: points.div_ceil(threads_per_polynomial),
            workgroup_threads: threads_per_polynomial * sets * groups,
            workgroup_bytes: Self::bytes(shape, &layout, groups),
            subgroups_per_polynomial,
            layout,
            groups,
            steps_per_launch: request.steps_per_launch.unwrap_or(shape.steps()),
        };
        if plan.workgroup_bytes > limits.workgroup_memory_bytes {
            return Err(DoesNotFit::Memory {
                tile: tile_of_groups(shape, groups),
                needed: plan.workgroup_bytes,
                available: limits.workgroup_memory_bytes,
            });
        }
        if plan.workgroup_threads > limits.workgroup_threads {
            return Err(DoesNotFit::Threads {
                tile: tile_of_subgroups(shape, subgroups_per_polynomial),
                needed: plan.workgroup_threads,
                available: limits.workgroup_threads,
            });
        }
        Ok(plan)
    }

    fn bytes(shape: &BootstrapShape, layout: &TileLayout, groups: usize) -> usize {
        let accumulators = match layout.accumulator {
            AccumulatorHome::Registers => 0,
            AccumulatorHome::Workgroup => {
                shape.columns() * shape.polynomial_size * layout.accumulator_bytes
            }
        };
        let staged = layout.staged * shape.polynomial_size * layout.exchange_bytes;
        groups * (accumulators + staged + layout.rotation_bytes * shape.lwe_dimension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gadget, SecretKind};

    /// 100 KB of shared memory and 1,024 threads:
    /// what BOLT's Table 8 was measured within (RTX 4090).
    fn ada() -> DeviceLimits {
        DeviceLimits {
            workgroup_memory_bytes: 100 * 1024,
            workgroup_threads: 1024,
            subgroup_threads: 32,
            binding_bytes: u64::MAX,
            multiprocessors: 128,
        }
    }

    fn shape(size: usize, k: usize, r: usize) -> BootstrapShape {
        let words = girih_ring::ntt_prime_pair_above(41, 2 * size as u32).expect("a pair").to_vec();
        BootstrapShape {
            lwe_dimension: 512,
            log2_lwe_modulus: 10,
            polynomial_size: size,
            glwe_dimension: k,
            packing: r,
            secret: SecretKind::Ternary,
            grouping: 1,
            gadget: Gadget::ModulusRaising { log2_modulus: 18 },
            key_modulus: KeyModulus::Words(words),
            log2_ks_modulus: 14,
            log2_ks_base: 7,
        }
    }

    fn bolt(
        size: usize,
        columns: usize,
        wpp: usize,
        limits: &DeviceLimits,
    ) -> Result<TilePlan, DoesNotFit> {
        let request = PlanRequest {
            layout: Some(TileLayout::BOLT),
            subgroups_per_polynomial: Some(wpp),
            ..Default::default()
        };
        // k beyond 4 is no valid shape, but the budget depends on k + r alone.
        TilePlan::new(&shape(size, 1, columns - 1), Transform::Ntt, limits, &request)
    }

    #[test]
    fn memory_alone_bounds_columns_at_22_10_and_4() {
        let unlimited_threads = DeviceLimits { workgroup_threads: usize::MAX, ..ada() };
        for (size, most) in [(512, 22), (1024, 10), (2048, 4)] {
            let plan = bolt(size, most, 2, &unlimited_threads).expect("the published maximum fits");
            assert!(plan.workgroup_bytes <= 100 * 1024);
            let error = bolt(size, most + 1, 2, &unlimited_threads).expect_err("one more does not");
            let beyond = format!("k + r = {},", most + 1);
            assert!(
                matches!(&error, DoesNotFit::Memory { tile, .. } if tile.contains(&beyond)),
                "{error}"
            );
        }
    }

    #[test]
    fn threads_bind_at_16_columns_for_two_warps_a_polynomial() {
        // N = 512: memory would allow 22, 32 warps allow 32 / WPP.
        for (wpp, most) in [(2, 16), (4, 8), (1, 22)] {
            bolt(512, most, wpp, &ada()).expect("fits");
            let error = bolt(512, most + 1, wpp, &ada()).expect_err("one more does not");
            match error {
                DoesNotFit::Threads { .. } => assert!(wpp > 1),
                DoesNotFit::Memory { .. } => assert_eq!(wpp, 1),
                DoesNotFit::Transform { .. } => panic!("{error}"),
            }
        }
        // N = 1024 and 2048: memory binds first at WPP 2.
        assert!(matches!(bolt(1024, 11, 2, &ada()), Err(DoesNotFit::Memory { .. })));
        assert!(matches!(bolt(2048, 5, 2, &ada()), Err(DoesNotFit::Memory { .. })));
    }

    #[test]
    fn the_packings_bolt_runs_fit_its_limits() {
        for (size, k, r) in
            [(1024, 1, 3), (2048, 1, 2), (512, 3, 5), (1024, 2, 4), (1024, 3, 5), (2048, 1, 2)]
        {
            bolt(size, k + r, 2, &ada())
                .unwrap_or_else(|e| panic!("N = {size}, k = {k}, r = {r}: {e}"));
        }
    }

    #[test]
    fn workgroup_memory_does_not_grow_with_digits() {
        let gd = |log2_base, levels| BootstrapShape {
            gadget: Gadget::Decomposition { log2_base, levels, dropped_bits: log2_base },
            key_modulus: KeyModulus::Words(vec![134_215_681]),
            ..shape(1024, 1, 1)
        };
        let bytes = |s| {
            TilePlan::new(&s, Transform::Ntt, &ada(), &PlanRequest::default())
                .expect("fits")
                .workgroup_bytes
        };
        assert_eq!(bytes(gd(9, 2)), bytes(gd(5, 5)));
    }

    #[test]
    fn one_word_sets_fit_default_webgpu_limits() {
        let webgpu = DeviceLimits {
            workgroup_memory_bytes: 16_384,
            workgroup_threads: 256,
            subgroup_threads: 32,
            binding_bytes: 128 << 20,
            multiprocessors: 1,
        };
        let std128 = BootstrapShape {
            gadget: Gadget::Decomposition { log2_base: 7, levels: 3, dropped_bits: 7 },
            key_modulus: KeyModulus::Words(vec![134_215_681]),
            ..shape(1024, 1, 1)
        };
        assert!(TilePlan::new(&std128, Transform::Ntt, &webgpu, &PlanRequest::default()).is_ok());
        // Two words of N = 4096 need 32 KiB for one exchange.
        let error =
            TilePlan::new(&shape(4096, 1, 1), Transform::Ntt, &webgpu, &PlanRequest::default())
                .expect_err("too large");
        assert!(
            matches!(error, DoesNotFit::Memory { needed: 32_768, available: 16_384, .. }),
            "{error}"
        );
    }

    #[test]
    fn the_torus_has_no_ntt() {
        let torus = BootstrapShape {
            key_modulus: KeyModulus::Torus64,
            gadget: Gadget::ClosestRepresentative { log2_base: 23, levels: 1 },
            ..shape(2048, 1, 1)
        };
        assert!(matches!(
            TilePlan::new(&torus, Transform::Ntt, &ada(), &PlanRequest::default()),
            Err(DoesNotFit::Transform { .. })
        ));
        assert!(TilePlan::new(&torus, Transform::Fft, &ada(), &PlanRequest::default()).is_ok());
    }
}
