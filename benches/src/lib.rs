//! What the benches share. Run them with `cargo bench --package girih-benches`, one by `-- STD128`,
//! say: every id carries its set's name.

use girih_tfhe::ParameterSet;

/// Sets with one word (STD128), two words (G4), and modulus raising with a packed mask (M3).
pub fn sets() -> Vec<ParameterSet> {
    ["STD128", "G4", "M3"]
        .iter()
        .map(|name| ParameterSet::by_name(name).expect("a published set"))
        .collect()
}

/// Integers below `modulus` from a fixed linear congruential sequence:
/// cheap, the same in every run.
pub fn integers(modulus: u64, len: usize) -> Vec<u64> {
    let mut x = 1u64;
    (0..len)
        .map(|_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 11) % modulus
        })
        .collect()
}
