//! Device memory in few buffers: kernels bind *segments*, and limbs are handed out from them.
//!
//! A segment begins small and is replaced by a larger one with the same contents, so that what is
//! handed out stays where it is; from what one binding holds, another segment follows.

use crate::runtime::gpu::{Gpu, STORAGE};
use girih_backend::{BackendError, Result};
use std::collections::BTreeMap;

/// Words of the first segment.
const FIRST_WORDS: u32 = 1 << 20;
/// Segments that a launch can name.
pub(crate) const MOST_SEGMENTS_IN_ALL: usize = 64;

/// A word of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub segment: u32,
    pub word: u32,
}

/// Limbs of equal length, side by side as far as a segment has room.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Words of a limb.
    limb: u32,
    limbs: usize,
    /// Limbs of a whole piece; the last may have fewer.
    per_piece: usize,
    pieces: Vec<Address>,
}

/// Limbs of a block that lie side by side.
pub(crate) struct Run {
    pub address: Address,
    /// Which words of the whole range.
    pub words: std::ops::Range<usize>,
}

impl Block {
    pub fn limbs(&self) -> usize {
        self.limbs
    }

    /// Where limb `number` begins.
    pub fn address(&self, number: usize) -> Option<Address> {
        if number >= self.limbs {
            return None;
        }
        let Address { segment, word } = self.pieces[number / self.per_piece];
        Some(Address { segment, word: word + (number % self.per_piece) as u32 * self.limb })
    }

    /// Where it begins, if all of it lies side by side.
    pub fn whole(&self) -> Option<Address> {
        match &self.pieces[..] {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// The runs of `limbs` limbs from limb `first` on, all of them in the block.
    pub fn runs(&self, first: usize, limbs: usize) -> Vec<Run> {
        let mut runs = Vec::new();
        let (mut at, end) = (first, (first + limbs).min(self.limbs));
        while at < end {
            let next = end.min((at / self.per_piece + 1) * self.per_piece);
            let limb = self.limb as usize;
            if let Some(address) = self.address(at) {
                runs.push(Run { address, words: (at - first) * limb..(next - first) * limb });
            }
            at = next;
        }
        runs
    }

    /// Words of each piece, as they are taken from segments.
    fn piece_words(&self) -> impl Iterator<Item = (Address, u32)> + '_ {
        self.pieces.iter().enumerate().map(|(i, &address)| {
            let limbs = self.per_piece.min(self.limbs - i * self.per_piece);
            (address, taken(limbs, self.limb))
        })
    }
}

/// Words that so many limbs take: whole vectors.
fn taken(limbs: usize, limb: u32) -> u32 {
    (limbs as u32 * limb).next_multiple_of(4).max(4)
}

struct Segment {
    buffer: wgpu::Buffer,
    words: u32,
    /// Free runs, none next to another: first word, length.
    free: BTreeMap<u32, u32>,
}

impl Segment {
    fn take(&mut self, words: u32) -> Option<u32> {
        let (&first, &length) = self.free.iter().find(|&(_, &length)| length >= words)?;
        self.free.remove(&first);
        if length > words {
            self.free.insert(first + words, length - words);
        }
        Some(first)
    }

    fn give_back(&mut self, first: u32, words: u32) {
        let (mut first, mut end) = (first, first + words);
        if let Some((&before, &length)) = self.free.range(..first).next_back()
            && before + length == first
        {
            self.free.remove(&before);
            first = before;
        }
        if let Some(length) = self.free.remove(&end) {
            end += length;
        }
        self.free.insert(first, end - first);
    }

    /// Free words at the end.
    fn tail(&self) -> u32 {
        match self.free.last_key_value() {
            Some((&first, &length)) if first + length == self.words => length,
            _ => 0,
        }
    }
}

/// The segments of one ring.
#[derive(Default)]
pub(crate) struct Memory {
    segments: Vec<Segment>,
    /// Bytes that are handed out.
    used: u64,
    generation: u64,
}

impl Memory {
    /// Bytes that are handed out.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Changes whenever a buffer is another.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    pub fn buffer(&self, segment: u32) -> &wgpu::Buffer {
        &self.segments[segment as usize].buffer
    }

    /// Room for `limbs` limbs of `limb` words, of undefined contents.
    pub fn allocate(&mut self, gpu: &Gpu, limbs: usize, limb: usize, what: &str) -> Result<Block> {
        let most = (gpu.binding_bytes() / 16 * 4) as usize;
        let per_piece = (most / limb).clamp(1, limbs.max(1));
        let pieces = limbs.div_ceil(per_piece).max(1);
        let words =
            (0..pieces).map(|piece| taken(per_piece.min(limbs - piece * per_piece), limb as u32));
        let pieces = self.take_all(gpu, limbs, limb, words, what)?;
        Ok(Block { limb: limb as u32, limbs, per_piece, pieces })
    }

