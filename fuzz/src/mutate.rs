//! Changes of good inputs, all of them from one seed.

use crate::Target;

/// Numbers that limits, signs and lengths are near to, as text.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "nan",
];

/// Bytes that nest, separate or end things in texts.
const SYNTAX: &[u8] = b"[]{}\"\\,:=\n\r\t #.-_\0\x7f\xff";

/// Longest input that is made.
const LONGEST: usize = 1 << 20;

/// Makes changed inputs: the same ones for the same seed.
#[derive(Clone, Debug)]
pub struct Mutator(u64);

impl Mutator {
    /// A mutator of its own sequence.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number of SplitMix64 (Steele, Lea and Flood 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0; how evenly does not matter here.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A place in `bytes`, of half of the changes near the beginning, where headers are.
    fn place(&mut self, bytes: &[u8]) -> usize {
        let near = if self.below(2) == 0 { bytes.len().min(600) } else { bytes.len() };
        self.below(near.max(1))
    }

    /// A range of `bytes`, mostly short.
    fn range(&mut self, bytes: &[u8]) -> std::ops::Range<usize> {
        let start = self.place(bytes).min(bytes.len());
        let most = if self.below(4) == 0 { bytes.len() } else { 16 };
        start..(start + self.below(most.max(1)) + 1).min(bytes.len())
    }

    /// One of the target's inputs, changed one to four times.
    pub fn change(&mut self, target: &Target) -> Vec<u8> {
        let mut bytes = self.pick(target.seeds()).clone();
        for _ in 0..1 + self.below(4) {
            let other = self.pick(target.seeds());
            self.change_once(&mut bytes, other);
            bytes.truncate(LONGEST);
        }
        // Mostly as someone would who means to be read; at times as an accident.
        if self.below(8) > 0 {
            target.seal(&mut bytes);
        }
        bytes
    }

    fn change_once(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.place(bytes);
        match self.below(12) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => {
                let value = *self.pick(&[0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b'-']);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            2 => self.overwrite_word(bytes, at),
            3 => {
                let range = self.range(bytes);
                bytes.drain(range);
            }
            4 => {
                let range = self.range(bytes);
                let copy = bytes[range].to_vec();
                let to = self.place(bytes).min(bytes.len());
                bytes.splice(to..to, copy);
            }
            5 => bytes.truncate(at),
            6 => {
                // What nests deeply or goes on and on.
                let length = 1 << self.below(17);
                let run = vec![*self.pick(SYNTAX); length];
                let at = at.min(bytes.len());
                bytes.splice(at..at, run);
            }
            7 => {
                let (from, to) = (self.range(bytes), self.range(other));
                bytes.splice(from, other[to].iter().copied());
            }
            8 | 9 => self.overwrite_number(bytes, at),
            10 => {
                let byte = *self.pick(SYNTAX);
                bytes.insert(at.min(bytes.len()), byte);
            }
            _ => self.move_line(bytes),
        }
    }

    /// Puts a number that is near a limit over 1, 2, 4 or 8 bytes.
    fn overwrite_word(&mut self, bytes: &mut [u8], at: usize) {
        let width = 1 << self.below(4);
        let length = bytes.len() as u64;
        let near = *self.pick(&[0, length, 1 << 7, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 63]);
        let value = near.wrapping_add(self.below(5) as u64).wrapping_sub(2);
        if let Some(word) = bytes.get_mut(at..at + width) {
            word.copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }

    /// Puts another number in the place of the next digits.
    fn overwrite_number(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let is_digit = |b: &u8| b.is_ascii_digit();
        let Some(start) = bytes.iter().skip(at).position(is_digit).map(|i| at + i) else { return };
        let end = start + bytes[start..].iter().take_while(|b| is_digit(b)).count();
        let number = match self.below(4) {
            0 => self.next().to_string(),
            1 => (1u64 << self.below(64)).to_string(),
            _ => (*self.pick(&NUMBERS)).to_owned(),
        };
        bytes.splice(start..end, number.into_bytes());
    }

    /// Takes a line out, or puts it elsewhere, or says it twice.
    fn move_line(&mut self, bytes: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let line = lines[self.below(lines.len())].clone();
        let at = self.below(lines.len());
        if self.below(2) == 0 {
            lines.remove(at);
        }
        if self.below(2) == 0 {
            lines.insert(at.min(lines.len()), line);
        }
        *bytes = lines.join(&b'\n');
    }
}
