//! Which thread holds which coefficient in each pass of the transform, and the memory orders that
//! follow from it.
//!
//! A workgroup of `T = N / items` threads holds one polynomial, `items` coefficients a thread. Pass
//! `p` transforms some bits of the coefficient index; those bits number a thread's registers, all
//! other bits number the threads. Between passes the registers go through workgroup memory.

/// Threads that access workgroup memory together, for the choice of lane bits: 2^5 banks.
const BANK_BITS: usize = 5;

/// The passes of one polynomial size and number of items a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    log2_size: usize,
    log2_items: usize,
    passes: Vec<Pass>,
}

/// One pass: `width` butterfly stages over the index bits `low .. low + width`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub low: usize,
    pub width: usize,
    /// Index bit of each bit of the register number: the butterfly bits,
    /// then bits that only number butterflies.
    item_bits: Vec<usize>,
    /// Index bit of each bit of the thread number.
    thread_bits: Vec<usize>,
}

impl Layout {
    /// The passes for `2^log2_size` coefficients, `2^log2_items` of them a thread.
    pub fn new(log2_size: usize, log2_items: usize) -> Self {
        let mut passes = Vec::new();
        let mut high = log2_size;
        while high > 0 {
            let width = high.min(log2_items);
            let low = high - width;
            // A narrow last pass fills its registers with the next bits up.
            let item_bits: Vec<usize> = (low..low + log2_items).collect();
            passes.push(Pass {
                low,
                width,
                thread_bits: thread_bits(log2_size, &item_bits),
                item_bits,
            });
            high = low;
        }
        Self { log2_size, log2_items, passes }
    }

    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    pub fn items(&self) -> usize {
        1 << self.log2_items
    }

    pub fn threads(&self) -> usize {
        1 << (self.log2_size - self.log2_items)
    }

    /// Words of one staged polynomial in workgroup memory, padding included.
    pub fn padded(&self) -> usize {
        pad((1 << self.log2_size) - 1) + 1
    }

    /// Transform position of register `item` of `thread` after the last pass.
    pub fn position(&self, thread: usize, item: usize) -> usize {
        let last = self.passes.last().expect("at least one pass");
        scatter(thread, &last.thread_bits) | scatter(item, &last.item_bits)
    }

    /// Twiddles that a thread needs in `pass`: one for each butterfly block it touches.
    pub fn slots(&self, pass: usize) -> usize {
        let width = self.passes[pass].width;
        (self.items() >> width) * ((1 << width) - 1)
    }

    /// Registers of butterfly `index` of `stage` (forward order) of `pass`, and its twiddle slot.
    pub fn butterfly(&self, pass: usize, stage: usize, index: usize) -> (usize, usize, usize) {
        let width = self.passes[pass].width;
        let bit = width - 1 - stage;
        let u = (index >> bit << (bit + 1)) | (index & ((1 << bit) - 1));
        let (group, local) = (u >> width, u & ((1 << width) - 1));
        (u, u | 1 << bit, group * ((1 << width) - 1) + (1 << stage) - 1 + (local >> (bit + 1)))
    }

    /// Index into `NttTable::roots` of twiddle `slot` of `thread` in `pass`.
    pub fn root_index(&self, pass: usize, thread: usize, slot: usize) -> usize {
        let p = &self.passes[pass];
        let each = (1 << p.width) - 1;
        let (group, within) = (slot / each, slot % each);
        let stage = (within + 1).ilog2() as usize;
        let block = within + 1 - (1 << stage);
        let bit = p.width - 1 - stage;
        let item = group << p.width | block << (bit + 1);
        let index = scatter(thread, &p.thread_bits) | scatter(item, &p.item_bits);
        (1 << (self.log2_size - 1 - p.low - bit)) + (index >> (p.low + bit + 1))
    }

    /// Address in the exchange area of register `item` of thread 0 in `pass`.
    pub fn item_address(&self, pass: usize, item: usize) -> usize {
        pad(scatter(item, &self.passes[pass].item_bits))
    }

    /// WGSL of the coefficient index that register 0 of thread `t` holds in `pass`.
    pub fn thread_expression(&self, pass: usize) -> String {
        scatter_expression(self.passes[pass].thread_bits.iter().copied())
    }

    /// WGSL of the bit-reversed index that register 0 of thread `t` holds after the last pass.
    pub fn reversed_expression(&self) -> String {
        let top = self.log2_size - 1;
        scatter_expression(
            self.passes.last().expect("at least one pass").thread_bits.iter().map(|&b| top - b),
        )
    }

    /// Bit-reversed index of register `item` of thread 0 after the last pass.
    pub fn reversed_item(&self, item: usize) -> usize {
        girih_ring::bit_reverse(self.position(0, item), self.log2_size as u32)
    }
}

/// Index with gaps against bank conflicts. Sums of indices with disjoint bits have sums of
/// addresses, since no carry crosses a gap: a thread's address is one base plus constants.
pub(crate) fn pad(index: usize) -> usize {
    index + (index >> BANK_BITS) + (index >> (2 * BANK_BITS))
}

