//! CKKS sets in `cargo xtask sets`.

use girih::ckks::CkksParameters;

/// What the columns hold.
pub const HEADS: [&str; 6] = ["set", "N", "log2 QP", "levels", "security", "what"];

/// What is to be known of the columns.
pub const LEGEND: &str = "
levels    of a fresh ciphertext, or one that was bootstrapped
security  bits of the dense secret under all primes against uSVP (BDGL16) / against the cheapest \
attack that
          is computed (MATZOV); then, for sets that bootstrap, of the sparse secret under the \
primes of its key
          against the primal hybrid / the dual hybrid attack (MATZOV) / a search of all secrets \
(S^0.3)";

/// One set, a cell a column.
pub fn row(set: &CkksParameters) -> [String; 6] {
    let security = set.security();
    let [dense, matzov] = [security.estimate.dense, security.estimate.dense_matzov].map(f64::floor);
    [
        set.name().to_owned(),
        format!("2^{}", set.chain().log2_degree()),
        format!("{:.1}", set.log2_modulus()),
        set.default_level().to_string(),
        match security.estimate.sparse {
            Some(sparse) => format!(
                "{dense:.0} / {matzov:.0} / {:.0} / {:.0} / {:.0}",
                sparse.primal_hybrid.floor(),
                sparse.dual_hybrid.floor(),
                sparse.search.floor()
            ),
            None => format!("{dense:.0} / {matzov:.0}"),
        },
        set.description().to_owned(),
    ]
}
