//! The plan of one shape on one device: what the kernels are generated from.

mod model;

use crate::bootstrap::choices::{CHOICES, Choices, Rolled};
use crate::bootstrap::torus_tile::TorusTile;
use crate::runtime::layout::Layout;
use crate::runtime::numbers::Numbers;
use crate::{Profile, Vendor};
use girih_backend::bootstrap::{tile_of_groups, tile_of_subgroups};
use girih_backend::{
    BackendError, BootstrapShape, DeviceInfo, DoesNotFit, Gadget, PlanRequest, Result,
};
use model::{Form, ITEMS};

/// What lives on chip while one bootstrapping runs: accumulators in registers, and polynomials
/// staged in workgroup memory for the exchanges of the transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Coefficients of a polynomial that one thread holds.
    pub items_per_thread: usize,
    /// Polynomials in an exchange at once.
    pub staged: usize,
    /// Threads of one workgroup.
    pub workgroup_threads: usize,
    /// Bytes of workgroup memory, padding included.
    pub workgroup_bytes: usize,
    /// Steps a launch.
    pub steps_per_launch: usize,
}

/// Most threads of a workgroup that switches keys, a power of two: what every browser grants.
const SWITCHING_THREADS: usize = 256;

/// Threads of such a workgroup where a device has at most `limit`, a power of two as well.
fn switching_threads(limit: usize) -> usize {
    1 << limit.clamp(1, SWITCHING_THREADS).ilog2()
}

/// A tile with what WGSL generation adds to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WgpuPlan {
    /// The shape planned for.
    pub shape: BootstrapShape,
    /// The primes of the transform.
    pub primes: Vec<u32>,
    /// What lives on chip.
    pub tile: Tile,
    /// The arithmetic.
    pub profile: Profile,
    /// What is counted by loops.
    pub rolled: Rolled,
    /// Whether words are signed: centred residues, for primes below 2^28.
    pub signed: bool,
    /// Whether a step is written once and a loop counts its primes, which are data then: the
    /// native torus, where it would be written three or four times.
    pub looped: bool,
    /// Most threads of a workgroup that switches keys, a power of two.
    pub switching_threads: usize,
    /// Workgroups that share the key switch of one ciphertext; left open,
    /// as many as fill the device.
    pub key_switch_parts: Option<usize>,
    /// Workgroups that fill the device.
    pub filling_workgroups: usize,
    /// Polynomials that the variant of `blind_rotate` for few ciphertexts stages, and up to how
    /// many ciphertexts it is taken; with the number left open, as many as it is found faster for
    /// when keys are loaded.
    pub few: Option<(usize, Option<usize>)>,
}

/// What a plan is made for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The device and its limits.
    pub device: &'a DeviceInfo,
    /// Who compiles its kernels.
    pub vendor: Vendor,
    /// The arithmetic.
    pub profile: Profile,
}

/// Primes below it have the forms of words that leave bits free.
const SMALL_PRIME: u32 = 1 << 28;
/// Workgroups that fill a GPU: wgpu does not tell how many run at once;
/// so many fill the largest of today.
const FILLING_WORKGROUPS: usize = 512;

fn unsupported(device: &DeviceInfo, what: String, why: &str) -> BackendError {
    BackendError::Unsupported { device: device.name.clone(), what, why: why.into() }
}

