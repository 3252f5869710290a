//! Sorting without branches: Batcher's odd-even merge sort (Knuth,
//! TAOCP vol. 3, algorithm 5.2.2 M).

use super::compare;
use crate::{Builder, Netlist, Wire};

/// Pairs (i, j), i < j, to be compared and exchanged, for any number of elements.
fn comparisons(count: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let top = count.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            pairs.extend((0..count.saturating_sub(d)).filter(|i| i & p == r).map(|i| (i, i + d)));
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    pairs
}

/// Sorts words of equal width, smallest first.
///
/// # Panics
/// For words of unequal width or of none.
pub fn sort(builder: &mut Builder, words: &mut [Vec<Wire>]) {
    for (i, j) in comparisons(words.len()) {
        let (low, high) = (words[i].clone(), words[j].clone());
        let (exchange, _) = compare(builder, &high, &low);
        words[i] = builder.select(exchange, &high, &low);
        words[j] = builder.select(exchange, &low, &high);
    }
}

/// Inputs `x0`, `x1`, .. of `width` bits each, outputs `y0`, `y1`, .. the same in rising order.
///
/// # Panics
/// For no element or width 0.
pub fn sorting_network(count: usize, width: usize) -> Netlist {
    let mut builder = Builder::new();
    let mut words: Vec<_> = (0..count).map(|i| builder.input(format!("x{i}"), width)).collect();
    sort(&mut builder, &mut words);
    for (i, word) in words.iter().enumerate() {
        builder.output(format!("y{i}"), word);
    }
    builder.finish().expect("there is at least one word of one bit")
}
