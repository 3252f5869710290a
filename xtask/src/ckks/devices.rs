//! CKKS in `cargo xtask devices`.

use anyhow::Result;
use girih::Device;
use girih::ckks::server::Bootstrapping;
use girih::ckks::{CkksParameters, KeyKind, KeyRange};
use serde::Serialize;

/// Polynomials over all primes that stand for what is on a device beside keys: tables, encoded
/// matrices, ciphertexts, and what one bootstrapping computes on its way. CKKS_D40 was measured to
/// take 39 (docs/benchmarks).
const WORKING_POLYNOMIALS: u64 = 40;

/// What a device can run.
#[derive(Debug, PartialEq, Serialize)]
pub struct Ckks {
    /// Names of the sets whose keys and work fit, largest first.
    sets: Vec<String>,
    /// Bytes that the first of them takes, with the keys of a bootstrapping where it has one, else
    /// those of products and of rotations by powers of two.
    bytes: u64,
    /// Name and bytes of the smallest set that does not fit.
    too_large: Option<(String, u64)>,
    /// Bytes of the device, where it tells.
    memory_bytes: Option<u64>,
}

fn bytes(set: &CkksParameters) -> Result<u64> {
    let kinds = match set.bootstrapping() {
        Some(_) => Bootstrapping::default().keys_by_level(set, set.slots())?,
        None => {
            let powers = (0..set.slots().ilog2()).map(|i| 1i64 << i);
            let rotations = powers.filter_map(|by| KeyKind::rotation(set, by));
            rotations.chain([KeyKind::Multiplication]).map(KeyRange::from).collect()
        }
    };
    Ok(with_keys(set, kinds))
}

/// Bytes with these keys.
fn with_keys(set: &CkksParameters, keys: Vec<KeyRange>) -> u64 {
    let keys: u64 = keys.into_iter().map(|key| key.bytes(set)).sum();
    let words = set.chain().moduli().len() * set.degree();
    keys + WORKING_POLYNOMIALS * 4 * words as u64
}

/// Every set with the bytes that it takes, largest first.
pub fn all() -> Result<Vec<(String, u64)>> {
    let sets = CkksParameters::all();
    let sized = sets.iter().map(|set| Ok((set.name().to_owned(), bytes(set)?)));
    let mut sized = sized.collect::<Result<Vec<_>>>()?;
    sized.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Ok(sized)
}

/// What `device` can run of `all`; none where it runs no programs on polynomials.
pub fn of(device: &Device, all: &[(String, u64)]) -> Option<Ckks> {
    let memory_bytes = device.backend().poly()?.memory_bytes();
    let fits = |(_, bytes): &&(String, u64)| memory_bytes.is_none_or(|have| *bytes <= have);
    let fitting: Vec<_> = all.iter().filter(fits).collect();
    Some(Ckks {
        sets: fitting.iter().map(|(name, _)| name.clone()).collect(),
        bytes: fitting.first().map_or(0, |(_, bytes)| *bytes),
        too_large: all.iter().rfind(|set| !fits(set)).cloned(),
        memory_bytes,
    })
}

impl std::fmt::Display for Ckks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64);
        let have = self.memory_bytes.map_or_else(String::new, |have| format!(" of {}", gib(have)));
        match (self.sets.first(), &self.too_large) {
            (Some(largest), None) => {
                write!(
                    f,
                    "every set; the largest, {largest}, takes about {}{have}",
                    gib(self.bytes)
                )
            }
            (Some(largest), Some((other, bytes))) => write!(
                f,
                "{} sets, up to {largest} with about {}{have}; {other} takes {}",
                self.sets.len(),
                gib(self.bytes),
                gib(*bytes)
            ),
            (None, _) => write!(f, "no set fits{have}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_decides_what_fits() {
        let all = vec![("LARGE".to_owned(), 6 << 30), ("SMALL".to_owned(), 1 << 30)];
        let device = Device::open("cpu").expect("always there");
        let found = of(&device, &all).expect("the CPU runs programs on polynomials");
        assert!(!found.sets.is_empty());
        let some = Ckks {
            sets: vec!["SMALL".into()],
            bytes: 1 << 30,
            too_large: Some(("LARGE".into(), 6 << 30)),
            memory_bytes: Some(4 << 30),
        };
        let line = some.to_string();
        assert!(line.contains("up to SMALL with about 1.0 GiB of 4.0 GiB"), "{line}");
        assert!(line.contains("LARGE takes 6.0 GiB"), "{line}");
    }

    /// A bootstrapping of CKKS_D40 was measured to take 5,702,709,776 bytes, its keys made for all
    /// levels.
    #[test]
    fn the_estimate_is_near_what_was_measured() {
        let set = CkksParameters::by_name("CKKS_D40").expect("built in");
        let kinds = Bootstrapping::default().keys(&set, set.slots()).expect("it bootstraps");
        let whole = kinds.into_iter().map(KeyRange::from).collect();
        let estimate = with_keys(&set, whole) as f64;
        let ratio = estimate / 5_702_709_776.0;
        assert!((0.98..1.05).contains(&ratio), "{ratio}");
    }
}
