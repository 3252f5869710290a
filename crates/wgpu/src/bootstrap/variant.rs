//! One kernel of one plan: the constants that `shaders/` is generated with,
//! and the WGSL that comes out.

use crate::Profile;
use crate::bootstrap::choices::Rolled;
use crate::bootstrap::key_switch_plan::KEY_SWITCH_ROWS;
use crate::bootstrap::plan::WgpuPlan;
use crate::bootstrap::tables::{QUOTIENT_BITS, Tables};
use crate::bootstrap::torus_tile::TorusTile;
use crate::runtime::lazy::Lazy;
use crate::runtime::numbers::Numbers;
use crate::runtime::template::{Expander, Value};
use girih_backend::{Gadget, SecretKind};
use std::collections::HashMap;

/// The sources, under the names that `#include` uses.
const SOURCES: &[(&str, &str)] = &[
    ("blind_rotate", girih_shaders::bootstrap::BLIND_ROTATE),
    ("combine", girih_shaders::bootstrap::COMBINE),
    ("key_switch", girih_shaders::bootstrap::KEY_SWITCH),
    ("key_switch_finish", girih_shaders::bootstrap::KEY_SWITCH_FINISH),
    ("key_switched", girih_shaders::bootstrap::KEY_SWITCHED),
    ("key_switch_torus", girih_shaders::bootstrap::KEY_SWITCH_TORUS),
    ("key_switch_torus_finish", girih_shaders::bootstrap::KEY_SWITCH_TORUS_FINISH),
    ("closest", girih_shaders::bootstrap::CLOSEST),
    ("accumulator_raised", girih_shaders::bootstrap::ACCUMULATOR_RAISED),
    ("accumulator_words", girih_shaders::bootstrap::ACCUMULATOR_WORDS),
    ("accumulator_torus", girih_shaders::bootstrap::ACCUMULATOR_TORUS),
    ("job", girih_shaders::bootstrap::JOB),
    ("combination", girih_shaders::bootstrap::COMBINATION),
    ("arithmetic", girih_shaders::lib::ARITHMETIC),
    ("accumulator", girih_shaders::bootstrap::ACCUMULATOR),
    ("transform", girih_shaders::lib::TRANSFORM),
    ("external_product", girih_shaders::bootstrap::EXTERNAL_PRODUCT),
];

/// Threads of a `combine` workgroup.
pub(crate) const COMBINE_THREADS: usize = 64;
/// Threads of a `key_switch_finish` workgroup.
pub(crate) const FINISH_THREADS: usize = 64;

/// A kernel of `shaders/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Linear jobs.
    Combine,
    /// Combine to first mod switch; native torus: exponents to result.
    BlindRotate,
    /// The same for batches in which ciphertexts have a second result, on the native torus. A text
    /// of its own, because a loop over both results makes drivers compile the steps before it
    /// differently.
    BlindRotateSecond,
    /// Key switch and last mod switch, or parts of its sums.
    KeySwitch,
    /// Adds up parts of key-switching sums; last mod switch.
    KeySwitchFinish,
    /// Parts of the sums of the key switch on the native torus.
    KeySwitchTorus,
    /// Adds them up; rounds to exponents.
    KeySwitchTorusFinish,
}

impl WgpuPlan {
    /// The kernel that switches keys.
    pub(crate) fn key_switch_kernel(&self) -> Kernel {
        if self.shape.is_torus() { Kernel::KeySwitchTorus } else { Kernel::KeySwitch }
    }

    /// The kernel that ends what the other left in parts.
    pub(crate) fn key_switch_finish_kernel(&self) -> Kernel {
        if self.shape.is_torus() { Kernel::KeySwitchTorusFinish } else { Kernel::KeySwitchFinish }
    }
}

impl Kernel {
    /// Those that `plan` runs.
    pub fn of(plan: &WgpuPlan) -> Vec<Self> {
        let (switch, finish) = (plan.key_switch_kernel(), plan.key_switch_finish_kernel());
        let mut all = vec![Self::Combine, Self::BlindRotate, switch, finish];
        all.extend(plan.shape.is_torus().then_some(Self::BlindRotateSecond));
        all
    }

