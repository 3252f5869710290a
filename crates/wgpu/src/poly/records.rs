//! What records say, in one list for encoders and kernels: `shaders/poly/` has these names as
//! constants of its text.

/// What tiles of rows are made of.
pub(crate) mod rows {
    use girih_backend::poly::schedule::{LIFTED, LIFTED_CONJUGATE, RESTRICTED};

    /// Steps: a load, one that is transformed, products that two sums share, a sum, one that is
    /// kept.
    pub const LOAD: u32 = 0;
    pub const LOAD_HALF: u32 = 1;
    pub const PRODUCTS: u32 = 2;
    pub const SUM: u32 = 3;
    pub const KEEP: u32 = 4;

    /// What a product of two sums multiplies: a slot, a limb as it is, a limb that is transformed.
    pub const OF_SLOT: u32 = 0;
    pub const OF_LIMB: u32 = 1;
    pub const OF_HALF: u32 = 2;
    /// log2 of the unit of the slot in which it is kept, plus 1, above that.
    pub const LOG2_KEPT: u32 = 8;

    /// An operand: its kind above log2 of its run above its automorphism.
    pub const SLOT: u32 = 1;
    pub const STREAM: u32 = 2;
    pub const LOG2_KIND: u32 = 30;
    pub const LOG2_RUN: u32 = 20;
    /// log2 of the mark of a first operand whose term has a factor.
    pub const LOG2_FACTOR: u32 = 28;

    /// Everything that the kernels name.
    pub const CODES: &[(&str, u32)] = &[
        ("LIFTED", LIFTED),
        ("LIFTED_CONJUGATE", LIFTED_CONJUGATE),
        ("RESTRICTED", RESTRICTED),
        ("LOAD_HALF", LOAD_HALF),
        ("PRODUCTS", PRODUCTS),
        ("SUM", SUM),
        ("KEEP", KEEP),
        ("OF_SLOT", OF_SLOT),
        ("OF_HALF", OF_HALF),
        ("LOG2_KEPT", LOG2_KEPT),
        ("SLOT", SLOT),
        ("LOG2_KIND", LOG2_KIND),
        ("LOG2_RUN", LOG2_RUN),
        ("LOG2_FACTOR", LOG2_FACTOR),
    ];
}

/// What tiles of columns are made of.
pub(crate) mod columns {
    /// Steps: a load, one that is transformed, conversions of both formulas, a sum, one that is
    /// kept, what several sums take from conversions together, such sums that are that alone.
    pub const LOAD: u32 = 0;
    pub const LOAD_HALF: u32 = 1;
    pub const PLAIN: u32 = 2;
    pub const CORRECTED: u32 = 3;
    pub const SUM: u32 = 4;
    pub const KEEP: u32 = 5;
    pub const PARTS: u32 = 6;
    pub const OUTPUTS: u32 = 7;

    /// Everything that the kernel names.
    pub const CODES: &[(&str, u32)] = &[
        ("LOAD", LOAD),
        ("LOAD_HALF", LOAD_HALF),
        ("PLAIN", PLAIN),
        ("CORRECTED", CORRECTED),
        ("KEEP", KEEP),
        ("PARTS", PARTS),
        ("OUTPUTS", OUTPUTS),
    ];
}
