//! The kernels of a ring: what `shaders/poly/` is generated with, and what drivers made of it.

use crate::poly::{log2_row, records};
use crate::runtime::gpu::{Binding, Gpu, Pipeline};
use crate::runtime::lazy::Lazy;
use crate::runtime::numbers::Numbers;
use crate::runtime::template::{Expander, Value};
use crate::{Profile, Vendor};
use girih_backend::Result;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The sources, under the names that `#include` uses.
const SOURCES: &[(&str, &str)] = &[
    ("poly_rows", girih_shaders::poly::POLY_ROWS),
    ("poly_columns", girih_shaders::poly::POLY_COLUMNS),
    ("poly_pointwise", girih_shaders::poly::POLY_POINTWISE),
    ("row_tile", girih_shaders::poly::ROW_TILE),
    ("half_transform", girih_shaders::poly::HALF_TRANSFORM),
    ("modular", girih_shaders::poly::MODULAR),
    ("memory", girih_shaders::poly::MEMORY),
    ("memory_words", girih_shaders::poly::MEMORY_WORDS),
    ("column_pairs", girih_shaders::poly::COLUMN_PAIRS),
    ("views", girih_shaders::poly::VIEWS),
    ("slots", girih_shaders::poly::SLOTS),
    ("arithmetic", girih_shaders::lib::ARITHMETIC),
];

/// Most segments of memory that a kernel binds: eight storage buffers a stage, which every device
/// has, less those of records, places and roots.
pub const MOST_SEGMENTS: usize = 5;
/// How many segments kernels are built for; what is not used is bound to nothing.
const SEGMENTS: [usize; 3] = [1, 2, MOST_SEGMENTS];

/// Fewest slots, a power of two, whose words are too many for Intel's compiler to keep them in
/// registers.
const LEAST_IN_MEMORY: usize = 8;

/// A kernel of `shaders/poly/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolyKernel {
    /// Half transforms of rows, and sums of products between them.
    Rows,
    /// Half transforms of columns, and sums and base conversions between them.
    Columns,
    /// Sums of products.
    Pointwise,
}

impl PolyKernel {
    /// All.
    pub const ALL: [Self; 3] = [Self::Rows, Self::Columns, Self::Pointwise];

    /// The name of its file and entry point.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "poly_rows",
            Self::Columns => "poly_columns",
            Self::Pointwise => "poly_pointwise",
        }
    }
}

/// One build of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolyBuild {
    /// The kernel.
    pub kernel: PolyKernel,
    /// log2 of the degree N.
    pub log2_degree: u32,
    /// Whether it knows the conjugation-invariant ring: columns then are of that ring alone, and
    /// rows and pointwise kernels read limbs of the other ring as well.
    pub invariant: bool,
    /// Sums and loads that a thread can hold.
    pub slots: usize,
    /// Segments of memory that it binds.
    pub segments: usize,
    /// The arithmetic.
    pub profile: Profile,
    /// Who compiles it.
    pub vendor: Vendor,
}

impl PolyBuild {
    /// The smallest number of slots that such a kernel is built with for tiles that need `slots`.
    /// Each one more is a zero that every thread writes first, and has its price: 2 % of a launch
    /// of rows (docs/experiments.md).
    pub fn slots_for(&self, slots: usize) -> usize {
        let slots = slots.max(1).next_power_of_two();
        let build = Self { slots, ..*self };
        if build.slot_words() { slots.max(LEAST_IN_MEMORY) } else { slots }
    }

    /// Whether slots are declared word by word. Intel's compiler (Mesa 25.0.7) keeps arrays of up
    /// to 16 elements in registers. There they take room that sums need, so that more than a few
    /// spill or halve the threads of a subgroup, and every access is a tree of comparisons. In
    /// memory they take less work by its own estimate (docs/guide/gpus.md).
    fn slot_words(&self) -> bool {
        let in_registers = match self.profile {
            Profile::Int64 => 2,
            Profile::Core => 8,
        };
        self.vendor == Vendor::Intel && self.slots > in_registers
    }

    /// The smallest number of segments that a kernel is built for, of at most [`MOST_SEGMENTS`].
    pub fn segments_for(segments: usize) -> usize {
        SEGMENTS.into_iter().find(|&built| built >= segments).unwrap_or(MOST_SEGMENTS)
    }

    /// Bytes of slots that each thread is meant to have in memory: where they are not declared
    /// word by word, compilers decide that alone, and these are 0.
    pub fn bytes_in_memory(&self) -> usize {
        if self.slot_words() { 16 * self.slots } else { 0 }
    }

