//! The two arithmetic profiles of the kernels.

/// Which arithmetic the kernels of one device are generated with.
/// Results are the same bits in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// 32-bit words only, products from 16-bit halves: any WebGPU device.
    Core,
    /// 64-bit integers inside kernels (`SHADER_INT64`).
    Int64,
}

impl Profile {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Core, Self::Int64];
}

impl std::fmt::Display for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Core => "core",
            Self::Int64 => "int64",
        })
    }
}