impl WgpuPlan {
    /// Plans `shape` within the limits of the target's device: a pure function.
    ///
    /// Open choices: 8 coefficients a thread (16 where 8 would need too many threads, 4 where
    /// better), two polynomials an exchange where they fit, which halves barriers and twiddle
    /// loads, and signed words where they gain. What is better was measured on NVIDIA's GPUs; for
    /// AMD's and Intel's it is what their compilers say (Mesa 25.0.7, for gfx1201 and dg2).
    ///
    /// # Errors
    /// [`BackendError::DoesNotFit`] with the bound and both numbers; [`BackendError::Unsupported`]
    /// for a request that these kernels do not have.
    pub fn new(
        shape: &BootstrapShape,
        target: Target<'_>,
        request: &PlanRequest,
        rolled: Option<Rolled>,
    ) -> Result<Self> {
        let Target { device, profile, .. } = target;
        shape.validate()?;
        let unsupported = |what: String, why: &str| unsupported(device, what, why);
        let primes = shape.transform_words()?;
        if request.groups.is_some_and(|g| g != 1) {
            return Err(unsupported(
                "several ciphertexts a workgroup".into(),
                "WGSL kernels run one a workgroup; leave `groups` open",
            ));
        }
        let choices = Choices::of(request).map_err(|(what, why)| unsupported(what, &why))?;
        let Form { signed, looped, rolled, items, staged } =
            Form::new(shape, target, request, &choices, rolled)?;
        let mut refusal = None;
        for &items in &items {
            for &staged in &staged {
                match Self::tile(shape, items, staged, device, request) {
                    Ok(tile) => {
                        let mut plan = Self {
                            shape: shape.clone(),
                            primes: primes.clone(),
                            tile,
                            profile,
                            rolled,
                            signed,
                            looped,
                            switching_threads: switching_threads(device.limits.workgroup_threads),
                            key_switch_parts: choices.key_switch_parts,
                            filling_workgroups: if device.software {
                                girih_backend::parallel::current_num_threads()
                            } else {
                                FILLING_WORKGROUPS
                            },
                            few: None,
                        };
                        plan.few = plan.few_of(choices.few, target)?;
                        return Ok(plan);
                    }
                    Err(reason) => refusal = Some(reason),
                }
            }
        }
        Err(BackendError::DoesNotFit {
            device: device.name.clone(),
            reason: refusal.expect("at least one plan was tried"),
        })
    }

    /// This plan with its variant for few ciphertexts in the place of its own kernel.
    pub(crate) fn few_plan(&self) -> Option<Self> {
        let (staged, _) = self.few?;
        let mut plan = Self { few: None, ..self.clone() };
        plan.tile.staged = staged;
        plan.tile.workgroup_bytes = 4 * staged * self.layout().padded();
        Some(plan)
    }

