//! Who made a GPU, and so who compiles its kernels.

/// A maker of GPUs, by the number that its adapters report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// PCI 0x10DE. Plans for it are measured.
    Nvidia,
    /// PCI 0x1002. Plans for it follow what its compiler makes of the kernels.
    Amd,
    /// PCI 0x8086. As for AMD.
    Intel,
    /// Any other, a software driver, or one that a browser does not tell: planned for as NVIDIA.
    Other,
}

impl Vendor {
    /// The vendor of an adapter's number.
    pub fn of(number: u32) -> Self {
        match number {
            0x10DE => Self::Nvidia,
            0x1002 => Self::Amd,
            0x8086 => Self::Intel,
            _ => Self::Other,
        }
    }
}
