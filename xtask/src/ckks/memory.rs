//! `cargo xtask memory`: what a bootstrapping takes on a device, and on which cards it fits.

use crate::bytes::{self, gib};
use anyhow::{Context, Result};
use girih::ckks::server::{Bootstrapping, MemoryRung};
use girih::ckks::{CkksParameters, PolyPlan};
use girih::contract::ckks::{Chain, ChainShape};
use girih_backend::DeviceLimits;
use girih_cuda::{limits_of, poly_plan};

#[derive(clap::Args)]
pub struct Arguments {
    /// A CKKS set with a bootstrapping.
    #[arg(long, default_value = "CKKS_D40_30BIT_LOW_STC_FIRST")]
    set: String,
    /// Also a device of so much memory, such as 24G, with the blocks of an RTX 4090.
    #[arg(long, value_name = "BYTES", value_parser = bytes::parse)]
    limit: Option<u64>,
    /// Do not look whether every kernel's tiles fit the cards' blocks.
    #[arg(long)]
    no_kernels: bool,
}

/// A kind of GPU, as its data sheet has it.
struct Card {
    name: &'static str,
    /// Ten times its compute capability, which says how much shared memory a block may have.
    capability: u32,
    bytes: u64,
    l2_bytes: u64,
}

const CARDS: [Card; 4] = [
    Card { name: "RTX 4090", capability: 89, bytes: 24 << 30, l2_bytes: 72 << 20 },
    Card { name: "RTX 5090", capability: 120, bytes: 32 << 30, l2_bytes: 96 << 20 },
    Card { name: "A100 40 GB", capability: 80, bytes: 40 << 30, l2_bytes: 40 << 20 },
    Card { name: "H200", capability: 90, bytes: 141 << 30, l2_bytes: 60 << 20 },
];

/// The part of a card's memory that is left to tables, kernels and the driver.
const RESERVED: u64 = 20;

/// The first way to make keys that fits `bytes` with one ciphertext, and how many fit with it.
fn fitting(ladder: &[MemoryRung], bytes: u64) -> Option<(&MemoryRung, u64)> {
    let room = bytes - bytes / RESERVED;
    let rung = ladder.iter().find(|rung| rung.need.total(1) <= room)?;
    let each = rung.need.working + rung.need.ciphertexts;
    Some((rung, (room - rung.need.total(0)) / each))
}

fn ladder(set: &CkksParameters, plan: &PolyPlan) -> Result<Vec<MemoryRung>> {
    Ok(Bootstrapping::default().memory_ladder(set, set.slots(), plan)?)
}

/// Bytes of the raised digits of one key switch at `level`.
fn raised_digits(set: &CkksParameters, level: usize) -> u64 {
    let chain = set.chain();
    let limbs = chain.digits_at(level).len() * chain.extended(level).len();
    (4 * chain.degree() * limbs) as u64
}

/// The most shared memory that a kernel of the set's operations asks for, and how many kernels
/// there are; an error where one does not fit.
fn kernels(set: &CkksParameters, limits: &DeviceLimits) -> Result<(usize, usize)> {
    let plan = poly_plan(limits, set.chain().log2_degree());
    let all = crate::poly_kernels::kernels(set, true, limits, &plan)?;
    Ok((all.iter().map(|kernel| kernel.shared).max().unwrap_or(0), all.len()))
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let set = CkksParameters::by_name(&arguments.set)?;
    let chain = Chain::new(ChainShape::from(&set))?;
    set.bootstrapping().with_context(|| format!("{set} has no bootstrapping"))?;
    let own = Card {
        name: "as asked",
        capability: 89,
        bytes: arguments.limit.unwrap_or(0),
        l2_bytes: 72 << 20,
    };
    let asked = arguments.limit.map(|_| &own);
    let mut known: Vec<(PolyPlan, Vec<MemoryRung>)> = Vec::new();
    let mut good = true;
    for card in asked.into_iter().chain(&CARDS) {
        let limits = limits_of(card.capability);
        let plan = poly_plan(&limits, set.chain().log2_degree());
        if !known.iter().any(|(other, _)| *other == plan) {
            let made = ladder(&set, &plan)?;
            println!("{set}, up to {} slots of rows in a block:", plan.most_row_slots);
            println!(
                "  {:<26}{:>5}{:>12}{:>12}{:>12}{:>14}{:>14}{:>12}",
                "",
                "keys",
                "of keys",
                "of sums",
                "of vectors",
                "a ciphertext",
                "in all for 1",
                "for 4"
            );
            for rung in &made {
                let need = &rung.need;
                println!(
                    "  {:<26}{:>5}{:>12}{:>12}{:>12}{:>14}{:>14}{:>12}",
                    rung.name,
                    rung.keys.len(),
                    gib(need.keys),
                    gib(need.sums),
                    gib(need.vectors),
                    gib(need.working + need.ciphertexts),
                    gib(need.total(1)),
                    gib(need.total(4))
                );
            }
            known.push((plan, made));
        }
        let made = known.iter().find(|(other, _)| *other == plan).map(|(_, made)| made.as_slice());
        let fits = match fitting(made.unwrap_or_default(), card.bytes) {
            Some((rung, most)) => format!("fits by {}, {most} at once", rung.name),
            None => {
                good = false;
                "does not fit: take a set of fewer levels or of smaller N".to_owned()
            }
        };
        println!("{:<12}{:>10}: {fits}", card.name, gib(card.bytes));
        // Half of L2 serves what is read while the other half is written.
        let level = (0..=chain.top()).rev().find(|&l| raised_digits(&set, l) <= card.l2_bytes / 2);
        println!(
            "{:<12}raised digits of a key switch: {} MiB at the top; in half of {} MiB of L2 up to \
             level {}",
            "",
            raised_digits(&set, chain.top()) >> 20,
            card.l2_bytes >> 20,
            level.map_or_else(|| "none".to_owned(), |level| level.to_string())
        );
        if !arguments.no_kernels {
            match kernels(&set, &limits) {
                Ok((most, count)) => println!(
                    "{:<12}{count} kernels, up to {most} of {} bytes of shared memory a block",
                    "", limits.workgroup_memory_bytes
                ),
                Err(error) => {
                    good = false;
                    println!("{:<12}a kernel does not fit: {error}", "");
                }
            }
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card of 24 GB runs the bootstrapping of the default set as it is, many at once; keys that
    /// reach as far as they are used take two fifths less; by few keys it fits a card of 3 GB.
    #[test]
    fn a_bootstrapping_of_the_default_set_fits_24_gb() {
        let set = CkksParameters::default();
        let made = ladder(&set, &poly_plan(&limits_of(89), set.chain().log2_degree()))
            .expect("it bootstraps");
        let names = ["keys for all levels", "keys for their levels", "few keys for their levels"];
        assert_eq!(made.iter().map(|rung| rung.name).collect::<Vec<_>>(), names);
        let keys: Vec<u64> = made.iter().map(|rung| rung.need.keys).collect();
        assert!(10 * keys[1] < 9 * keys[0] && 2 * keys[2] < keys[1], "{keys:?}");
        let of = |bytes: u64| fitting(&made, bytes).map(|(rung, most)| (rung.name, most));
        let (name, most) = of(24 << 30).expect("it fits");
        assert!(name == names[0] && most >= 8, "{name}, {most} at once");
        assert_eq!(of(11 << 29).map(|(name, _)| name), Some(names[1]));
        assert_eq!(of(3 << 30).map(|(name, _)| name), Some(names[2]));
        assert_eq!(of(1 << 30), None);
    }
}