    /// Threads of a workgroup, each with four words of a block: a row, or columns of as many words.
    pub fn threads(&self) -> usize {
        1 << (log2_row(self.log2_degree) - 2)
    }

    /// Bytes of workgroup memory.
    pub fn workgroup_bytes(&self) -> usize {
        let block = 1 << log2_row(self.log2_degree);
        match self.kernel {
            PolyKernel::Pointwise => 0,
            PolyKernel::Rows | PolyKernel::Columns => 4 * (block + block / 32),
        }
    }

    /// Its WGSL.
    ///
    /// # Errors
    /// A sentence naming the template line.
    pub fn wgsl(&self) -> Result<String, String> {
        let row = log2_row(self.log2_degree);
        let rows = self.log2_degree - row;
        let stages = if self.kernel == PolyKernel::Columns { rows } else { row };
        let int64 = self.profile == Profile::Int64;
        let word_by_word = self.invariant && self.kernel == PolyKernel::Columns;
        let constants = [
            ("INT64", i128::from(int64)),
            ("SIGNED", 0),
            ("LIMBS", 0),
            ("COARSE", 0),
            ("CONSTANT_WORDS", 0),
            ("INVARIANT", i128::from(self.invariant)),
            ("WORD_BY_WORD", i128::from(word_by_word)),
            ("SEGMENTS", self.segments as i128),
            ("SLOTS", self.slots as i128),
            ("SLOT_WORDS", i128::from(self.slot_words())),
            ("THREADS", self.threads() as i128),
            ("LOG_BLOCK", row.into()),
            ("BLOCK", 1 << row),
            ("LOG_ROWS", rows.into()),
            ("ROWS", 1 << rows),
            ("STAGES", stages.into()),
            // Stages run in pairs behind one by itself; log2 of the shortest distance of all.
            ("ODD", i128::from(stages % 2)),
            ("PAIRS", i128::from(stages / 2)),
            ("LEAST", i128::from(row - stages)),
            ("TRANSFORMS", i128::from(self.kernel != PolyKernel::Pointwise)),
        ];
        let codes = match self.kernel {
            PolyKernel::Columns => records::columns::CODES,
            PolyKernel::Rows | PolyKernel::Pointwise => records::rows::CODES,
        };
        let codes = codes.iter().map(|&(name, code)| (name, code.into()));
        let constants = constants.into_iter().chain(codes);
        let constants = constants.map(|(name, x)| (name.to_owned(), Value::Int(x)));
        // What memory is declared as.
        let data = Value::Text(if word_by_word { "u32" } else { "vec4<u32>" }.into());
        let constants = constants.chain([("DATA".to_owned(), data)]).collect();
        let lazy = Lazy::new(&[], Numbers::Unsigned { coarse: false });
        let expander = Expander::new(SOURCES, constants, &|_, _| None, lazy);
        let (text, constants) = expander.expand(self.kernel.name())?;
        Ok(text + &constants)
    }

    /// What it binds, in order.
    fn bindings(&self) -> Vec<Binding> {
        use Binding::{Read, ReadWrite, Uniform};
        let mut all = vec![Uniform, Read, Read, Read];
        all.extend(std::iter::repeat_n(ReadWrite, self.segments));
        all
    }
}

/// Every build that a device has compiled so far, whichever ring asked for it.
#[derive(Default)]
pub(crate) struct Kernels {
    built: Mutex<HashMap<PolyBuild, Arc<Pipeline>>>,
}

impl Kernels {
    /// Whether a build of any ring has its slots word by word.
    #[cfg(test)]
    pub fn have_slot_words(&self) -> bool {
        let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        built.keys().any(PolyBuild::slot_words)
    }

    /// The pipeline of a build, compiled where it is new.
    pub fn pipeline(&self, gpu: &Gpu, build: PolyBuild) -> Result<Arc<Pipeline>> {
        // Held while compiling, so that nothing is compiled twice; the map is whole at any time.
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = built.get(&build) {
            return Ok(Arc::clone(pipeline));
        }
        let name = build.kernel.name();
        let source = build.wgsl().map_err(|why| gpu.failed(format!("{name}: {why}")))?;
        let pipeline = Arc::new(gpu.pipeline(name, &source, &build.bindings())?);
        built.insert(build, Arc::clone(&pipeline));
        Ok(pipeline)
    }
}
