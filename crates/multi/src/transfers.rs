//! Ciphertexts on their way from one member to another.

use crate::places::neighbours;
use girih_backend::{Combination, Engine, LinearJob, Operand, Result};

/// Places at the beginning of each member's store through which scattered ciphertexts pass, side by
/// side, on their way.
pub(crate) const SCRATCH: usize = 1024;

/// Runs of neighbours that are read or written one by one; more pass through the scratch places.
pub(crate) const FEW: usize = 4;

/// Ciphertexts on their way: their places, ascending, and their words.
pub(crate) struct Sent {
    pub places: Vec<u32>,
    pub words: Vec<u32>,
}

/// Copies of ciphertexts as they are: what a combination modulo the largest modulus leaves alone.
fn copies(engine: &Engine, pairs: impl Iterator<Item = (u32, u32)>) -> Result<()> {
    let log2_modulus = if engine.shape().is_torus() { 64 } else { 30 };
    let copy = |(from, output)| LinearJob {
        input: Combination::new(&[Operand { ciphertext: from, weight: 1 }], 0, log2_modulus),
        log2_output_modulus: log2_modulus,
        output,
    };
    engine.combine(&pairs.map(copy).collect::<Vec<_>>())
}

/// Where a member has the ciphertext of a place.
pub(crate) fn at(place: u32) -> u32 {
    place + SCRATCH as u32
}

/// Reads ascending places of one member.
pub(crate) fn fetch(engine: &Engine, places: &[u32]) -> Result<Vec<u32>> {
    let len = engine.shape().ciphertext_len();
    let mut words = vec![0; places.len() * len];
    let runs = neighbours(places);
    if runs.len() <= FEW {
        let mut rest = &mut words[..];
        for run in runs {
            let (now, later) = rest.split_at_mut(run.len() * len);
            engine.read(SCRATCH + run.start, now)?;
            rest = later;
        }
    } else {
        for (places, words) in places.chunks(SCRATCH).zip(words.chunks_mut(SCRATCH * len)) {
            copies(engine, places.iter().copied().zip(0..).map(|(place, i)| (at(place), i)))?;
            engine.read(0, words)?;
        }
    }
    Ok(words)
}

/// Writes ciphertexts to their places.
pub(crate) fn deliver(engine: &Engine, Sent { places, words }: &Sent) -> Result<()> {
    let len = engine.shape().ciphertext_len();
    let runs = neighbours(places);
    if runs.len() <= FEW {
        let mut rest = &words[..];
        for run in runs {
            let (now, later) = rest.split_at(run.len() * len);
            engine.write(SCRATCH + run.start, now)?;
            rest = later;
        }
        return Ok(());
    }
    for (places, words) in places.chunks(SCRATCH).zip(words.chunks(SCRATCH * len)) {
        engine.write(0, words)?;
        copies(engine, places.iter().copied().zip(0..).map(|(place, i)| (i, at(place))))?;
    }
    Ok(())
}
