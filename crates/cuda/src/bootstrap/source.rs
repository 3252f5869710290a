//! What every kernel of the family includes: its headers, and the constants that fix it for one
//! shape and plan.

use crate::bootstrap::arguments::ARGUMENT_BYTES;
use crate::bootstrap::layout::{
    Geometry, PRODUCT_CIPHERTEXTS, PRODUCT_COLUMNS, PRODUCT_THREADS, TORUS_BITS,
    key_switching_bytes, ks_row, ks_word_bytes, packed_exponent, product_chunk_bytes, scaled,
};
use crate::bootstrap::plan::key_switch::KEY_SWITCH_TILE_THREADS;
use crate::bootstrap::plan::{CudaPlan, Split};
use crate::bootstrap::roots;
use crate::runtime::source::{Header, KernelFile, PLATFORM, Source, WORD};
use girih_backend::{BootstrapShape, Gadget, KeyModulus, SecretKind, Transform};
use girih_ring::{Modulus, Rns};
use std::fmt::Write;

/// What kernels of this family include.
const HEADERS: &[Header] = &[
    PLATFORM,
    WORD,
    ("jobs.cuh", girih_kernels::bootstrap::JOBS),
    ("switch.cuh", girih_kernels::bootstrap::SWITCH),
    ("tile.cuh", girih_kernels::bootstrap::TILE),
    ("trace.cuh", girih_kernels::bootstrap::TRACE),
    ("bootstrap.cuh", girih_kernels::bootstrap::BOOTSTRAP),
    ("spread.cuh", girih_kernels::bootstrap::SPREAD),
    ("spread_fft.cuh", girih_kernels::bootstrap::SPREAD_FFT),
    ("spread_ntt.cuh", girih_kernels::bootstrap::SPREAD_NTT),
    ("ntt.cuh", girih_kernels::bootstrap::NTT),
    ("fft.cuh", girih_kernels::bootstrap::FFT),
    ("fft_key.cuh", girih_kernels::bootstrap::FFT_KEY),
    ("fft_levels.cuh", girih_kernels::bootstrap::FFT_LEVELS),
    ("grouped.cuh", girih_kernels::bootstrap::GROUPED),
];

/// A kernel file of this family: its name, its text, the kernels in it.
pub(crate) const fn kernel_file(
    name: &'static str,
    text: &'static str,
    kernels: &'static [&'static str],
) -> KernelFile {
    KernelFile { name, text, kernels, headers: HEADERS }
}

/// `file` for `shape` under `plan`; `trace` builds can write intermediate values out.
pub(crate) fn source(
    file: KernelFile,
    shape: &BootstrapShape,
    plan: &CudaPlan,
    trace: bool,
) -> Source {
    Source { file, constants: constants(shape, plan, trace) }
}

struct Text(String);

impl Text {
    fn line(&mut self, kind: &str, name: &str, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "constexpr {kind} {name} = {value};");
    }
}

