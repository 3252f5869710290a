//! Shapes in use, by what is special about them: what plans are tested on.

use girih_backend::{BootstrapShape, Gadget, KeyModulus, SecretKind};
use girih_ring::{largest_ntt_prime, largest_ntt_prime_pair};

/// log2 of the digit base, of bits dropped and of Q; or the modulus raised from, and the words.
enum Kind {
    OneWord(u32, u32),
    TwoWords(u32, u32, u32),
    Raised(u32, [u32; 2]),
    Torus(usize),
}
use Kind::{OneWord, Raised, Torus, TwoWords};

/// Name, n, log2 q, N, k, gadget and modulus, log2 Q_ks, log2 B_ks.
type Row = (&'static str, usize, u32, usize, usize, Kind, (u32, u32));

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("word_3x7",        556, 11, 1024, 1, OneWord(7, 7),                         (15, 5)),
    ("word_3x8",        503, 10, 1024, 1, OneWord(8, 8),                         (14, 5)),
    ("word_2x9",        503, 10, 1024, 1, OneWord(9, 9),                         (14, 5)),
    ("word_5x5",       1305, 11, 1024, 1, OneWord(5, 5),                         (35, 5)),
    ("words_1x25",      600, 11, 2048, 1, TwoWords(50, 25, 25),                  (15, 5)),
    ("words_1x27",     1305, 11, 2048, 1, TwoWords(54, 27, 27),                  (35, 5)),
    ("words_3x14",     1305, 11, 2048, 1, TwoWords(54, 14, 14),                  (35, 5)),
    ("raised_16",       512,  9, 1024, 1, Raised(16, [188_417, 366_593]),        (14, 9)),
    ("raised_22",      1024, 10, 2048, 1, Raised(22, [28_241_921, 39_866_369]),  (21, 5)),
    ("raised_18_k3",    512, 10,  512, 3, Raised(18, [642_049, 3_425_281]),      (14, 7)),
    ("raised_18_k2",    512, 11, 1024, 2, Raised(18, [995_329, 2_209_793]),      (14, 7)),
    ("raised_19_k3",   1088, 11, 1024, 3, Raised(19, [2_721_793, 6_463_489]),    (15, 5)),
    ("raised_17",      1024, 10, 2048, 1, Raised(17, [331_777, 417_793]),        (16, 8)),
    ("torus",           918, 12, 2048, 1, Torus(1),                              (16, 4)),
    ("torus_pairs",     918, 12, 2048, 1, Torus(2),                              (16, 4)),
    ("torus_triples",   918, 12, 2048, 1, Torus(3),                              (16, 4)),
];

/// The names of all.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.0)
}

/// The shape called `name`, with `packing` slots.
pub(crate) fn shape(name: &str, packing: usize) -> BootstrapShape {
    let &(
        _,
        lwe_dimension,
        log2_lwe_modulus,
        polynomial_size,
        glwe_dimension,
        ref kind,
        (log2_ks_modulus, log2_ks_base),
    ) = ROWS.iter().find(|row| row.0 == name).expect("a row");
    let digits = |log2_modulus: u32, log2_base: u32, dropped_bits: u32| {
        let levels = (log2_modulus - dropped_bits).div_ceil(log2_base) as usize;
        Gadget::Decomposition { log2_base, levels, dropped_bits }
    };
    let order = 2 * polynomial_size as u32;
    let (gadget, words, grouping) = match *kind {
        OneWord(log2_base, dropped) => (
            digits(27, log2_base, dropped),
            vec![largest_ntt_prime(27, order).expect("a prime")],
            1,
        ),
        TwoWords(log2_modulus, log2_base, dropped) => {
            let pair = largest_ntt_prime_pair(log2_modulus, order).expect("a pair");
            (digits(log2_modulus, log2_base, dropped), pair.to_vec(), 1)
        }
        Raised(log2_modulus, words) => (Gadget::ModulusRaising { log2_modulus }, words.to_vec(), 1),
        Torus(grouping) => {
            (Gadget::ClosestRepresentative { log2_base: 23, levels: 1 }, Vec::new(), grouping)
        }
    };
    let torus = words.is_empty();
    let shape = BootstrapShape {
        lwe_dimension,
        log2_lwe_modulus,
        polynomial_size,
        glwe_dimension,
        packing,
        secret: if torus { SecretKind::Binary } else { SecretKind::Ternary },
        grouping,
        gadget,
        key_modulus: if torus { KeyModulus::Torus64 } else { KeyModulus::Words(words) },
        log2_ks_modulus,
        log2_ks_base,
    };
    shape.validate().unwrap_or_else(|e| panic!("{name}: {e}"));
    shape
}
