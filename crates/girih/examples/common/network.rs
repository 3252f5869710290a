//! Networks of compare-exchanges over the numbers of one vector, and what they compute in the
//! plain.
//!
//! A layer compares every slot with the one `distance` away. Batcher's bitonic network sorts 2^m
//! numbers in m (m + 1) / 2 layers; its first stages alone sort blocks, and a network that merges
//! the larger halves of sorted blocks finds the largest numbers in fewer layers.

/// Which of two slots takes the larger number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The upper one in blocks of this many slots, the lower one in the blocks between.
    Alternating(usize),
    /// The lower one.
    Falling,
}

/// All slots in pairs `distance` apart: j and j + distance, where j has no such bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    pub distance: usize,
    order: Order,
}

impl Layer {
    /// For each slot: 1 or -1 for the lower slot of a pair that takes the larger or the smaller
    /// number, 0 for upper slots.
    pub fn signs(&self, numbers: usize) -> Vec<f64> {
        let sign = |j: usize| match self.order {
            _ if j & self.distance != 0 => 0.0,
            Order::Alternating(block) if j & block == 0 => -1.0,
            _ => 1.0,
        };
        (0..numbers).map(sign).collect()
    }

    /// What the layer makes of `x`, by any odd function in the place of the sign.
    pub fn apply(&self, x: &mut [f64], sign: impl Fn(f64) -> f64) {
        for (j, larger) in self.signs(x.len()).into_iter().enumerate() {
            if larger != 0.0 {
                let difference = x[j] - x[j + self.distance];
                let step = (larger * sign(difference) - 1.0) * difference / 2.0;
                x[j] += step;
                x[j + self.distance] -= step;
            }
        }
    }
}

/// Merges bitonic blocks of `block` slots into sorted ones.
fn merge(block: usize, order: Order) -> impl Iterator<Item = Layer> {
    (0..block.ilog2()).rev().map(move |i| Layer { distance: 1 << i, order })
}

/// Sorts a power of two of `numbers`, the smallest first.
pub fn sort(numbers: usize) -> Vec<Layer> {
    let stages = (1..=numbers.ilog2()).map(|i| 1 << i);
    stages.flat_map(|block| merge(block, Order::Alternating(block))).collect()
}

/// Brings the `largest` of `numbers`, both powers of two, into the first slots, the largest first.
pub fn top(numbers: usize, largest: usize) -> Vec<Layer> {
    // Neighbours of that size rise and fall in turn, until one is left.
    let order = |block| if block < numbers { Order::Alternating(block) } else { Order::Falling };
    let stages = (1..=largest.ilog2()).map(|i| 1 << i);
    let mut layers: Vec<Layer> = stages.flat_map(|block| merge(block, order(block))).collect();
    // The larger of the i-th of a rising and of the i-th of the falling block beside it are the
    // largest of both, and bitonic.
    for distance in (largest.ilog2()..numbers.ilog2()).map(|i| 1 << i) {
        layers.push(Layer { distance, order: Order::Falling });
        layers.extend(merge(largest, order(2 * distance)));
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(x: f64) -> f64 {
        if x > 0.0 { 1.0 } else { -1.0 }
    }

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7919 + seed * 104_729) % 1009 / 3) as f64 / 512.0).collect()
    }

    #[test]
    fn networks_sort() {
        for (log2, layers) in [(1, 1), (2, 3), (5, 15), (8, 36), (14, 105)] {
            let network = sort(1 << log2);
            assert_eq!(network.len(), layers);
            let mut x = numbers(1 << log2, 1);
            let mut wanted = x.clone();
            wanted.sort_by(f64::total_cmp);
            network.iter().for_each(|layer| layer.apply(&mut x, sign));
            assert_eq!(x, wanted);
        }
    }

    #[test]
    fn the_largest_come_first_in_fewer_layers() {
        for (count, largest) in [(16, 1), (16, 2), (64, 8), (256, 16), (32, 32), (1 << 14, 16)] {
            let mut x = numbers(count, 2);
            let mut wanted = x.clone();
            wanted.sort_by(|x, y| y.total_cmp(x));
            let network = top(count, largest);
            assert!(count == largest || network.len() < sort(count).len());
            network.iter().for_each(|layer| layer.apply(&mut x, sign));
            assert_eq!(x[..largest], wanted[..largest], "{largest} of {count}");
        }
    }
}
