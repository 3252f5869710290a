//! Roots of unity, as passes read them.

use crate::Shoup;

/// Roots of unity in the order of [`NttTable`](crate::NttTable), with their Shoup quotients.
#[derive(Clone, Copy)]
pub(crate) struct RootsView<'a> {
    pub(crate) values: &'a [u32],
    pub(crate) quotients: &'a [u32],
}

impl RootsView<'_> {
    pub(super) fn get(&self, index: usize) -> Shoup {
        Shoup { value: self.values[index], quotient: self.quotients[index] }
    }
}
