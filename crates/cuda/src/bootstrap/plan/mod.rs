//! How one shape is laid over the device: ciphertexts, blocks, threads, shared memory. Pure
//! functions of shape and limits.
//!
//! | module | what |
//! |---|---|
//! | `knobs` | the names and values of what a caller may choose |
//! | `registers` | models of what a thread's registers leave room for |
//! | `key_switch` | how the key switch behind a rotation is cut into blocks |
//! | this one | [`CudaPlan`], what every split has; `Planner`, what it is made for |
//! | `ciphertexts` | plans of whole ciphertexts a block |
//! | `blocks` | plans of one ciphertext on several blocks |
//! | `candidates` | the plans that a shape loads beside each other, and those worth measuring |

pub(crate) mod blocks;
pub(crate) mod candidates;
pub(crate) mod ciphertexts;
pub(crate) mod key_switch;
pub(crate) mod knobs;
pub(crate) mod registers;

use crate::bootstrap::layout::{
    TORUS_BITS, ks_word_bytes, packed_exponent, step_bytes, unpacked_step_bytes,
};
use crate::bootstrap::plan::key_switch::KeySwitchPlan;
use crate::bootstrap::plan::knobs::{choice, refusal};
use girih_backend::{
    BackendError, BootstrapShape, DeviceLimits, DoesNotFit, PlanRequest, Result, Transform,
};

/// What plans are made for: one device and one shape with one transform.
#[derive(Clone, Copy)]
pub(crate) struct Planner<'a> {
    /// The name of the device, for refusals.
    pub device: &'a str,
    pub shape: &'a BootstrapShape,
    pub transform: Transform,
    pub limits: &'a DeviceLimits,
    /// Most blocks of a cluster (1: no clusters).
    pub cluster: usize,
}

/// How ciphertexts are divided among blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// So many ciphertexts a block, which share each key load (`cuda/bootstrap/blind_rotate.cu`).
    Ciphertexts(usize),
    /// So many blocks, a cluster, for each ciphertext (`cuda/bootstrap/blind_rotate_spread.cu`).
    Blocks(usize),
}

impl Split {
    /// Ciphertexts of a block, whole or in part.
    pub fn ciphertexts(self) -> usize {
        match self {
            Self::Ciphertexts(ciphertexts) => ciphertexts,
            Self::Blocks(_) => 1,
        }
    }

    /// Blocks of a ciphertext.
    pub fn blocks(self) -> usize {
        match self {
            Self::Ciphertexts(_) => 1,
            Self::Blocks(blocks) => blocks,
        }
    }

    /// Whether blocks share a ciphertext.
    pub fn is_spread(self) -> bool {
        matches!(self, Self::Blocks(_))
    }
}

impl std::fmt::Display for Split {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ciphertexts(ciphertexts) => write!(f, "ciphertexts_{ciphertexts}"),
            Self::Blocks(blocks) => write!(f, "blocks_{blocks}"),
        }
    }
}

/// A plan that fits, in the terms of `cuda/bootstrap/tile.cuh` and `cuda/bootstrap/spread.cuh`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaPlan {
    /// How polynomials are multiplied.
    pub transform: Transform,
    /// How ciphertexts are divided among blocks.
    pub split: Split,
    /// Threads of a block of the rotation.
    pub threads: usize,
    /// Blocks that one multiprocessor runs at once: what bounds the registers of a thread.
    pub blocks_per_multiprocessor: usize,
    /// Bytes of shared memory of a block.
    pub shared_bytes: usize,
    /// Key entries of 16 bytes that a thread has in flight, also during the transforms (0: as the
    /// compiler likes).
    pub key_ring: usize,
    /// Whether key entries take 12 bytes instead of 16 (f64 FFT; `packed_exponent`).
    pub packed: bool,
    /// LWE indices by which the key is asked into L2 ahead of use.
    pub prefetch_steps: usize,
    /// The key switch, the same for every split of a shape.
    pub key_switch: KeySwitchPlan,
    /// Multiprocessors of the device.
    pub multiprocessors: usize,
    /// Blocks of a cluster that begin each step together (1: blocks run as they may,
    /// or share a ciphertext).
    pub pace: usize,
    /// Whether slots of complex numbers have gaps instead of a swizzle (cuda/bootstrap/tile.cuh).
    pub gaps: bool,
    /// Whether the last pass of an inverse transform leaves its cosines to the rounding: fewer
    /// operations, more registers.
    pub defer_cosines: bool,
    /// Whether the last two levels of an inverse pass are one step: fewer operations, one more root
    /// (f64 FFT).
    pub join_levels: bool,
    /// Values that a thread holds in a pass of the transform where blocks share a ciphertext.
    pub spread_items: usize,
}

impl CudaPlan {
    /// Blocks of a cluster.
    pub(crate) fn cluster(&self) -> usize {
        match self.split {
            Split::Ciphertexts(_) => self.pace,
            Split::Blocks(blocks) => blocks,
        }
    }

