//! What is serialized, by kind.

/// What is serialized: its byte, and what messages call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub(crate) byte: u8,
    pub(crate) name: &'static str,
}

impl Kind {
    /// A kind of some scheme.
    pub const fn new(byte: u8, name: &'static str) -> Self {
        Self { byte, name }
    }

    /// What messages call it.
    pub fn name(self) -> &'static str {
        self.name
    }
}
