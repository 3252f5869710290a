//! The limbs of a schedule by number, and the tiles that name them.

use girih_backend::poly::ResidentShape;
use girih_backend::poly::schedule::Limb;
use std::collections::HashMap;

/// A vector of a routine's records.
pub(crate) type Record = [u32; 4];

/// A tile in the records.
pub(crate) struct ReadyTile {
    /// Its first record.
    pub first: u32,
    /// Slots of a thread that it fills at most.
    pub slots: usize,
    /// The numbers of its limbs, ascending.
    pub limbs: Vec<u32>,
    /// Those that it writes, ascending.
    pub written: Vec<u32>,
}

impl ReadyTile {
    /// Whether it writes a limb.
    pub fn writes(&self, limb: u32) -> bool {
        self.written.binary_search(&limb).is_ok()
    }
}

/// The limbs of a schedule, numbered as they come; and those that one tile names.
pub(crate) struct Limbs<'a> {
    residents: &'a [ResidentShape],
    arena: usize,
    numbers: HashMap<Limb, u32>,
    /// What the numbers mean.
    pub all: Vec<Limb>,
    /// The words of each.
    pub words: Vec<u32>,
    degree: u32,
    of_tile: Vec<u32>,
    written: Vec<u32>,
}

impl<'a> Limbs<'a> {
    /// Limbs of `degree` words, in an arena of so many, and in resident polynomials by slot.
    pub fn new(degree: usize, arena: usize, residents: &'a [ResidentShape]) -> Self {
        Self {
            residents,
            arena,
            numbers: HashMap::new(),
            all: Vec::new(),
            words: Vec::new(),
            degree: degree as u32,
            of_tile: Vec::new(),
            written: Vec::new(),
        }
    }

    pub fn begin_tile(&mut self) {
        self.of_tile.clear();
        self.written.clear();
    }

    /// A tile of the limbs named since `begin_tile`.
    pub fn tile(&mut self, first: usize, slots: usize) -> ReadyTile {
        let sorted = |limbs: &mut Vec<u32>| {
            limbs.sort_unstable();
            limbs.dedup();
            limbs.clone()
        };
        let (limbs, written) = (sorted(&mut self.of_tile), sorted(&mut self.written));
        ReadyTile { first: first as u32, slots, limbs, written }
    }

    /// Whether each word of a limb stands for itself alone.
    pub fn is_whole(&self, limb: Limb) -> bool {
        match limb {
            Limb::Resident { slot, .. } => {
                self.residents.get(slot as usize).is_some_and(|shape| shape.log2_run == 0)
            }
            _ => true,
        }
    }

    /// The number of a limb that is read, and log2 of the words that one of its words stands for.
    pub fn read(&mut self, limb: Limb) -> Result<(u32, u32), String> {
        let log2_run = match limb {
            Limb::Arena(number) if number as usize >= self.arena => {
                return Err(format!("limb {number} of an arena of {}", self.arena));
            }
            Limb::Resident { slot, limb: number } => match self.residents.get(slot as usize) {
                Some(shape) if usize::from(number) < shape.basis.len() => shape.log2_run,
                _ => return Err(format!("there is no {limb:?}")),
            },
            _ => 0,
        };
        let number = *self.numbers.entry(limb).or_insert_with(|| {
            self.all.push(limb);
            self.words.push(self.degree >> log2_run);
            self.all.len() as u32 - 1
        });
        self.of_tile.push(number);
        Ok((number, log2_run))
    }

    /// The number of a limb that is written.
    pub fn write(&mut self, limb: Limb) -> Result<u32, String> {
        if matches!(limb, Limb::Input { .. } | Limb::Resident { .. }) {
            return Err(format!("{limb:?} cannot be written"));
        }
        let (number, _) = self.read(limb)?;
        self.written.push(number);
        Ok(number)
    }
}
