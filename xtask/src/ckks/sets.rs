//! CKKS sets in `cargo xtask sets`.

use girih::ckks::CkksParameters;

/// What the columns hold.
pub const HEADS: [&str; 6] = ["set", "N", "log2 QP", "levels", "security", "what"];

/// What is to be known of the columns.
pub const LEGEND: &str = "
levels    of a fresh ciphertext, or one that was bootstrapped
security  bits against uSVP (BDGL16) of the dense secret under all primes / of the sparse secret \
against that or a search
          of all secrets (S^0.3), whichever is cheaper";

/// One set, a cell a column.
pub fn row(set: &CkksParameters) -> [String; 6] {
    let security = set.security();
    [
        set.name().to_owned(),
        format!("2^{}", set.chain().log2_degree()),
        format!("{:.1}", set.log2_modulus()),
        set.default_level().to_string(),
        match security.estimate.sparse {
            Some(sparse) => {
                let least = sparse.primal.min(sparse.search);
                format!("{:.0} / {:.0}", security.estimate.dense.floor(), least.floor())
            }
            None => format!("{:.0}", security.estimate.dense.floor()),
        },
        set.description().to_owned(),
    ]
}