fn constants(shape: &BootstrapShape, plan: &CudaPlan, trace: bool) -> String {
    let geometry = Geometry::new(shape, plan.transform);
    let fft = plan.transform == Transform::Fft;
    // A ring of one entry stands for none in kernels that are not of this split.
    let (ring, spread_ring) = match plan.split {
        Split::Ciphertexts(_) => (plan.key_ring, 1),
        Split::Blocks(_) => (0, plan.key_ring),
    };
    let mut t = Text(format!(
        "#pragma once\n#include \"platform.cuh\"\n#define GIRIH_FFT {}\n#define SPREAD_CLUSTERS \
         {}\n#define KEEP_STEP {}\n",
        u32::from(fft),
        u32::from(plan.split.blocks() > 1),
        u32::from(plan.pace > 1)
    ));
    for (name, value) in [
        ("LWE_DIMENSION", shape.lwe_dimension),
        ("POLYNOMIAL_SIZE", shape.polynomial_size),
        ("GLWE_DIMENSION", shape.glwe_dimension),
        ("PACKING", shape.packing),
        ("COLUMNS", shape.columns()),
        ("LEVELS", shape.levels()),
        ("GROUPING", shape.grouping),
        ("GGSW", shape.ggsw_per_step()),
        ("WORDS", geometry.words),
        ("WORDS_IN_SLOTS", if fft { 1 } else { geometry.words }),
        ("LOG2_MONOMIALS", shape.log2_monomials() as usize),
        ("LOG2_KS_MODULUS", shape.log2_ks_modulus as usize),
        ("LOG2_KS_BASE", shape.log2_ks_base as usize),
        ("KS_DIGITS", shape.ks_digits()),
        ("KS_WORD_BYTES", ks_word_bytes(shape)),
        ("KS_ROW", ks_row(shape)),
        ("KS_THREADS", plan.key_switch.threads),
        ("KS_TILE_THREADS", KEY_SWITCH_TILE_THREADS),
        ("KS_PRODUCT_THREADS", PRODUCT_THREADS),
        ("KS_BLOCK_CIPHERTEXTS", PRODUCT_CIPHERTEXTS),
        ("KS_BLOCK_COLUMNS", PRODUCT_COLUMNS),
        // The tiled kernel is compiled, though not launched, where it does not pay.
        ("KS_STAGES", plan.key_switch.stages.max(2)),
        ("KS_STAGE_PAIRS", plan.key_switch.stage_pairs),
        ("GROUPS", plan.split.ciphertexts()),
        ("THREADS", plan.threads),
        ("BLOCKS_PER_MULTIPROCESSOR", plan.blocks_per_multiprocessor),
        ("BLOCKS_IN_STEP", plan.pace),
        ("PREFETCH_STEPS", plan.prefetch_steps),
        ("KEY_RING", ring),
        ("BLOCKS_PER_CIPHERTEXT", plan.split.blocks()),
        ("SPREAD_ITEMS", plan.spread_items),
        ("SPREAD_KEY_RING", spread_ring),
    ] {
        t.line("int", name, value);
    }
    // What the host lays out: kernels assert that they lay it out alike.
    let bytes = [
        ("TILE_BYTES", plan.shared_bytes),
        ("STEP_BYTES", plan.step_bytes(shape)),
        ("KS_TILE_BYTES", plan.key_switch.tile_bytes(shape)),
        ("KS_INDEX_BYTES", key_switching_bytes(shape)),
        ("KS_CHUNK_BYTES", product_chunk_bytes(shape)),
    ];
    for (name, value) in bytes.into_iter().chain(ARGUMENT_BYTES) {
        t.line("unsigned long long", name, value);
    }
    let exponent = packed_exponent(shape, plan.transform).filter(|_| plan.packed);
    t.line("int", "KEY_EXPONENT", exponent.unwrap_or(0));
    t.line("bool", "KEY_PACKED", exponent.is_some());
    t.line("bool", "BINARY_SECRETS", shape.secret == SecretKind::Binary);
    t.line("bool", "FFT", fft);
    t.line("bool", "TRACE", trace);
    t.line("bool", "GAPS", plan.gaps);
    t.line("bool", "DEFER_COSINES", plan.defer_cosines);
    t.line("bool", "JOIN_LEVELS", plan.join_levels);
    t.line("bool", "ACCUMULATOR_IS_WIDE", geometry.accumulator_bytes == 8);
    t.line("bool", "NATIVE_TORUS", shape.is_torus());
    t.line("bool", "ACCUMULATOR_IS_SCALED", fft && scaled(shape));
    gadget_constants(shape, &mut t);
    word_constants(shape, &mut t);
    root_constants(shape, plan.transform, &mut t);
    t.0
}

fn gadget_constants(shape: &BootstrapShape, t: &mut Text) {
    let (raising, log2_q, log2_base, dropped_bits) = match shape.gadget {
        Gadget::ModulusRaising { log2_modulus } => (true, log2_modulus, 1, 0),
        Gadget::Decomposition { log2_base, dropped_bits, .. } => {
            (false, 1, log2_base, dropped_bits)
        }
        Gadget::ClosestRepresentative { log2_base, .. } => (false, 1, log2_base, 0),
    };
    t.line("bool", "MODULUS_RAISING", raising);
    t.line("int", "LOG2_Q", log2_q);
    t.line("int", "LOG2_BASE", log2_base);
    t.line("int", "DROPPED_BITS", dropped_bits);
    let modulus = shape.key_modulus_value().unwrap_or(0);
    t.line("unsigned long long", "KEY_MODULUS", format!("{modulus}ull"));
    let held = shape.accumulator_modulus().unwrap_or(1 << TORUS_BITS);
    t.line("unsigned long long", "ACCUMULATOR_MODULUS", format!("{held}ull"));
    // Where accumulators are scaled: an accumulator's unit in units of the lowest digit in use.
    let units = held as f64 / (f64::from(TORUS_BITS) + f64::from(dropped_bits)).exp2();
    t.line("double", "UNITS_OF_DIGITS", format!("{units:e}"));
    // round_to_q: the top 32 bits of y, times floor(2^(shift + 32 + post) Q / T) with post as large
    // as 32 bits allow.
    let shift = (64 - modulus.leading_zeros()).saturating_sub(32);
    let factor = |post: u32| (1u128 << (shift + 32 + post + log2_q)) / u128::from(modulus.max(1));
    let post = (0..32).rev().find(|&p| factor(p) < 1 << 32).unwrap_or(0);
    t.line("int", "ROUND_SHIFT", shift);
    t.line("int", "ROUND_POST_SHIFT", post);
    t.line("unsigned int", "ROUND_FACTOR", format!("{}u", if raising { factor(post) } else { 0 }));
    // Deviation of a step's sum in units of Q for modulus raising: sqrt(4 K N) Q^2 / 12; twelve of
    // them against 2^51.
    let deviation = (4.0 * (shape.columns() * shape.polynomial_size) as f64).sqrt()
        * (2.0 * f64::from(log2_q)).exp2()
        / 12.0;
    t.line("bool", "FFT_SUM_IS_LARGE", 9.0 * deviation > 51f64.exp2());
}

