//! Device memory that is handed out again: asking the driver stops the device, and all work of the
//! family is in one queue, so that what is freed may be written by whoever comes next in it.

use crate::runtime::machine::Machine;
use girih_backend::BackendError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Smallest piece.
const LEAST: usize = 256;

/// A piece of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub address: u64,
    /// Of the piece, at least what was asked for.
    pub bytes: usize,
}

pub(crate) struct Memory {
    machine: Arc<dyn Machine>,
    /// What the driver gave, by size, that nobody uses now.
    free: BTreeMap<usize, Vec<u64>>,
    used: u64,
    kept: u64,
}

/// Sizes go in eighths of powers of two, so that freed pieces are found again:
/// at most an eighth is lost.
fn rounded(bytes: usize) -> usize {
    let bytes = bytes.max(LEAST);
    bytes.next_multiple_of((bytes.next_power_of_two() / 16).max(LEAST))
}

impl Memory {
    pub fn new(machine: Arc<dyn Machine>) -> Self {
        Self { machine, free: BTreeMap::new(), used: 0, kept: 0 }
    }

    /// Bytes handed out now.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// `bytes` of memory for `what`, contents undefined.
    pub fn allocate(&mut self, bytes: usize, what: &str) -> Result<Block, BackendError> {
        let size = rounded(bytes);
        if let Some(address) = self.free.get_mut(&size).and_then(Vec::pop) {
            self.kept -= size as u64;
            self.used += size as u64;
            return Ok(Block { address, bytes: size });
        }
        let address = match self.machine.allocate(size, what) {
            Err(BackendError::OutOfMemory { .. }) if self.kept > 0 => {
                self.release();
                self.machine.allocate(size, what)
            }
            other => other,
        };
        let address = address.map_err(|error| match error {
            BackendError::OutOfMemory { device, bytes, what } => {
                let what = format!("{what}; polynomials and routines take {} bytes", self.used);
                BackendError::OutOfMemory { device, bytes, what }
            }
            other => other,
        })?;
        self.used += size as u64;
        Ok(Block { address, bytes: size })
    }

    /// Takes a piece back; work that was called before may still use it.
    pub fn free(&mut self, block: Block) {
        self.used -= block.bytes as u64;
        self.kept += block.bytes as u64;
        self.free.entry(block.bytes).or_default().push(block.address);
    }

    /// Gives what nobody uses back to the driver.
    fn release(&mut self) {
        for address in std::mem::take(&mut self.free).into_values().flatten() {
            self.machine.free(address);
        }
        self.kept = 0;
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lose_an_eighth_at_most() {
        for bytes in (1..5_000_000).step_by(997) {
            let size = rounded(bytes);
            assert!(size >= bytes && rounded(size) == size);
            assert!(bytes < 8 * LEAST || size * 8 <= bytes * 9 + 8 * LEAST, "{bytes} {size}");
        }
    }
}
