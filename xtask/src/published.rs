//! Published rates that a bench prints beside its own.

/// A rate as its authors published it.
pub struct Published {
    /// Parameter set.
    pub set: &'static str,
    /// Messages that share a ciphertext.
    pub packing: usize,
    /// Bootstrappings a second.
    pub rate: f64,
    /// Who, on what.
    pub source: &'static str,
}

const fn bolt(set: &'static str, packing: usize, rate: f64) -> Published {
    Published { set, packing, rate, source: "BOLT-FHE, RTX 4090, batch 16,384" }
}

const fn bolt_a800(set: &'static str, rate: f64) -> Published {
    Published { set, packing: 1, rate, source: "BOLT-FHE, A800, batch 16,384" }
}

/// Rates from the BOLT-FHE paper (best of its tables, transfers included) and from TFHE-rs 1.8.2
/// measured on an H200.
pub const PUBLISHED: &[Published] = &[
    bolt("G1", 1, 11_423.0),
    bolt("G2", 1, 9_489.0),
    bolt("G3", 1, 11_238.0),
    bolt("G4", 1, 2_660.0),
    bolt("G5", 1, 2_457.0),
    bolt("M1", 1, 23_442.0),
    bolt("M1", 3, 31_301.0),
    bolt("M2", 1, 4_187.0),
    bolt("M2", 2, 5_726.0),
    bolt("M3", 5, 40_166.0),
    bolt("M4", 4, 23_140.0),
    bolt("M5", 5, 8_748.0),
    bolt("M6", 2, 6_299.0),
    bolt_a800("G1", 5_941.0),
    bolt_a800("G2", 4_453.0),
    bolt_a800("M1", 15_417.0),
    bolt_a800("M2", 3_580.0),
    Published {
        set: "STD128",
        packing: 1,
        rate: 34.5,
        source: "OpenFHE 1.6.1, one thread of an EPYC (29.0 ms a gate)",
    },
    Published {
        set: "TFHERS_2_2",
        packing: 1,
        rate: 47_900.0,
        source: "TFHE-rs 1.8.2, H200, bulk",
    },
    Published {
        set: "TFHERS_2_2_GROUP_2",
        packing: 1,
        rate: 22_400.0,
        source: "TFHE-rs 1.8.2, its own multi-bit set, H200, bulk",
    },
    Published {
        set: "TFHERS_2_2_GROUP_3",
        packing: 1,
        rate: 22_400.0,
        source: "TFHE-rs 1.8.2, its own multi-bit set, H200, bulk",
    },
];

/// Functions a second of large-precision messages: Xiao et al. 2025, RTX 4090, batch 16,384 (1.59,
/// 1.68, 4.99 and 6.03 ms each).
const FUNCTIONS: [(&str, f64); 4] =
    [("func", 628.9), ("floor", 595.2), ("sign", 200.4), ("decomp", 165.8)];

/// The rate published for a large-precision function.
pub fn of_function(name: &str) -> Option<f64> {
    FUNCTIONS.iter().find(|(n, _)| *n == name).map(|(_, rate)| *rate)
}

/// The rates published for `set`.
pub fn of(set: &str) -> impl Iterator<Item = &'static Published> + '_ {
    PUBLISHED.iter().filter(move |p| p.set == set)
}