fn word_constants(shape: &BootstrapShape, t: &mut Text) {
    // The headers of the integer transform name these; kernels of the torus read none of them.
    let words = match &shape.key_modulus {
        KeyModulus::Words(words) => words.as_slice(),
        KeyModulus::Torus64 => &[3],
    };
    let list = |f: &dyn Fn(Modulus) -> u32| {
        let values: Vec<String> =
            words.iter().filter_map(|&w| Modulus::new(w)).map(|m| format!("{}u", f(m))).collect();
        format!("{{{}}}", values.join(", "))
    };
    t.line("unsigned int", "PRIMES[]", list(&|m| m.value()));
    let inverse = Rns::new(words).map_or(0, |r| r.first_inverse());
    let shoup = words.last().and_then(|&w| Modulus::new(w)).map(|m| m.shoup(inverse % m.value()));
    t.line("unsigned int", "FIRST_INVERSE", format!("{}u", shoup.map_or(0, |s| s.value)));
    t.line(
        "unsigned int",
        "FIRST_INVERSE_QUOTIENT",
        format!("{}u", shoup.map_or(0, |s| s.quotient)),
    );
}

/// Roots of the first pass, the same in every thread: literals,
/// which become operands of instructions.
fn root_constants(shape: &BootstrapShape, transform: Transform, t: &mut Text) {
    match transform {
        Transform::Ntt => {
            let words: Vec<String> = roots::transforms(shape)
                .iter()
                .map(|table| {
                    let pairs: Vec<String> = table.roots()[..16]
                        .iter()
                        .map(|r| format!("{{{}u, {}u}}", r.value, r.quotient))
                        .collect();
                    format!("{{{}}}", pairs.join(", "))
                })
                .collect();
            let _ = writeln!(
                t.0,
                "__constant__ unsigned int FIRST_ROOTS[{}][16][2] = {{{}}};",
                words.len(),
                words.join(",\n")
            );
        }
        Transform::Fft => {
            let roots = roots::fft_roots(shape.polynomial_size);
            // Entry 0 is level 0, entry 2^(level - 1) + pair is block 2 pair of that level.
            let entry = |i: usize| {
                if i == 0 {
                    roots[1]
                } else {
                    let level = i.ilog2() + 1;
                    roots[(1 << level) + 2 * (i - (1 << (level - 1)))]
                }
            };
            let pairs: Vec<String> =
                (0..8).map(|i| format!("{{{:e}, {:e}}}", entry(i)[0], entry(i)[1])).collect();
            let _ = writeln!(
                t.0,
                "__constant__ double FIRST_COMPLEX_ROOTS[8][2] = {{{}}};",
                pairs.join(", ")
            );
            let list = |values: &[f64]| {
                format!(
                    "{{{}}}",
                    values.iter().map(|v| format!("{v:e}")).collect::<Vec<_>>().join(", ")
                )
            };
            let inverse = roots::inverse_first_pass(&roots);
            let ratios: Vec<String> = inverse.ratios.iter().map(|r| list(r)).collect();
            let tangents: Vec<String> = inverse.tangents.iter().map(|r| list(r)).collect();
            let _ = writeln!(
                t.0,
                "__constant__ double FIRST_INVERSE_RATIOS[4][8] = {{{}}};",
                ratios.join(", ")
            );
            let _ = writeln!(
                t.0,
                "__constant__ double FIRST_TANGENTS[4][4] = {{{}}};",
                tangents.join(", ")
            );
            let _ = writeln!(
                t.0,
                "__constant__ double FIRST_INVERSE_SCALES[16] = {};",
                list(&inverse.scales)
            );
        }
    }
}
