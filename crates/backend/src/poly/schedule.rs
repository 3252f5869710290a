//! Schedules: launches of three fused kernels, as data.
//!
//! A limb of N words is a matrix of C rows of R = min(N, 1024) contiguous words. A transform is two
//! half transforms: of columns (C points, stride R) and of rows (R points). Rows are at home in
//! evaluations, columns in coefficients, and each kernel works on one half from beginning to end:
//!
//! | kernel | a block holds of several limbs | does |
//! |---|---|---|
//! | `poly_rows` | one row, one prime | forward rows, sums of products, inverse rows |
//! | `poly_columns` | columns, several primes | inverse columns, conversions, forward columns |
//! | `poly_pointwise` | some words, one prime | sums of products |
//!
//! A launch is a list of *tiles* that do not depend on each other. A tile loads limbs into its
//! slots, computes sums of them, each of which is a slot too, and stores some. Launches run one
//! after the other; a launch writes no limb that it reads, and none twice.

use crate::poly::{Domain, Value, View};

/// [`View::Lifted`] as a value of [`Load::automorphism`].
pub const LIFTED: u32 = View::Lifted.code();
/// [`View::LiftedConjugate`].
pub const LIFTED_CONJUGATE: u32 = View::LiftedConjugate.code();
/// [`View::Restricted`].
pub const RESTRICTED: u32 = View::Restricted.code();
/// [`View::RestrictedMinus`].
pub const RESTRICTED_MINUS: u32 = View::RestrictedMinus.code();

/// How a limb lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Evaluations, in the order of `girih_ring::NttTable`.
    Evaluations,
    /// Between the two halves of a transform, canonical: after forward columns, to be read by rows;
    /// or after inverse rows (without the factor N^-1), to be read by columns.
    Half,
    /// Coefficients, word k that of X^k, or of Y^k + Y^-k.
    Coefficients,
}

impl From<Domain> for Form {
    fn from(domain: Domain) -> Self {
        match domain {
            Domain::Coefficients => Self::Coefficients,
            Domain::Evaluations => Self::Evaluations,
        }
    }
}

/// A limb in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limb {
    /// Limb number `_` of the arena that each call has to itself.
    Arena(u32),
    /// A limb of what the call binds to an input.
    Input {
        /// The slot.
        slot: u16,
        /// The place in the basis of that input.
        limb: u16,
    },
    /// A limb of what the call binds to an output.
    Output {
        /// The slot.
        slot: u16,
        /// The place in the basis of that output.
        limb: u16,
    },
    /// A limb of a resident polynomial; always evaluations, N / 2^log2_run words of them.
    Resident {
        /// The slot of the program.
        slot: u32,
        /// The place in the basis of that polynomial.
        limb: u16,
    },
}

/// A limb that a tile reads into a slot, or straight into a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Load {
    /// Where it lies.
    pub from: Limb,
    /// How it lies there. `poly_rows` transforms a [`Form::Half`] forward; `poly_columns` inversely
    /// (N^-1 included).
    pub form: Form,
    /// X -> X^g of the evaluations, 1 for none; or a view of a limb of the other ring, which is one
    /// of the even numbers [`LIFTED`] to [`RESTRICTED_MINUS`]. Only on [`Form::Evaluations`].
    pub automorphism: u32,
}

/// Where a tile writes a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// The limb. Never [`Limb::Input`] or [`Limb::Resident`].
    pub to: Limb,
    /// How it is to lie there: `poly_rows` transforms inversely for [`Form::Half`],
    /// `poly_columns` forward.
    pub form: Form,
    /// X -> X^g, applied to the evaluations before anything else, 1 for none. Only in `poly_rows`
    /// and `poly_pointwise`.
    pub automorphism: u32,
}

/// An operand of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Slot number `_` of the tile: its loads come first, then its sums.
    Slot(u16),
    /// Evaluations that only this product reads, word by word: no slot is spent.
    Stream(Load),
}

