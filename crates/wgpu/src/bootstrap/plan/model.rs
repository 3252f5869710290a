//! What a plan takes where a request leaves it open.

use super::{SMALL_PRIME, Target, WgpuPlan, unsupported};
use crate::bootstrap::choices::{Choices, Rolled};
use crate::{Profile, Vendor};
use girih_backend::{BackendError, BootstrapShape, DeviceInfo, PlanRequest, Result};

/// Items a thread that kernels can be generated for.
pub(super) const ITEMS: [usize; 3] = [4, 8, 16];

/// Ciphertexts up to which a variant that was asked for is taken.
const FEW_CIPHERTEXTS: usize = 128;
/// Most coefficients that a thread of that variant has in an exchange: with 64 registers of them
/// large modulus-raising shapes slow down, with 32 all gain.
const FEW_REGISTERS: usize = 32;

/// What of a plan is decided before its tile.
pub(super) struct Form {
    pub signed: bool,
    pub looped: bool,
    pub rolled: Rolled,
    /// Coefficients a thread, the best first.
    pub items: Vec<usize>,
    /// Polynomials an exchange, the best first.
    pub staged: Vec<usize>,
}

impl Form {
    /// The form of `shape`, which is valid, with what `choices`, those of the request, leave open
    /// chosen.
    pub fn new(
        shape: &BootstrapShape,
        target: Target<'_>,
        request: &PlanRequest,
        choices: &Choices,
        rolled: Option<Rolled>,
    ) -> Result<Self> {
        let Target { device, vendor, profile } = target;
        let primes = shape.transform_words()?;
        let small_primes = primes.iter().all(|&p| p < SMALL_PRIME);
        let by_vendor =
            choices.looped != Some(true) && rolls_columns(vendor, profile, primes.len());
        let rolled_of = |texts| match rolling(shape, texts, device.software) {
            Rolled::Nothing if by_vendor => Rolled::Columns,
            other => other,
        };
        let asked = choices.rolled.or(rolled);
        let rolls = asked.unwrap_or_else(|| rolled_of(primes.len())) != Rolled::Nothing;
        let signed = choices
            .signed
            .unwrap_or(small_primes && prefers_signed(vendor, profile, primes.len(), rolls));
        // Measured on an H200 (docs/performance.md): three texts of two columns outrun a loop over
        // three primes, four texts do not. Intel's compiler spills less of three texts, whatever
        // their columns (docs/guide/gpus.md).
        let is_short = primes.len() <= 3 && (shape.columns() == 2 || vendor == Vendor::Intel);
        let unrolls = is_short && profile == Profile::Int64 && !device.software;
        let loops = shape.is_torus() && !signed && choices.looped.unwrap_or(!unrolls);
        // How often the text of a step is there: once a prime, or once in a loop over them.
        let texts = if loops { 1 } else { primes.len() };
        let rolled = asked.unwrap_or_else(|| match vendor {
            Vendor::Intel if shape.is_torus() && unrolls && !loops => Rolled::Nothing,
            _ => rolled_of(texts),
        });
        // Four words make a long kernel, which the software driver takes minutes to compile.
        let is_long = device.software && texts > 2;
        let prefers_four =
            is_long || !device.software && prefers_four(shape, primes.len(), target, rolled);
        let items = match choices.items {
            Some(items) => vec![items],
            None => open_items(shape, device, request, prefers_four)?,
        };
        let staged = match choices.staged {
            Some(staged) => vec![staged],
            None if is_long => vec![1],
            None if rolled != Rolled::Nothing && spills_groups(vendor, profile) => vec![1],
            // With room for a third, fewer workgroups share a multiprocessor, which is faster on an
            // H200; on Intel it only spills.
            None if shape.is_torus() && unrolls && !loops && vendor != Vendor::Intel => {
                vec![3, 2, 1]
            }
            None => vec![2, 1],
        };
        // Loops over columns count whole groups of staged polynomials.
        let whole = |s| if shape.columns().is_multiple_of(s) { s } else { 1 };
        let staged: Vec<usize> = match rolled {
            Rolled::Nothing => staged,
            _ => staged.into_iter().map(whole).collect(),
        };
        if signed && !small_primes {
            return Err(unsupported(
                device,
                format!("signed words for the primes {primes:?}"),
                "they must be below 2^28",
            ));
        }
        let can_loop = shape.is_torus() && rolled == Rolled::Nothing && !signed;
        let looped = choices.looped.unwrap_or(loops && can_loop);
        if looped && !can_loop {
            return Err(unsupported(
                device,
                "a loop over words".into(),
                "they must be unsigned, of the native torus, and columns unrolled (`signed` and \
                 `rolled` 0)",
            ));
        }
        Ok(Self { signed, looped, rolled, items, staged })
    }
}