    /// What lists call it: its name, and what is different from the kernel of that name.
    pub fn label(self) -> &'static str {
        if self == Self::BlindRotateSecond { "blind_rotate, second" } else { self.name() }
    }

    /// The name of its file and entry point.
    pub fn name(self) -> &'static str {
        match self {
            Self::Combine => "combine",
            Self::BlindRotate | Self::BlindRotateSecond => "blind_rotate",
            Self::KeySwitch => "key_switch",
            Self::KeySwitchFinish => "key_switch_finish",
            Self::KeySwitchTorus => "key_switch_torus",
            Self::KeySwitchTorusFinish => "key_switch_torus_finish",
        }
    }

    /// Bytes of workgroup memory that its WGSL declares under `plan`.
    pub fn workgroup_bytes(self, plan: &WgpuPlan) -> usize {
        match self {
            Self::Combine | Self::KeySwitchFinish => 0,
            Self::BlindRotate | Self::BlindRotateSecond => plan.tile.workgroup_bytes,
            Self::KeySwitch => {
                let (lanes, slices) = plan.ks_workgroup();
                4 * lanes * slices * plan.ks_entries().max(4)
            }
            Self::KeySwitchTorus => plan.torus_tile().workgroup_bytes(&plan.shape),
            // Two words a thread, where the known half of an error is added up.
            Self::KeySwitchTorusFinish if plan.shape.secret == SecretKind::Binary => {
                8 * plan.switching_threads
            }
            Self::KeySwitchTorusFinish => 0,
        }
    }

    /// Threads of its workgroup under `plan`.
    pub fn workgroup_threads(self, plan: &WgpuPlan) -> usize {
        match self {
            Self::Combine => COMBINE_THREADS,
            Self::KeySwitchFinish => FINISH_THREADS,
            Self::BlindRotate | Self::BlindRotateSecond => plan.tile.workgroup_threads,
            Self::KeySwitch => {
                let (lanes, slices) = plan.ks_workgroup();
                lanes * slices
            }
            Self::KeySwitchTorus => plan.torus_tile().threads,
            Self::KeySwitchTorusFinish => plan.switching_threads,
        }
    }

    /// Its WGSL under `plan`; `trace` adds what [`girih_backend::Engine::trace`] reads.
    ///
    /// # Errors
    /// A sentence naming the template line, for a shape whose bounds cannot be kept in 32 bits.
    pub fn wgsl(self, plan: &WgpuPlan, tables: &Tables, trace: bool) -> Result<String, String> {
        let numbers = plan.numbers();
        let mut constants = constants(self, plan, trace);
        let mut set = |name: &str, value| constants.insert(name.to_string(), Value::Int(value));
        set("SIGNED", i128::from(numbers.signed()));
        set("LIMBS", i128::from(numbers == Numbers::SignedLimbs));
        set("COARSE", i128::from(numbers == Numbers::Unsigned { coarse: true }));
        set("CAP", numbers.cap());
        let expanded = |first: usize| {
            let functions = |name: &str, arguments: &[i128]| {
                bounds_of(numbers, name, arguments)
                    .or_else(|| tables.function(first, name, arguments))
            };
            let lazy = Lazy::new(&plan.primes()[first..], numbers);
            Expander::new(SOURCES, constants.clone(), &functions, lazy).expand(self.name())
        };
        let (text, declared) = expanded(0)?;
        // A loop's body is written for the first prime and must be that of every other.
        let looped = if plan.looped { plan.primes().len() } else { 1 };
        for first in 1..looped {
            if expanded(first)? != (text.clone(), declared.clone()) {
                return Err(format!(
                    "{}: the primes {:?} need different text and cannot be counted by a loop",
                    self.name(),
                    plan.primes()
                ));
            }
        }
        Ok(text + &declared)
    }
}

/// The bounds of [`Numbers`] under the names that templates call.
fn bounds_of(numbers: Numbers, name: &str, arguments: &[i128]) -> Option<i128> {
    Some(match (name, arguments) {
        ("product_bound", &[p, bound]) => numbers.product_bound(p, bound),
        ("sum_limit", &[p, rows]) => numbers.sum_limit(p, rows),
        ("reduced_bound", &[p, rows, total]) => numbers.reduced_bound(p, rows, total),
        ("chunk_rows", &[p, rows, bound]) => numbers.chunk_rows(p, rows, bound),
        ("least", &[p]) => numbers.least(p),
        // To what factors are reduced, so that one sum takes `rows` products of theirs.
        ("fitted", &[p, rows, bound]) if numbers.fits(p, rows, bound) => bound,
        ("fitted", &[p, ..]) => numbers.least(p),
        // To what words are reduced before an inverse pass of `width` stages: sums of signed words
        // double in each, unsigned ones are reduced where they would overflow.
        ("exchange_limit", &[p, width]) if numbers.signed() => {
            numbers.least(p).max(numbers.cap() >> width)
        }
        ("exchange_limit", _) => numbers.cap(),
        _ => return None,
    })
}

