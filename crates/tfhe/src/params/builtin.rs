//! The table of built-in sets: one row each, no code per set; this library's own are files.

use super::{Mode, Origin, ParameterLiteral, ParameterSet};
use girih_backend::SecretKind;
use std::sync::OnceLock;

/// One row; the columns are those of the papers' tables, sizes as log2.
struct Row {
    name: &'static str,
    n: i64,
    log2_q: u32,
    /// N.
    size: i64,
    k: i64,
    /// g, LWE indices a step.
    grouping: i64,
    accumulator: Accumulator,
    log2_q_ks: u32,
    log2_b_ks: u32,
    claim: u32,
    log2_failure: Option<f64>,
    description: &'static str,
}

#[derive(Clone, Copy)]
enum Accumulator {
    /// log2 Q, log2 of the digit base, lowest digits dropped.
    Gd(i64, u32, i64),
    /// log2 Q, log2 of the digit base, lowest bits dropped.
    Cut(i64, u32, i64),
    /// log2 Q, log2 T, and the words of T.
    Mr(i64, i64, [i64; 2]),
    /// log2 of the digit base, digits, log2 of the bounds of LWE and GLWE errors; binary secrets.
    Torus(u32, i64, i64, i64),
}
use Accumulator::{Cut, Gd, Mr, Torus};

macro_rules! rows {
    ($($name:literal, $n:literal, $log2_q:literal, $size:literal, $k:literal, $accumulator:expr,
       $ks:literal, $bks:literal, $claim:literal, $failure:expr, $description:literal;)*) => {
        &[$(Row {
            name: $name,
            n: $n,
            log2_q: $log2_q,
            size: $size,
            k: $k,
            grouping: 1,
            accumulator: $accumulator,
            log2_q_ks: $ks,
            log2_b_ks: $bks,
            claim: $claim,
            log2_failure: $failure,
            description: $description,
        }),*]
    };
}

