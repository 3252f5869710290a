//! What a caller may choose of a plan: the names and values of [`PlanRequest::choices`].

use girih_backend::{PlanRequest, Result};

/// What of `blind_rotate` is counted by loops instead of being unrolled into scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rolled {
    /// Everything is unrolled, and in registers.
    Nothing = 0,
    /// Columns: accumulators are arrays of a thread's own, transformed digits registers.
    Columns = 1,
    /// Columns and rows: both are arrays.
    RowsAndColumns = 2,
}

/// The values of [`PlanRequest::choices`] that these kernels know.
pub(crate) const CHOICES: [(&str, &[u32]); 7] = [
    ("items", &[4, 8, 16]),
    ("staged", &[1, 2, 3, 4, 6, 8]),
    ("rolled", &[0, 1, 2]),
    ("signed", &[0, 1]),
    ("looped", &[0, 1]),
    ("key_switch_parts", &[1, 2, 4, 8, 16, 32, 64, 128, 256]),
    ("few", &[0, 2, 3, 4, 6, 8]),
];

/// [`PlanRequest::choices`], read: `items` a thread, polynomials `staged` in an exchange, what is
/// `rolled`, whether words are `signed`, whether a loop counts primes (`looped`, on the native
/// torus), workgroups that share the key switch of one ciphertext (left open, by the size of the
/// batch), polynomials staged by the variant for `few` ciphertexts (0: none; left open, the
/// model's, where loading finds it faster).
#[derive(Clone, Copy, Default)]
pub(crate) struct Choices {
    pub items: Option<usize>,
    pub staged: Option<usize>,
    pub rolled: Option<Rolled>,
    pub signed: Option<bool>,
    pub looped: Option<bool>,
    pub key_switch_parts: Option<usize>,
    pub few: Option<usize>,
}

impl Choices {
    /// Reads `request`; the error is what was asked for and what there is.
    pub fn of(request: &PlanRequest) -> Result<Self, (String, String)> {
        let mut all = Self::default();
        for (name, &value) in &request.choices {
            let Some((_, values)) = CHOICES.iter().find(|(n, _)| n == name) else {
                let known: Vec<&str> = CHOICES.iter().map(|(n, _)| *n).collect();
                return Err((
                    format!("the plan choice `{name}`"),
                    format!("WGSL kernels know {}", known.join(", ")),
                ));
            };
            if !values.contains(&value) {
                return Err((format!("{name} = {value}"), format!("{name} is one of {values:?}")));
            }
            match name.as_str() {
                "items" => all.items = Some(value as usize),
                "staged" => all.staged = Some(value as usize),
                "rolled" => {
                    all.rolled = Some(
                        [Rolled::Nothing, Rolled::Columns, Rolled::RowsAndColumns][value as usize],
                    )
                }
                "signed" => all.signed = Some(value == 1),
                "looped" => all.looped = Some(value == 1),
                "key_switch_parts" => all.key_switch_parts = Some(value as usize),
                _ => all.few = Some(value as usize),
            }
        }
        Ok(all)
    }
}