/// Index bits for the thread number, such that the lanes of a warp meet different banks: bit `b` of
/// an index moves its address by `2^(b mod 5)` banks, so lane `i` takes a free bit of class `i`
/// where there is one.
fn thread_bits(log2_size: usize, item_bits: &[usize]) -> Vec<usize> {
    let mut free: Vec<usize> = (0..log2_size).filter(|b| !item_bits.contains(b)).collect();
    let mut bits = Vec::new();
    for class in 0..BANK_BITS.min(free.len()) {
        let at = free.iter().position(|b| b % BANK_BITS == class).unwrap_or(0);
        bits.push(free.remove(at));
    }
    bits.extend(free);
    bits
}

fn scatter(value: usize, bits: &[usize]) -> usize {
    bits.iter().enumerate().map(|(i, &b)| (value >> i & 1) << b).sum()
}

/// WGSL that moves bit `i` of `t` to the `i`-th of `bits`, run by run.
fn scatter_expression(bits: impl Iterator<Item = usize>) -> String {
    let bits: Vec<usize> = bits.collect();
    let mut terms = Vec::new();
    let mut i = 0;
    while i < bits.len() {
        let mut end = i + 1;
        while end < bits.len() && bits[end] == bits[end - 1] + 1 {
            end += 1;
        }
        let mask = (1usize << end) - (1 << i);
        let (to, from) = (bits[i], i);
        terms.push(match to.cmp(&from) {
            std::cmp::Ordering::Equal => format!("(t & {mask}u)"),
            std::cmp::Ordering::Greater => format!("((t & {mask}u) << {}u)", to - from),
            std::cmp::Ordering::Less => format!("((t & {mask}u) >> {}u)", from - to),
        });
        i = end;
    }
    if terms.is_empty() { "0u".into() } else { terms.join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = (usize, Layout)> {
        (6..=13).flat_map(|n| (2..=4).map(move |i| (n, Layout::new(n, i))))
    }

    #[test]
    fn every_pass_covers_every_coefficient_once() {
        for (n, layout) in all() {
            for pass in layout.passes() {
                let mut seen = vec![false; 1 << n];
                for t in 0..layout.threads() {
                    for j in 0..layout.items() {
                        let x = scatter(t, &pass.thread_bits) | scatter(j, &pass.item_bits);
                        assert!(!std::mem::replace(&mut seen[x], true));
                    }
                }
            }
            assert_eq!(layout.passes().iter().map(|p| p.width).sum::<usize>(), n);
        }
    }

    #[test]
    fn addresses_are_sums_and_distinct() {
        for (n, layout) in all() {
            for pass in layout.passes() {
                let mut seen = vec![false; layout.padded()];
                for t in 0..layout.threads() {
                    for j in 0..layout.items() {
                        let (x, y) = (scatter(t, &pass.thread_bits), scatter(j, &pass.item_bits));
                        assert_eq!(pad(x) + pad(y), pad(x | y), "N = 2^{n}");
                        assert!(!std::mem::replace(&mut seen[pad(x | y)], true));
                    }
                }
            }
        }
    }

    #[test]
    fn warps_meet_no_bank_twice_at_1024_and_2048() {
        for n in [10, 11] {
            let layout = Layout::new(n, 3);
            for (p, pass) in layout.passes().iter().enumerate() {
                let banks: std::collections::HashSet<usize> =
                    (0..32).map(|t| pad(scatter(t, &pass.thread_bits)) % 32).collect();
                assert_eq!(banks.len(), 32, "N = 2^{n}, pass {p}");
            }
        }
    }

    #[test]
    fn passes_read_the_twiddles_of_the_plain_transform() {
        for (n, layout) in all().filter(|(n, _)| *n <= 9) {
            let p = girih_ring::largest_ntt_prime(27, 2 << n).expect("a prime");
            let m = girih_ring::Modulus::new(p).expect("odd");
            let table = girih_ring::NttTable::new(m, 1 << n).expect("admits the transform");
            let input: Vec<u32> = (0..1u32 << n).map(|i| i * i + 7).collect();
            let (mut want, mut got) = (input.clone(), input);
            table.forward(&mut want);
            for (index, pass) in layout.passes().iter().enumerate() {
                for t in 0..layout.threads() {
                    let at = |j| scatter(t, &pass.thread_bits) | scatter(j, &pass.item_bits);
                    for stage in 0..pass.width {
                        for b in 0..layout.items() / 2 {
                            let (u, v, slot) = layout.butterfly(index, stage, b);
                            let w = table.roots()[layout.root_index(index, t, slot)];
                            let product = m.mul_shoup(got[at(v)], w);
                            (got[at(u)], got[at(v)]) =
                                (m.add(got[at(u)], product), m.sub(got[at(u)], product));
                        }
                    }
                }
            }
            assert_eq!(got, want, "N = 2^{n}, {} items", layout.items());
        }
    }
}