/// Sets that are another one but for the LWE indices a step takes: name, that set's, g, where it
/// comes from.
type Grouped = (&'static str, &'static str, i64, &'static str);

#[rustfmt::skip]
const GROUPED: &[Grouped] = &[
    ("TFHERS_2_2_GROUP_2", "TFHERS_2_2", 2,
        "TFHERS_2_2 with a bootstrapping key for pairs of LWE indices: half the steps, 1.5 times \
         the key"),
    ("TFHERS_2_2_GROUP_3", "TFHERS_2_2", 3,
        "TFHERS_2_2 with a bootstrapping key for triples of LWE indices: a third of the steps, \
         2.3 times the key"),
];

/// The same of toys.
#[rustfmt::skip]
const INSECURE_GROUPED: &[Grouped] = &[
    ("INSECURE_TOY_GROUP_2",       "INSECURE_TOY_BINARY", 2,
        "a toy for tests: binary secrets in pairs"),
    ("INSECURE_TOY_GROUP_4",       "INSECURE_TOY_BINARY", 4,
        "a toy for tests: binary secrets in fours"),
    ("INSECURE_TOY_TORUS_GROUP_2", "INSECURE_TOY_TORUS",  2,
        "a toy for tests: native torus, secrets in pairs"),
];

/// Sets of our own, as `cargo xtask search` writes them: of those that hold 128 bits against the
/// cheapest attack that is computed and fail with 2^-128 or less. With each log2 of how often, f64
/// transform, and where it comes from.
const OWN: &[(&str, f64, &str)] = &[
    (
        include_str!("own/GIRIH_GATE.toml"),
        -131.4,
        "girih's own for gates: native torus, pairs of binary LWE indices, a ternary ring",
    ),
    (
        include_str!("own/GIRIH_2_2.toml"),
        -131.1,
        "girih's own for integers: look-ups of four bits under one of padding, native torus, pairs",
    ),
];

/// BOLT-FHE Table 6, OpenFHE v1.5.1 (method GINX), TFHE-rs 1.8. Q of GD rows is the largest prime
/// (pair) of its size.
#[rustfmt::skip]
const PUBLISHED: &[Row] = rows! {
//  name            n    q   N     k  accumulator                         Q_ks B_ks claim p_fail
    "G1",           503, 10, 1024, 1, Gd(27, 8, 1),                         14, 5, 128, None,
        "BOLT-FHE G1: OpenFHE STD128 of v1.1 to v1.4, with digits of base 2^8";
    "G1_BASE512",   503, 10, 1024, 1, Gd(27, 9, 1),                         14, 5, 128, None,
        "OpenFHE STD128 of v1.1 to v1.4, with its own digits of base 2^9";
    "G2",           600, 11, 2048, 1, Gd(50, 25, 1),                        15, 5, 128, None,
        "BOLT-FHE G2: OpenFHE STD128Q_3 of v1.2 to v1.4";
    "G3",           512, 10, 1024, 1, Gd(27, 7, 1),                         14, 5, 128, None,
        "BOLT-FHE G3: OpenFHE STD128 of v1.0.4, with B_ks = 2^5";
    "G3_KS128",     512, 10, 1024, 1, Gd(27, 7, 1),                         14, 7, 128, None,
        "OpenFHE STD128 of v1.0.4, with its own B_ks = 2^7";
    "G4",          1305, 11, 2048, 1, Gd(54, 27, 1),                        35, 5, 128, None,
        "BOLT-FHE G4: OpenFHE large precision, arbitrary functions";
    "G4_BASE2P18", 1305, 11, 2048, 1, Gd(54, 18, 1),                        35, 5, 128, None,
        "G4 with finer digits, for moduli that its own are too coarse for: large precision";
    "G4_BASE2P14", 1305, 11, 2048, 1, Gd(54, 14, 1),                        35, 5, 128, None,
        "G4 with still finer digits: large precision";
    "G4_1X23",     1305, 11, 2048, 1, Cut(54, 23, 31),                      35, 5, 128, None,
        "G4 with one digit of 23 bits, where the f64 transform errs as much as what is left out: \
         large precision";
    "G4_2X15",     1305, 11, 2048, 1, Cut(54, 15, 24),                      35, 5, 128, None,
        "G4 with two digits of 15 bits for the f64 transform: large precision";
    "G4_3X12",     1305, 11, 2048, 1, Cut(54, 12, 19),                      35, 5, 128, None,
        "G4 with digits of 12, 12 and 11 bits for the f64 transform: large precision";
    "G4_4X9",      1305, 11, 2048, 1, Cut(54, 9, 18),                       35, 5, 128, None,
        "G4 with four digits of 9 bits for the f64 transform: large precision";
    "G5",          1305, 11, 1024, 1, Gd(27, 5, 1),                         35, 5, 128, None,
        "BOLT-FHE G5: OpenFHE large precision, 11-bit input";
    "M1",           512,  9, 1024, 1, Mr(16, 36, [188_417, 366_593]),       14, 9,  96, None,
        "BOLT-FHE M1: LLL+24 T_1024_36, a 95-BIT SET (claimed 96): below 128-bit security";
    "M2",          1024, 10, 2048, 1, Mr(22, 50, [28_241_921, 39_866_369]), 21, 5, 128, None,
        "BOLT-FHE M2: LLL+24 T_2048_50";
    "M3",           512, 10,  512, 3, Mr(18, 41, [642_049, 3_425_281]),     14, 7, 128, None,
        "BOLT-FHE M3: WLX+25 STD128";
    "M4",           512, 11, 1024, 2, Mr(18, 41, [995_329, 2_209_793]),     14, 7, 128, None,
        "BOLT-FHE M4: WLX+25 STD128-I";
    "M5",          1088, 11, 1024, 3, Mr(19, 44, [2_721_793, 6_463_489]),   15, 5, 256, None,
        "BOLT-FHE M5: WLX+25 STD256";
    "M6",          1024, 10, 2048, 1, Mr(17, 37, [331_777, 417_793]),       16, 8, 192, None,
        "BOLT-FHE M6: WLX+25 STD192";
    "STD128",       556, 11, 1024, 1, Gd(27, 7, 1),                         15, 5, 128, Some(-135.),
        "OpenFHE v1.5.1 STD128, also LPF_STD128; the default of this library";
    "STD128_3",     595, 11, 1024, 1, Gd(27, 7, 1),                         16, 6, 128, Some(-70.),
        "OpenFHE v1.5.1 STD128_3, for 3-input gates";
    "STD128_4",     635, 11, 1024, 1, Gd(27, 5, 1),                         17, 6, 128, Some(-65.),
        "OpenFHE v1.5.1 STD128_4, for 4-input gates";
    "STD128Q",      601, 11, 1024, 1, Gd(25, 4, 1),                         15, 5, 128, Some(-145.),
        "OpenFHE v1.5.1 STD128Q, also LPF_STD128Q";
    "STD192",       821, 11, 2048, 1, Gd(37, 13, 1),                        15, 5, 192, Some(-80.),
        "OpenFHE v1.5.1 STD192";
    "STD192Q",      890, 11, 2048, 1, Gd(34, 12, 1),                        15, 5, 192, Some(-85.),
        "OpenFHE v1.5.1 STD192Q";
    "STD256",      1299, 11, 2048, 1, Gd(29, 10, 1),                        18, 6, 256, Some(-55.),
        "OpenFHE v1.5.1 STD256";
    "STD256Q",     1242, 11, 2048, 1, Gd(26, 6, 1),                         16, 6, 256, Some(-70.),
        "OpenFHE v1.5.1 STD256Q";
    "TFHERS_2_2",   918, 12, 2048, 1, Torus(23, 1, 45, 17),                 16, 4, 128, Some(-128.),
        "TFHE-rs PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128, native torus: messages of four \
         bits under one of padding";
};

/// Toys, one for each path through keys and kernels.
#[rustfmt::skip]
const INSECURE: &[Row] = rows! {
    "INSECURE_TOY",           64, 9, 256, 1, Gd(27, 8, 1),                14, 5, 0, None,
        "a toy for tests: one word, dropped digit";
    "INSECURE_TOY_ALL",       48, 8, 256, 1, Gd(27, 9, 0),                14, 4, 0, None,
        "a toy for tests: all digits";
    "INSECURE_TOY_WORDS2",    48, 9, 256, 1, Gd(50, 25, 1),               16, 5, 0, None,
        "a toy for tests: two words";
    "INSECURE_TOY_K2",        48, 9, 256, 2, Gd(27, 7, 1),                14, 7, 0, None,
        "a toy for tests: k = 2";
    "INSECURE_TOY_MR",        64, 9, 256, 1, Mr(17, 38, [0, 0]),          14, 5, 0, None,
        "a toy for tests: modulus raising";
    "INSECURE_TOY_MR_K3",     48, 9, 256, 3, Mr(18, 41, [0, 0]),          14, 7, 0, None,
        "a toy for tests: modulus raising, k = 3";
    "INSECURE_TOY_UP",        48, 9, 256, 1, Gd(27, 5, 1),                35, 5, 0, None,
        "a toy for tests: Q_ks above Q";
    "INSECURE_TOY_BINARY",    64, 9, 256, 1, Gd(27, 8, 1),                14, 5, 0, None,
        "a toy for tests: binary secrets";
    "INSECURE_TOY_TORUS",     64, 9, 256, 1, Torus(15, 2, 40, 17),        16, 4, 0, None,
        "a toy for tests: native torus";
    "INSECURE_INTEGERS",      20, 9, 256, 1, Torus(15, 2, 40, 17),        16, 4, 0, None,
        "a toy for tests of integers: messages of four bits";
    "INSECURE_LARGE",         32, 8, 256, 1, Gd(54, 27, 1),               40, 5, 0, None,
        "a toy for tests of large precision: the coarsest digits";
    "INSECURE_LARGE_2P18",    32, 8, 256, 1, Gd(54, 18, 1),               40, 5, 0, None,
        "a toy for tests of large precision: finer digits";
    "INSECURE_LARGE_2X15",    32, 8, 256, 1, Cut(54, 15, 24),             40, 5, 0, None,
        "a toy for tests of large precision: bits dropped within a digit";
    "INSECURE_LARGE_2P9",     32, 8, 256, 1, Gd(54, 9, 1),                40, 5, 0, None,
        "a toy for tests of large precision: the finest digits";
};

/// Names that mean another set.
const ALIASES: [(&str, &str); 2] = [("LPF_STD128", "STD128"), ("LPF_STD128Q", "STD128Q")];

impl Row {
    fn set(&self) -> ParameterSet {
        let insecure = self.claim == 0;
        let mut literal = ParameterLiteral {
            name: self.name.into(),
            mode: Mode::Gd,
            secret: match self.accumulator {
                Torus(..) => SecretKind::Binary,
                // Grouped toys are binary, as everything that is grouped.
                _ if self.name.ends_with("BINARY") || self.grouping > 1 => SecretKind::Binary,
                _ => SecretKind::Ternary,
            },
            ring_secret: None,
            n: self.n,
            q: 1 << self.log2_q,
            polynomial_size: self.size,
            k: self.k,
            r: 1,
            grouping: (self.grouping > 1).then_some(self.grouping),
            log2_accumulator_modulus: 0,
            log2_key_modulus: None,
            base_g: None,
            dropped: None,
            dropped_bits: None,
            digits: None,
            q_ks: 1 << self.log2_q_ks,
            base_ks: 1 << self.log2_b_ks,
            sigma: Some(3.19),
            tuniform_lwe: None,
            tuniform_glwe: None,
            words: None,
        };
        match self.accumulator {
            Gd(log2_q, log2_base, dropped) => {
                literal.log2_accumulator_modulus = log2_q;
                literal.base_g = Some(1 << log2_base);
                literal.dropped = Some(dropped);
            }
            Cut(log2_q, log2_base, dropped_bits) => {
                literal.log2_accumulator_modulus = log2_q;
                literal.base_g = Some(1 << log2_base);
                literal.dropped_bits = Some(dropped_bits);
            }
            Mr(log2_q, log2_t, words) => {
                literal.mode = Mode::Mr;
                literal.log2_accumulator_modulus = log2_q;
                literal.log2_key_modulus = Some(log2_t);
                literal.words = (words[0] > 0).then(|| words.to_vec());
            }
            Torus(log2_base, digits, lwe, glwe) => {
                literal.mode = Mode::Torus;
                literal.log2_accumulator_modulus = 64;
                literal.base_g = Some(1 << log2_base);
                literal.digits = Some(digits);
                literal.sigma = None;
                literal.tuniform_lwe = Some(lwe);
                literal.tuniform_glwe = Some(glwe);
            }
        }
        let origin = Origin {
            description: self.description,
            claim: (!insecure).then_some(self.claim),
            log2_failure: self.log2_failure,
        };
        ParameterSet::checked(&literal, self.size as usize, origin)
            .expect("every row of the table is a valid set")
    }
}

/// `rows`, then the sets that group the indices of one of them.
fn with_grouped(rows: &[Row], grouped: &[Grouped]) -> Vec<ParameterSet> {
    let grouped = grouped.iter().map(|&(name, of, grouping, description)| {
        let row = rows
            .iter()
            .find(|row| row.name == of)
            .expect("it groups the indices of a row of this table");
        // What the source states of failures is about its own key.
        Row { name, grouping, log2_failure: None, description, ..*row }.set()
    });
    rows.iter().map(Row::set).chain(grouped).collect()
}

fn own(&(file, log2_failure, description): &(&str, f64, &'static str)) -> ParameterSet {
    let literal = ParameterLiteral::from_toml(file).expect("own files are parameter files");
    let origin = Origin { description, claim: Some(128), log2_failure: Some(log2_failure) };
    ParameterSet::checked(&literal, literal.polynomial_size as usize, origin)
        .expect("own files are valid sets")
}

fn tables() -> &'static (Vec<ParameterSet>, Vec<ParameterSet>) {
    // Finding the primes of every row takes a while: once.
    static TABLES: OnceLock<(Vec<ParameterSet>, Vec<ParameterSet>)> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut published = with_grouped(PUBLISHED, GROUPED);
        published.extend(OWN.iter().map(own));
        (published, with_grouped(INSECURE, INSECURE_GROUPED))
    })
}

pub(super) fn published() -> Vec<ParameterSet> {
    tables().0.clone()
}

pub(super) fn insecure() -> Vec<ParameterSet> {
    tables().1.clone()
}

pub(super) fn find(name: &str) -> Option<ParameterSet> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    let (published, insecure) = tables();
    published.iter().chain(insecure).find(|set| set.name() == name).cloned()
}