    /// Room for polynomials, each of limbs of so many words modulo these primes. Limbs modulo one
    /// prime lie side by side, whichever polynomial they are of: a tile of rows reads those of one
    /// prime alone, and finds them in few segments.
    pub fn allocate_by_prime(
        &mut self,
        gpu: &Gpu,
        polynomials: &[(usize, &[u16])],
        what: &str,
    ) -> Result<Vec<Block>> {
        let mut order = Vec::new();
        for (number, (_, primes)) in polynomials.iter().enumerate() {
            order.extend(primes.iter().enumerate().map(|(limb, &prime)| (prime, number, limb)));
        }
        order.sort_unstable();
        let words = order.iter().map(|&(_, number, _)| taken(1, polynomials[number].0 as u32));
        let longest = polynomials.iter().map(|p| p.0).max().unwrap_or(0);
        let addresses = self.take_all(gpu, order.len(), longest, words, what)?;
        let block = |&(limb, primes): &(usize, &[u16])| Block {
            limb: limb as u32,
            limbs: primes.len(),
            per_piece: 1,
            pieces: vec![Address { segment: 0, word: 0 }; primes.len()],
        };
        let mut blocks: Vec<Block> = polynomials.iter().map(block).collect();
        for ((_, number, limb), address) in order.into_iter().zip(addresses) {
            blocks[number].pieces[limb] = address;
        }
        Ok(blocks)
    }

    /// Takes pieces of so many words, all or none, for `limbs` limbs of at most `limb` words.
    fn take_all(
        &mut self,
        gpu: &Gpu,
        limbs: usize,
        limb: usize,
        pieces: impl Iterator<Item = u32>,
        what: &str,
    ) -> Result<Vec<Address>> {
        let most = (gpu.binding_bytes() / 16 * 4) as usize;
        let bytes = 4 * (limbs as u64).saturating_mul(limb as u64);
        let refuse = |why: String| BackendError::OutOfMemory {
            device: gpu.name.clone(),
            bytes,
            what: format!("{what} ({why})"),
        };
        if limb.next_multiple_of(4) > most {
            let most = 4 * most;
            return Err(refuse(format!(
                "one buffer of this device holds {most} bytes, a limb more"
            )));
        }
        if let Some(all) = gpu.memory_bytes.filter(|&all| self.used.saturating_add(bytes) > all) {
            let used = self.used;
            return Err(refuse(format!("{used} bytes are taken of the {all} of this device")));
        }
        let mut taken: Vec<(Address, u32)> = Vec::new();
        for words in pieces {
            match self.take(gpu, words, what) {
                Ok(address) => {
                    self.used += 4 * u64::from(words);
                    taken.push((address, words));
                }
                Err(error) => {
                    self.give_back(taken.into_iter());
                    let BackendError::OutOfMemory { what: why, .. } = error else {
                        return Err(error);
                    };
                    let used = self.used;
                    return Err(refuse(format!("{used} bytes are taken; refused was {why}")));
                }
            }
        }
        Ok(taken.into_iter().map(|(address, _)| address).collect())
    }

    /// Gives a block back. What is called before may still use it: calls run in order.
    pub fn free(&mut self, block: &Block) {
        self.give_back(block.piece_words());
    }

    fn give_back(&mut self, pieces: impl Iterator<Item = (Address, u32)>) {
        for (address, words) in pieces {
            if let Some(segment) = self.segments.get_mut(address.segment as usize) {
                segment.give_back(address.word, words);
                self.used -= 4 * u64::from(words);
            }
        }
        // Trailing segments that hold nothing are the driver's again; the first stays.
        while self.segments.len() > 1 && self.segments.last().is_some_and(|s| s.tail() == s.words) {
            self.segments.pop();
            self.generation += 1;
        }
    }

    fn take(&mut self, gpu: &Gpu, words: u32, what: &str) -> Result<Address> {
        for (number, segment) in self.segments.iter_mut().enumerate() {
            if let Some(word) = segment.take(words) {
                return Ok(Address { segment: number as u32, word });
            }
        }
        let most = (gpu.binding_bytes() / 16 * 4) as u32;
        // The last segment grows as long as a binding holds it, and memory both of it.
        if let Some(segment) = self.segments.last_mut() {
            let wanted = u64::from(segment.words) + u64::from(words - segment.tail());
            if wanted <= u64::from(most) {
                let roomy = segment.words.saturating_mul(2).max(wanted as u32).min(most);
                let sizes =
                    if roomy > wanted as u32 { vec![roomy, wanted as u32] } else { vec![roomy] };
                for size in sizes {
                    let Ok(buffer) = gpu.buffer(4 * u64::from(size), STORAGE, what) else {
                        continue;
                    };
                    gpu.copy(&segment.buffer, &buffer, 4 * u64::from(segment.words));
                    segment.buffer = buffer;
                    segment.give_back(segment.words, size - segment.words);
                    segment.words = size;
                    self.generation += 1;
                    let number = self.segments.len() - 1;
                    let word = self.segments[number].take(words);
                    let word = word.ok_or_else(|| gpu.failed("memory lost count".into()))?;
                    return Ok(Address { segment: number as u32, word });
                }
            }
        }
        if self.segments.len() == MOST_SEGMENTS_IN_ALL {
            return Err(BackendError::OutOfMemory {
                device: gpu.name.clone(),
                bytes: 4 * u64::from(words),
                what: format!("{what}: memory is in {MOST_SEGMENTS_IN_ALL} buffers already"),
            });
        }
        let size = if self.segments.is_empty() { FIRST_WORDS.min(most).max(words) } else { words };
        let buffer = gpu.buffer(4 * u64::from(size), STORAGE, what)?;
        let free = [(0, size)].into();
        let mut segment = Segment { buffer, words: size, free };
        let word = segment.take(words).unwrap_or(0);
        self.segments.push(segment);
        self.generation += 1;
        Ok(Address { segment: self.segments.len() as u32 - 1, word })
    }
}