/// Where a traced `blind_rotate` writes in `scratch`, in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceMap {
    pub combined: usize,
    pub digits: usize,
    pub transformed: usize,
    pub products: usize,
    pub extracted: usize,
    pub end: usize,
}

impl TraceMap {
    pub fn new(plan: &WgpuPlan) -> Self {
        let shape = &plan.shape;
        let (size, words) = (shape.polynomial_size, plan.primes().len());
        let combined = shape.columns() * plan.accumulator_words() * size;
        let digits = combined + shape.ciphertext_len();
        let transformed = digits + plan.rows() * size;
        let products = transformed + words * plan.rows() * size;
        let extracted = products + words * shape.columns() * size;
        let end = extracted + plan.accumulator_words() * (shape.ks_indices() + shape.packing);
        Self { combined, digits, transformed, products, extracted, end }
    }
}

/// The constants of a kernel's text.
#[derive(Default)]
struct Constants(HashMap<String, Value>);

fn int(x: usize) -> i128 {
    x as i128
}

fn constants(kernel: Kernel, plan: &WgpuPlan, trace: bool) -> HashMap<String, Value> {
    let shape = &plan.shape;
    let mut all = Constants::default();
    all.common(plan, trace);
    match kernel {
        Kernel::Combine => all.set("THREADS", int(COMBINE_THREADS)),
        Kernel::KeySwitchFinish => {
            all.set("THREADS", int(FINISH_THREADS));
            all.set("INDICES", int(shape.ks_indices()));
        }
        Kernel::KeySwitch => all.key_switch(plan),
        Kernel::KeySwitchTorus => all.key_switch_torus(plan),
        Kernel::KeySwitchTorusFinish => {
            all.set("THREADS", int(plan.switching_threads));
            all.set("INDICES", int(shape.ks_indices()));
            all.set("LOG2_MONOMIALS", i128::from(shape.log2_monomials()));
            all.set("BINARY", i128::from(shape.secret == SecretKind::Binary));
        }
        Kernel::BlindRotate | Kernel::BlindRotateSecond => {
            all.blind_rotate(plan);
            all.set("SECOND", i128::from(kernel == Kernel::BlindRotateSecond));
        }
    }
    all.0
}

impl Constants {
    fn set(&mut self, name: &str, value: i128) {
        self.0.insert(name.to_string(), Value::Int(value));
    }

    fn text(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.0.insert(name.into(), Value::Text(text.into()));
    }

    fn common(&mut self, plan: &WgpuPlan, trace: bool) {
        let shape = &plan.shape;
        self.set("WORD", 1 << 32);
        self.set("TRACE", i128::from(trace));
        self.set("LOOPED", i128::from(plan.looped));
        self.set("CONSTANT_WORDS", int(if plan.looped { 0 } else { plan.primes().len() }));
        self.set("INT64", i128::from(plan.profile == Profile::Int64));
        self.set("TORUS", i128::from(shape.is_torus()));
        self.set("SWITCHED_LENGTH", int(shape.switched_len()));
        self.set("LWE_DIMENSION", int(shape.lwe_dimension));
        self.set("LENGTH", int(shape.ciphertext_len()));
        self.set("GLWE_DIMENSION", int(shape.glwe_dimension));
        self.set("PACKING", int(shape.packing));
        self.set("LOG2_KS_MODULUS", i128::from(shape.log2_ks_modulus));
        self.set("KS_WORDS", int(plan.ks_words()));
        self.set("KS_MASK_LOW", (1i128 << shape.log2_ks_modulus.min(32)) - 1);
        self.set("KS_MASK_HIGH", (1i128 << shape.log2_ks_modulus.saturating_sub(32)) - 1);
    }

    fn key_switch(&mut self, plan: &WgpuPlan) {
        let shape = &plan.shape;
        let (lanes, slices) = plan.ks_workgroup();
        self.set("LANES", int(lanes));
        self.set("SLICES", int(slices));
        self.set("ENTRIES", int(plan.ks_entries()));
        self.set("SUMS", int(plan.ks_entries().max(4)));
        self.set("ROW_VECTORS", int(plan.ks_row_vectors()));
        self.set("KS_DIGITS", int(shape.ks_digits()));
        self.set("UNROLL", int(KEY_SWITCH_ROWS.div_ceil(shape.ks_digits())));
        self.set("LOG2_KS_BASE", i128::from(shape.log2_ks_base));
        self.set("INDICES", int(shape.ks_indices()));
    }

