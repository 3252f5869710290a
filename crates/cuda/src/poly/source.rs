//! What every kernel of the family includes: its headers, and the constants that fix it for a
//! degree and a plan.

use crate::poly::arguments::LAYOUT;
use crate::runtime::source::{Header, KernelFile, PLATFORM, Source, WORD};
use std::fmt::Write;

/// What kernels of this family include.
const HEADERS: &[Header] = &[
    PLATFORM,
    WORD,
    ("modular.cuh", girih_kernels::poly::MODULAR),
    ("row_transform.cuh", girih_kernels::poly::ROW_TRANSFORM),
    ("steps.cuh", girih_kernels::poly::STEPS),
    ("sums.cuh", girih_kernels::poly::SUMS),
    ("column_tile.cuh", girih_kernels::poly::COLUMN_TILE),
];

/// The file of a kernel of this family.
pub(crate) const fn kernel_file(
    text: &'static str,
    kernel: &'static [&'static str; 1],
) -> KernelFile {
    KernelFile { name: kernel[0], text, kernels: kernel, headers: HEADERS }
}

/// A kernel with everything that its text depends on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KernelText {
    pub file: KernelFile,
    pub constants: Vec<(&'static str, usize)>,
    /// What follows the constants: the shapes of tiles.
    pub shapes: String,
    /// Blocks that should share a multiprocessor: registers are divided among their threads. None
    /// where that is left to the compiler.
    pub min_blocks: Option<usize>,
}

impl KernelText {
    /// A text without shapes that leaves registers to the compiler.
    pub fn new(file: KernelFile, constants: &[(&'static str, usize)]) -> Self {
        let constants = constants.to_vec();
        Self { file, constants, shapes: String::new(), min_blocks: None }
    }

    /// The same kernel with more registers a thread: fewer blocks share a multiprocessor. `None` if
    /// one has it alone.
    pub fn roomier(&self) -> Option<Self> {
        let blocks = self.min_blocks.filter(|&blocks| blocks > 1)?;
        // Two thirds of four blocks are as much as a thread can address.
        let fewer = if blocks == 4 { 3 } else { blocks / 2 };
        Some(Self { min_blocks: Some(fewer), ..self.clone() })
    }

    /// What a compiler takes.
    pub fn source(&self) -> Source {
        let mut constants = String::from("#pragma once\n#include \"platform.cuh\"\n");
        let blocks = self.min_blocks.map(|blocks| ("MIN_BLOCKS", blocks));
        for (name, value) in self.constants.iter().copied().chain(blocks) {
            // Writing to a string cannot fail.
            let _ = writeln!(constants, "constexpr int {name} = {value};");
        }
        for (name, value) in LAYOUT {
            let kind = if i32::try_from(value).is_ok() { "int" } else { "u32" };
            let _ = writeln!(constants, "constexpr {kind} {name} = {value};");
        }
        constants.push_str(&self.shapes);
        Source { file: self.file, constants }
    }
}