/// Coefficients a thread, the best first.
fn open_items(
    shape: &BootstrapShape,
    device: &DeviceInfo,
    request: &PlanRequest,
    prefers_four: bool,
) -> Result<Vec<usize>> {
    let Some(subgroups) = request.subgroups_per_polynomial else {
        return Ok(if prefers_four { vec![4, 8, 16] } else { vec![8, 16] });
    };
    let lanes = device.limits.subgroup_threads.max(1);
    let items = shape.polynomial_size / (subgroups * lanes).max(1);
    if ITEMS.contains(&items) {
        return Ok(vec![items]);
    }
    let what =
        format!("{subgroups} subgroups of {lanes} a polynomial of {}", shape.polynomial_size);
    Err(unsupported(device, what, "a thread must get 4, 8 or 16 coefficients"))
}

/// Unrolled kernels are fastest while they fit registers and instruction caches. The software
/// driver's compiler takes time more than in proportion to the length of a kernel: minutes for
/// k + r = 8 unrolled.
fn rolling(shape: &BootstrapShape, words: usize, software: bool) -> Rolled {
    let (columns, rows) = (shape.columns(), shape.columns() * shape.levels());
    let products = words * columns * rows * shape.ggsw_per_step();
    let most = if software { 24 } else { 80 };
    match (products > most, software || rows > 20) {
        (false, _) => Rolled::Nothing,
        (true, false) => Rolled::Columns,
        (true, true) => Rolled::RowsAndColumns,
    }
}

/// Whether small primes have signed words. On an H200, with 64-bit products, they gain for one
/// word and lose for two. AMD's and Intel's compilers multiply 64 by 64 bits for a signed
/// product of two words, twice the work of an unsigned one; without 64-bit integers, signed
/// words spill on AMD, and on Intel where columns are counted by loops; elsewhere unsigned ones
/// take more instructions there.
fn prefers_signed(vendor: Vendor, profile: Profile, words: usize, rolls: bool) -> bool {
    match (vendor, profile) {
        (Vendor::Amd, _) | (Vendor::Intel, Profile::Int64) => false,
        (Vendor::Intel, Profile::Core) => !rolls,
        (_, Profile::Core) => true,
        (_, Profile::Int64) => words == 1,
    }
}

/// Where the compiler spills when two polynomials of many columns go through an exchange together,
/// and little or nothing with one (docs/guide/gpus.md).
fn spills_groups(vendor: Vendor, profile: Profile) -> bool {
    matches!(vendor, Vendor::Amd | Vendor::Intel) && profile == Profile::Core
}

/// Where a loop over columns spills less than steps that are unrolled and than a loop over primes:
/// of several words without 64-bit integers, by Intel's compiler.
fn rolls_columns(vendor: Vendor, profile: Profile, words: usize) -> bool {
    vendor == Vendor::Intel && profile == Profile::Core && words > 1
}

/// Where 4 coefficients a thread beat 8. On an H200: rolled kernels of small polynomials with
/// 64-bit products, whose threads wait for their key, and unrolled ones of one word without.
/// AMD's compiler keeps 4 in registers for nearly every shape, with as much work as for 8 and
/// more threads at once, and spills 8 of large ones (docs/guide/gpus.md). Intel's keeps 4 of
/// one word with 64-bit products, and spills 8; of several words it spills half as many of 4.
fn prefers_four(shape: &BootstrapShape, words: usize, target: Target<'_>, rolled: Rolled) -> bool {
    match target.profile {
        _ if matches!(target.vendor, Vendor::Amd | Vendor::Intel) => true,
        Profile::Int64 => rolled != Rolled::Nothing && shape.polynomial_size <= 512,
        Profile::Core => rolled == Rolled::Nothing && words == 1,
    }
}

impl WgpuPlan {
    /// The variant for few ciphertexts: alone on its multiprocessor, a workgroup waits for
    /// exchanges and barriers more than for anything, and the more polynomials go through each, the
    /// fewer there are. With many it would hold registers and memory that further workgroups need.
    pub(super) fn few_of(
        &self,
        asked: Option<usize>,
        target: Target<'_>,
    ) -> Result<Option<(usize, Option<usize>)>> {
        let Target { device, vendor, profile } = target;
        let padded = 4 * self.layout().padded();
        let counted =
            if self.rolled == Rolled::Nothing { self.rows() } else { self.shape.columns() };
        let fits = |staged: usize| {
            counted.is_multiple_of(staged)
                && staged * padded <= device.limits.workgroup_memory_bytes
        };
        let model = || {
            let most = FEW_REGISTERS / self.tile.items_per_thread;
            // The software driver runs one workgroup a core, however many there are,
            // and compiles slowly.
            (self.tile.staged + 1..=most)
                .rev()
                .find(|&staged| fits(staged) && !device.software)
                .map(|staged| (staged, None))
        };
        match asked {
            None if self.rolled != Rolled::Nothing && spills_groups(vendor, profile) => Ok(None),
            None => Ok(model()),
            Some(0) => Ok(None),
            Some(staged) if fits(staged) => Ok(Some((staged, Some(FEW_CIPHERTEXTS)))),
            Some(staged) => Err(BackendError::Unsupported {
                device: device.name.clone(),
                what: format!("few = {staged}"),
                why: format!(
                    "it must divide {counted} polynomials and need no more than {} bytes of \
                     workgroup memory (it needs {})",
                    device.limits.workgroup_memory_bytes,
                    staged * padded
                ),
            }),
        }
    }
}