    fn key_switch_torus(&mut self, plan: &WgpuPlan) {
        let shape = &plan.shape;
        let tile = plan.torus_tile();
        self.set("THREADS", int(tile.threads));
        self.set("LANES", int(tile.lanes));
        self.set("CIPHERTEXTS", int(tile.ciphertexts));
        self.set("TILE", int(tile.indices));
        self.set("UNROLL", int(tile.unroll));
        self.set("KS_DIGITS", int(shape.ks_digits()));
        self.set("ROW_VECTORS", int(TorusTile::vectors(shape)));
        self.closest(shape.log2_ks_base, shape.ks_digits());
    }

    /// What `closest.wgsl` takes for digits of `log2_base` bits.
    fn closest(&mut self, log2_base: u32, levels: usize) {
        let half = 1i128 << (log2_base - 1);
        self.set("CLOSEST_BASE", i128::from(log2_base));
        self.set("CLOSEST_LEVELS", levels as i128);
        self.set("CLOSEST_DROPPED", 64 - i128::from(log2_base) * levels as i128);
        self.set("CLOSEST_BIAS", (0..levels as u32 - 1).map(|i| half << (log2_base * i)).sum());
    }

    fn blind_rotate(&mut self, plan: &WgpuPlan) {
        let (shape, layout) = (&plan.shape, plan.layout());
        self.set("STEPS", int(shape.steps()));
        self.set("GROUPING", int(shape.grouping));
        self.set("QUOTIENT_BITS", i128::from(QUOTIENT_BITS));
        self.set("N", int(shape.polynomial_size));
        self.set("LOG2_N", int(shape.polynomial_size.ilog2() as usize));
        self.set("THREADS", int(layout.threads()));
        self.set("ITEMS", int(layout.items()));
        self.set("PASSES", int(layout.passes().len()));
        self.set("PADDED", int(layout.padded()));
        self.set("STAGED", int(plan.tile.staged));
        self.set("COLUMNS", int(shape.columns()));
        self.set("LEVELS", int(shape.levels()));
        self.set("ROWS", int(plan.rows()));
        self.set("WORDS", int(plan.primes().len()));
        self.set("ACC_WORDS", int(plan.accumulator_words()));
        self.set("GGSW", int(shape.ggsw_per_step()));
        self.set("ROLLED", plan.rolled as i128);
        self.set("KEY_STEP", int(plan.key_step_words() / 4));
        self.set("MODULUS_RAISING", i128::from(plan.modulus_raising()));
        self.set("Q", i128::from(shape.accumulator_modulus().unwrap_or(0)));
        self.set("T", i128::from(shape.key_modulus_value().unwrap_or(0)));
        self.gadget(shape.gadget);
        let map = TraceMap::new(plan);
        self.set("TRACE_COMBINED", int(map.combined));
        self.set("TRACE_DIGITS", int(map.digits));
        self.set("TRACE_TRANSFORMED", int(map.transformed));
        self.set("TRACE_PRODUCTS", int(map.products));
        self.set("TRACE_EXTRACTED", int(map.extracted));
        for pass in 0..layout.passes().len() {
            self.text(format!("THREAD_INDEX_{pass}"), layout.thread_expression(pass));
        }
        // Text, because in rolled kernels the first column of a body is
        // only known when it runs.
        let column = if plan.rolled == Rolled::Nothing { "0u" } else { "column" };
        self.text("COLUMN_AT", column);
        // Likewise the word, and where what comes from its prime begins in `roots`.
        let (word, roots) = if plan.looped { ("word", "word_at + ") } else { ("0u", "") };
        self.text("WORD_AT", word);
        self.text("ROOTS_AT", roots);
        self.text("THREAD_REVERSED", layout.reversed_expression());
    }

    fn gadget(&mut self, gadget: Gadget) {
        match gadget {
            Gadget::Decomposition { log2_base, levels, dropped_bits } => {
                self.set("LOG2_BASE", i128::from(log2_base));
                self.set("DROPPED_BITS", i128::from(dropped_bits));
                let balance: i128 =
                    (1..levels as u32).map(|i| 1i128 << (dropped_bits + log2_base * i - 1)).sum();
                self.set("DIGIT_BIAS", balance + ((1i128 << dropped_bits) >> 1));
            }
            Gadget::ModulusRaising { log2_modulus } => self.set("LOG2_Q", i128::from(log2_modulus)),
            Gadget::ClosestRepresentative { log2_base, levels } => {
                self.set("LOG2_BASE", i128::from(log2_base));
                self.closest(log2_base, levels);
            }
        }
    }
}