    /// What is worth measuring for `shape` on `device`, the model's own plan first, each spelled
    /// out: the orders of work and forms of words whose speed depends on a driver's compiler.
    pub(crate) fn alternatives(
        shape: &BootstrapShape,
        target: Target<'_>,
    ) -> Result<Vec<PlanRequest>> {
        let model = Self::new(shape, target, &PlanRequest::default(), None)?;
        let request = |plan: &Self| {
            let tile = &plan.tile;
            let values = [
                tile.items_per_thread as u32,
                tile.staged as u32,
                plan.rolled as u32,
                u32::from(plan.signed),
                u32::from(plan.looped),
            ];
            // The last two stay open: they are chosen by the size of each batch.
            let choices = CHOICES.iter().map(|(name, _)| (*name).to_string()).zip(values).collect();
            PlanRequest { choices, ..Default::default() }
        };
        let mut all = vec![request(&model)];
        // Nobody tunes plans in a page.
        if cfg!(target_family = "wasm") {
            return Ok(all);
        }
        let words = [(model.signed, 1), (!model.signed, 1), (model.signed, 0), (!model.signed, 0)];
        for (signed, looped) in words {
            for rolled in [Rolled::Nothing, Rolled::Columns, Rolled::RowsAndColumns] {
                // Unrolled kernels of many columns take minutes to compile and outgrow every
                // instruction cache.
                if rolled == Rolled::Nothing && model.rolled != Rolled::Nothing {
                    continue;
                }
                for items in ITEMS {
                    for staged in [1, 2, 3] {
                        let choices = [
                            ("items", items as u32),
                            ("staged", staged),
                            ("rolled", rolled as u32),
                            ("signed", u32::from(signed)),
                            ("looped", looped),
                        ];
                        let asked = PlanRequest {
                            choices: choices.map(|(n, v)| (n.to_string(), v)).into(),
                            ..Default::default()
                        };
                        if let Ok(plan) = Self::new(shape, target, &asked, None) {
                            // A rolled plan may stage fewer than asked for: once is enough.
                            let found = request(&plan);
                            if !all.contains(&found) {
                                all.push(found);
                            }
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    fn tile(
        shape: &BootstrapShape,
        items: usize,
        staged: usize,
        device: &DeviceInfo,
        request: &PlanRequest,
    ) -> Result<Tile, DoesNotFit> {
        let (size, limits) = (shape.polynomial_size, &device.limits);
        let layout = Layout::new(size.ilog2() as usize, items.ilog2() as usize);
        let tile = Tile {
            items_per_thread: items,
            staged,
            workgroup_threads: layout.threads(),
            workgroup_bytes: 4 * staged * layout.padded(),
            steps_per_launch: request.steps_per_launch.unwrap_or(shape.steps()).max(1),
        };
        if tile.workgroup_bytes > limits.workgroup_memory_bytes {
            return Err(DoesNotFit::Memory {
                tile: tile_of_groups(shape, 1),
                needed: tile.workgroup_bytes,
                available: limits.workgroup_memory_bytes,
            });
        }
        if tile.workgroup_threads > limits.workgroup_threads {
            let subgroups = layout.threads().div_ceil(limits.subgroup_threads.max(1));
            return Err(DoesNotFit::Threads {
                tile: tile_of_subgroups(shape, subgroups),
                needed: tile.workgroup_threads,
                available: limits.workgroup_threads,
            });
        }
        Ok(tile)
    }

    /// Words of one accumulator coefficient: residues for GD, the value for MR, two halves of it on
    /// the native torus.
    pub(crate) fn accumulator_words(&self) -> usize {
        match self.shape.gadget {
            Gadget::Decomposition { .. } => self.primes.len(),
            Gadget::ModulusRaising { .. } => 1,
            Gadget::ClosestRepresentative { .. } => 2,
        }
    }

    /// How kernels hold words.
    pub(crate) fn numbers(&self) -> Numbers {
        match (self.signed, self.profile) {
            (true, Profile::Int64) => Numbers::SignedWide,
            (true, Profile::Core) => Numbers::SignedLimbs,
            (false, profile) => Numbers::Unsigned {
                coarse: profile == Profile::Core && self.primes.iter().all(|&p| p < SMALL_PRIME),
            },
        }
    }

    /// The primes.
    pub(crate) fn primes(&self) -> &[u32] {
        &self.primes
    }

    /// How a workgroup switches keys on the native torus.
    pub(crate) fn torus_tile(&self) -> TorusTile {
        TorusTile::new(&self.shape, self.switching_threads)
    }

    /// Whether the key is raised to T (MR).
    pub(crate) fn modulus_raising(&self) -> bool {
        matches!(self.shape.gadget, Gadget::ModulusRaising { .. })
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::new(
            self.shape.polynomial_size.ilog2() as usize,
            self.tile.items_per_thread.ilog2() as usize,
        )
    }

    /// Rows of the external product: K polynomials of L levels.
    pub(crate) fn rows(&self) -> usize {
        self.shape.levels() * self.shape.columns()
    }

    /// 32-bit words of one step of the transformed key.
    pub(crate) fn key_step_words(&self) -> usize {
        self.primes().len() * self.shape.bootstrapping_block_len()
    }

    /// Barriers of one step, by the shape of the kernel.
    pub fn barriers_per_step(&self) -> usize {
        let exchanges = self.layout().passes().len() - 1;
        if exchanges == 0 {
            return 0;
        }
        let staged = self.tile.staged;
        let (forward, inverse) =
            (self.rows().div_ceil(staged), self.shape.columns().div_ceil(staged));
        // One more barrier between consecutive transforms of one direction; loops have it before
        // the first as well.
        let between = match self.rolled {
            Rolled::Nothing => forward + inverse - 2,
            Rolled::Columns => forward + inverse - 1,
            Rolled::RowsAndColumns => forward + inverse,
        };
        self.primes().len() * ((forward + inverse) * exchanges + between)
    }
}