/// One summand of a [`RowSum`]: `factor * a * b`, a missing operand being 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowTerm {
    /// Canonical residues for the words before N/2 and from N/2 on.
    /// (Place of the word that is computed.)
    pub factor: [u32; 2],
    /// The first operand.
    pub a: Option<Source>,
    /// The second, only beside a first.
    pub b: Option<Source>,
}

/// A sum that a tile computes in evaluations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowSum {
    /// Its summands, at least one.
    pub terms: Vec<RowTerm>,
    /// Where it goes; nowhere if only later sums read it.
    pub stores: Vec<Store>,
}

/// A tile of `poly_rows` and `poly_pointwise`:
/// the same work for every row of the limbs modulo one prime.
///
/// With automorphisms, the row that is loaded or stored is another than the tile's: X -> X^g maps
/// whole rows onto whole rows (`girih_ring::Automorphism`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowTile {
    /// The prime, by number.
    pub prime: u16,
    /// What fills slots 0, 1, ...
    pub loads: Vec<Load>,
    /// What fills the slots after them, in this order; a sum reads only earlier slots.
    pub sums: Vec<RowSum>,
}

/// A group of slots of a [`ColumnTile`] that is converted as one basis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// The slots; their primes are distinct.
    pub slots: Vec<u16>,
    /// Which formula of `girih_ring::BaseConversion`.
    pub corrected: bool,
}

/// One summand of a [`ColumnSum`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnTerm {
    /// `factor` times a slot of the same prime.
    Scaled {
        /// A canonical residue.
        factor: u32,
        /// The slot.
        slot: u16,
    },
    /// `factor` times what conversion number `conversion` yields modulo the sum's prime.
    Converted {
        /// A canonical residue.
        factor: u32,
        /// The place in [`ColumnTile::conversions`].
        conversion: u16,
    },
}

/// A sum that a tile computes in coefficients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnSum {
    /// The prime, by number.
    pub prime: u16,
    /// Its summands, at least one.
    pub terms: Vec<ColumnTerm>,
    /// Where it goes; nowhere if only later sums or conversions read it.
    pub stores: Vec<Store>,
}

/// A tile of `poly_columns`: the same work for every group of columns. All of its primes are of one
/// ring.
///
/// In the conjugation-invariant ring a column is folded with another one after it is read as
/// coefficients and before its forward transform, and unfolded after the inverse transform
/// (`girih_ring::ColumnPairs`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnTile {
    /// What fills slots 0, 1, ..., each with its prime. Half transformed or in coefficients.
    pub loads: Vec<(u16, Load)>,
    /// The conversions; one may read loads and the sums that stand before its first use.
    pub conversions: Vec<Conversion>,
    /// What fills the slots after the loads, in this order; a sum reads only earlier slots.
    pub sums: Vec<ColumnSum>,
}

/// One launch of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// `poly_rows`.
    Rows(Vec<RowTile>),
    /// `poly_columns`.
    Columns(Vec<ColumnTile>),
    /// `poly_pointwise`: tiles that neither load nor store [`Form::Half`], and have no automorphism
    /// at a store.
    Pointwise(Vec<RowTile>),
}

impl Launch {
    /// The kernel's name.
    pub fn kernel(&self) -> &'static str {
        match self {
            Self::Rows(_) => "poly_rows",
            Self::Columns(_) => "poly_columns",
            Self::Pointwise(_) => "poly_pointwise",
        }
    }
}

/// A program, lowered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// What runs, in this order. Between launches everything written is visible.
    pub launches: Vec<Launch>,
    /// Limbs of the arena of one call.
    pub arena_limbs: usize,
    /// For each value that was asked to be kept, where its limbs lie after the last launch, in the
    /// order of its basis, in the form of its domain. Never in resident polynomials.
    pub kept: Vec<(Value, Vec<Limb>)>,
}
