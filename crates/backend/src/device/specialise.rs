//! When kernels are compiled for one piece of work alone.

/// The choice by which a device is told a [`Specialise`], where it has kernels that are ready at
/// once and faster ones that it compiles for one shape or program. It is no part of a plan: tuned
/// plans are used beside it.
pub const SPECIALISE: &str = "specialise";

/// When a device compiles the kernels that take long to compile and run faster: those of one
/// program, or those of a shape for large batches. Words of programs do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Specialise {
    /// Never: work is done by the kernels that compile in a moment, and takes longer.
    Never,
    /// Before any work is done.
    Now,
    /// While work is done by the others; it changes over when they are ready.
    #[default]
    Background,
}

impl Specialise {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Never, Self::Now, Self::Background];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Now => "now",
            Self::Background => "background",
        }
    }

    /// The one with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// As the value of the choice [`SPECIALISE`].
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Of the value of a choice.
    pub fn of_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.number() == number)
    }
}