    /// Bytes of one step's slice of the key that it reads.
    pub(crate) fn step_bytes(&self, shape: &BootstrapShape) -> usize {
        step_bytes(shape, self.transform, self.packed)
    }
}

impl Planner<'_> {
    /// Checks what all splits check: the shape, the choices of `request`, and that some variant of
    /// these kernels runs both.
    fn check(&self, request: &PlanRequest) -> Result<()> {
        self.shape.validate()?;
        knobs::check(self.device, request)?;
        self.refuse_unsupported(request)
    }

    fn does_not_fit(&self, reason: DoesNotFit) -> BackendError {
        BackendError::DoesNotFit { device: self.device.into(), reason }
    }

    fn unsupported(&self, what: String, why: impl Into<String>) -> BackendError {
        BackendError::Unsupported { device: self.device.into(), what, why: why.into() }
    }

    /// Whether a plan packs the key: as asked, else where a step has so much of it that reading it
    /// bounds the product phase, whatever the order in which blocks read. Below, packing has
    /// nothing to win, and batches that do not fill the device wait for it.
    fn packs(&self, request: &PlanRequest) -> bool {
        // `choose_for_both` refuses what is impossible.
        let wanted = choice(request, "packed")
            .map_or(unpacked_step_bytes(self.shape) >= 640 << 10, |packed| packed == 1);
        wanted && packed_exponent(self.shape, self.transform).is_some()
    }

    /// Takes a choice that holds for either split: `packed` was taken before the rest was planned
    /// ([`Planner::packs`]), `tiled` chooses the key switch.
    fn choose_for_both(&self, plan: &mut CudaPlan, name: &str, value: usize) -> Result<()> {
        let Self { device, shape, transform, .. } = *self;
        match (name, value) {
            ("packed", 1) if packed_exponent(shape, transform).is_none() => Err(refusal(
                device,
                name,
                value,
                "a key of that size, in that order or without sums and differences needs all bits \
                 of an f64"
                    .into(),
            )),
            ("tiled", 1) if plan.key_switch.stages == 0 => Err(refusal(
                device,
                name,
                value,
                format!(
                    "the rows of a digit, {} of them, are too many for a tile",
                    shape.ks_base() - 1
                ),
            )),
            ("tiled", _) => {
                plan.key_switch.tiled_from = if value == 1 { 1 } else { usize::MAX };
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Refuses what no variant of these kernels runs.
    fn refuse_unsupported(&self, request: &PlanRequest) -> Result<()> {
        let (shape, transform) = (self.shape, self.transform);
        let unsupported = |what: String, why: &str| Err(self.unsupported(what, why));
        if shape.is_torus() {
            if transform == Transform::Ntt {
                return unsupported(
                    "the native torus with the integer transform".into(),
                    "2^64 has no roots of unity; use the f64 transform",
                );
            }
            let digits = u64::from(shape.gadget_bits());
            if digits >= u64::from(TORUS_BITS) || shape.log2_ks_base > 7 {
                return unsupported(
                    format!(
                        "digits of {digits} bits in all, key-switching base 2^{}",
                        shape.log2_ks_base
                    ),
                    "accumulators hold 32 bits of the torus, so digits take 31 at most; \
                     key-switching digits take 7 bits at most",
                );
            }
        }
        if shape.grouping > 1 && transform == Transform::Ntt {
            return unsupported(
                format!("{} LWE indices a step with the integer transform", shape.grouping),
                "its kernels take one index a step; use the f64 transform, or grouping = 1",
            );
        }
        if request.steps_per_launch.is_some_and(|s| s < shape.steps()) {
            return unsupported(
                format!("{} steps a launch", request.steps_per_launch.unwrap_or(0)),
                "a launch runs all steps; leave steps_per_launch open",
            );
        }
        let rows = shape.ks_indices() * shape.ks_digits();
        if ks_word_bytes(shape) == 5 && rows >= 1 << 16 {
            return unsupported(
                format!("a key switch of {rows} rows modulo 2^{}", shape.log2_ks_modulus),
                "above 2^32 its sums have room for 65,535 rows; choose a larger base",
            );
        }
        if transform == Transform::Fft
            && shape.key_modulus_value().is_some_and(|m| m >= 1 << 53)
            && shape.levels() > 8
        {
            return unsupported(
                "more than 8 digits of a modulus above 2^53".into(),
                "use the integer transform",
            );
        }
        Ok(())
    }
}

/// The one transform that kernels run a shape with, where there is only one.
pub(crate) fn only_transform(shape: &BootstrapShape) -> Option<Transform> {
    // 2^64 has no roots of unity, and integer kernels take one LWE index a step.
    (shape.is_torus() || shape.grouping > 1).then_some(Transform::Fft)
}
