//! A residual network on vectors of slots: where pixels lie, and layers as linear maps between such
//! places (multiplexed packing: Lee et al. 2022).
//!
//! An image of several channels lies in grids of its first size. A stride of 2 leaves every second
//! pixel of every second row; the places between take other channels, so that no pixel moves far
//! and grids become fewer. With a gap of 2, channels 0 to 3 share the first grid:
//!
//! ```text
//!     0 1 0 1 ..      channel c of a gap g:  grid  c / g^2
//!     2 3 2 3 ..      pixel (y, x)           row   y g + (c mod g^2) / g
//!     0 1 0 1 ..                             column  x g + c mod g
//! ```
//!
//! Grids follow each other, padded to a power of two of them, and all repeat over the slots. So a
//! convolution is a linear map of few diagonals, one level: input and output of a tap are as far
//! apart for all pixels. Two images lie in one vector, as real and imaginary part: maps are real.
//!
//! A layer's result is divided by sqrt(2) times its ReLU's bound, so that two together stay below 1
//! in magnitude; what a ReLU leaves is divided by its bound. Both are in the maps' numbers.

use super::resnet::{Beside, Convolution, Network};
use girih::ckks::prelude::*;
use rayon::prelude::*;
use std::f64::consts::SQRT_2;

/// Where the pixels of all channels lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Rows and columns of a grid.
    grid: usize,
    /// Pixels of a channel are this far apart; a power of two.
    gap: usize,
    channels: usize,
}

impl Packing {
    /// Slots in use; vectors repeat with this period.
    pub fn slots(&self) -> usize {
        let grids = self.channels.div_ceil(self.gap * self.gap).next_power_of_two();
        grids * self.grid * self.grid
    }

    /// Pixels along a side of a channel.
    fn side(&self) -> usize {
        self.grid / self.gap
    }

    /// The slot of a pixel.
    fn slot(&self, channel: usize, [y, x]: [usize; 2]) -> usize {
        let (grid, part) = (channel / (self.gap * self.gap), channel % (self.gap * self.gap));
        let row = y * self.gap + part / self.gap;
        (grid * self.grid + row) * self.grid + x * self.gap + part % self.gap
    }

    /// All pixels of a channel.
    fn pixels(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let side = self.side();
        (0..side * side).map(move |i| [i / side, i % side])
    }

    /// A vector with `value` of each channel in all of its pixels.
    fn filled(&self, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut slots = vec![0.0; self.slots()];
        for channel in 0..self.channels {
            for pixel in self.pixels() {
                slots[self.slot(channel, pixel)] = value(channel);
            }
        }
        slots
    }
}

/// A layer up to its ReLU.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedLayer {
    pub map: LinearMap,
    pub beside: PackedBeside,
    /// To be added to both images; repeats.
    pub bias: Vec<f64>,
}

/// What is made of the activation before the last one, and added.
#[derive(Clone, Debug, PartialEq)]
pub enum PackedBeside {
    Nothing,
    Times(f64),
    Mapped(LinearMap),
}

/// A network as maps of slots, made one by one: they take much more memory than the network.
#[derive(Debug)]
pub struct Plan<'a> {
    pub network: &'a Network,
    /// Of what each layer is given, the image first, and of what the head is given.
    packings: Vec<Packing>,
}

impl<'a> Plan<'a> {
    pub fn new(network: &'a Network) -> Self {
        let mut last = Packing { grid: network.side, gap: 1, channels: network.colours };
        let mut packings = vec![last];
        for layer in network.layers() {
            let Convolution { outputs, stride, .. } = *layer.convolution;
            last = Packing { gap: last.gap * stride, channels: outputs, ..last };
            packings.push(last);
        }
        Self { network, packings }
    }

    /// How many layers there are, each with a ReLU.
    pub fn layers(&self) -> usize {
        self.packings.len() - 1
    }

    /// Slots of the largest vector; all others repeat within as many.
    pub fn slots(&self) -> usize {
        self.packings.iter().map(Packing::slots).max().unwrap_or(1)
    }

    /// Layer `i`.
    pub fn layer(&self, i: usize) -> girih::ckks::Result<PackedLayer> {
        let layers = self.network.layers();
        let layer = layers[i];
        let unit = SQRT_2 * layer.bound;
        // What activations are divided by; images are as they are.
        let bound = |i: usize| if i == 0 { 1.0 } else { layers[i - 1].bound };
        let to = &self.packings[i + 1];
        let map = self.map(layer.convolution, i, to, bound(i) / unit)?;
        let mut bias = layer.convolution.bias.clone();
        let beside = match layer.beside {
            Beside::Nothing => PackedBeside::Nothing,
            Beside::Same => PackedBeside::Times(bound(i - 1) / unit),
            Beside::Convolved(c) => {
                bias.iter_mut().zip(&c.bias).for_each(|(b, more)| *b += more);
                PackedBeside::Mapped(self.map(c, i - 1, to, bound(i - 1) / unit)?)
            }
        };
        Ok(PackedLayer { map, beside, bias: to.filled(|c| bias[c] / unit) })
    }

    /// `factor` times a convolution of what layer `from` is given.
    fn map(
        &self,
        convolution: &Convolution,
        from: usize,
        to: &Packing,
        factor: f64,
    ) -> girih::ckks::Result<LinearMap> {
        let from = &self.packings[from];
        let (period, slots) = (from.slots(), from.slots().max(to.slots()));
        // Numbers of slots are powers of two, so that differences of slots can be taken modulo the
        // period of the input.
        let mut diagonals: Vec<Vec<f64>> = vec![Vec::new(); period];
        let taps = convolution.kernel * convolution.kernel;
        for output in 0..convolution.outputs {
            for pixel in to.pixels() {
                let first = to.slot(output, pixel);
                for tap in 0..taps {
                    let tap = [tap / convolution.kernel, tap % convolution.kernel];
                    let source = |i: usize| convolution.source(pixel[i], tap[i], from.side());
                    let (Some(y), Some(x)) = (source(0), source(1)) else { continue };
                    for input in 0..convolution.inputs {
                        let weight = factor * convolution.weight(output, input, tap);
                        let source = from.slot(input, [y, x]);
                        for j in (first..slots).step_by(to.slots()) {
                            let diagonal = &mut diagonals[(source + slots - j) % period];
                            diagonal.resize(slots, 0.0);
                            diagonal[j] = weight;
                        }
                    }
                }
            }
        }
        let diagonals = diagonals.into_iter().enumerate().filter(|(_, d)| !d.is_empty());
        LinearMap::from_diagonals(slots, diagonals.map(|(by, d)| (by as i64, d)))
    }

    /// The mean over pixels and the last product, without its bias: a number a class.
    pub fn head(&self) -> girih::ckks::Result<Matrix> {
        let Network { ref head, classes, .. } = *self.network;
        let from = &self.packings[self.layers()];
        let bound = self.network.layers()[self.layers() - 1].bound;
        let share = bound / (from.side() * from.side()) as f64;
        let row = |row: &[f64]| from.filled(|channel| share * row[channel]);
        let rows: Vec<f64> = head.chunks(from.channels).flat_map(row).collect();
        Matrix::new(classes, from.slots(), &rows)
    }

    /// The rotations of the first layer, and those of all others and of the head.
    pub fn rotations(&self) -> girih::ckks::Result<(Vec<i64>, Vec<i64>)> {
        // Maps are large, so that only what they need is left of them.
        let one = |i| {
            let layer = self.layer(i)?;
            let mut rotations = layer.map.rotations();
            if let PackedBeside::Mapped(map) = layer.beside {
                rotations.extend(map.rotations());
            }
            Ok(rotations)
        };
        let all = 0..self.layers();
        let mut layers = all.into_par_iter().map(one).collect::<girih::ckks::Result<Vec<_>>>()?;
        let first = layers.remove(0);
        let mut others = self.head()?.rotations()?;
        others.extend(layers.into_iter().flatten());
        others.sort_unstable();
        others.dedup();
        Ok((first, others))
    }

    /// Two normalised images as one vector.
    pub fn pack(&self, images: [&[f64]; 2]) -> Vec<Complex64> {
        let packing = &self.packings[0];
        let mut slots = vec![Complex64::default(); packing.slots()];
        let area = packing.grid * packing.grid;
        for (i, (&re, &im)) in images[0].iter().zip(images[1]).enumerate() {
            let pixel = [i % area / packing.grid, i % packing.grid];
            slots[packing.slot(i / area, pixel)] = Complex64::new(re, im);
        }
        slots
    }

    /// What is read off the head's result: a number a class, for each of two images.
    pub fn unpack(&self, slots: &[Complex64]) -> [Vec<f64>; 2] {
        let logits = |part: fn(&Complex64) -> f64| {
            slots.iter().zip(&self.network.head_bias).map(|(z, bias)| part(z) + bias).collect()
        };
        [logits(|z| z.re), logits(|z| z.im)]
    }
}

/// A number for both images.
pub fn both(v: f64) -> Complex64 {
    Complex64::new(v, v)
}

#[cfg(test)]
mod tests {
    use super::super::resnet::images;
    use super::*;

    /// What is computed on encrypted slots, on slots in the plain, with `relu` for the ReLU.
    fn simulate(
        plan: &Plan<'_>,
        images: [&[f64]; 2],
        relu: impl Fn(f64) -> f64,
    ) -> girih::ckks::Result<[Vec<f64>; 2]> {
        let repeated = |x: Vec<Complex64>| -> Vec<Complex64> {
            x.iter().copied().cycle().take(plan.slots()).collect()
        };
        let apply = |map: &LinearMap, x: &[Complex64]| repeated(map.apply(&x[..map.slots()]));
        let (mut before, mut x) = (Vec::new(), repeated(plan.pack(images)));
        for i in 0..plan.layers() {
            let PackedLayer { map, beside, bias } = plan.layer(i)?;
            let mut y = apply(&map, &x);
            let added = match &beside {
                PackedBeside::Nothing => Vec::new(),
                PackedBeside::Times(factor) => before.iter().map(|v| v * factor).collect(),
                PackedBeside::Mapped(map) => apply(map, &before),
            };
            y.iter_mut().zip(&added).for_each(|(y, v)| *y += v);
            y.iter_mut().zip(bias.iter().cycle()).for_each(|(y, v)| *y += both(*v));
            let part = |v: f64| relu(SQRT_2 * v);
            y.iter_mut().for_each(|z| *z = Complex64::new(part(z.re), part(z.im)));
            (before, x) = (x, y);
        }
        let head = plan.head()?;
        let row = |row: &[Complex64]| row.iter().zip(&x).map(|(w, v)| w * v).sum();
        let slots: Vec<Complex64> = head.entries().chunks(head.columns()).map(row).collect();
        Ok(plan.unpack(&slots))
    }

    /// On slots the network is what it is without them, for both images of a pair.
    fn check(network: &[u8], pictures: &[u8], pairs: usize) {
        let network = Network::read(network).expect("a network");
        let pictures = images(pictures, &network).expect("images");
        let plan = Plan::new(&network);
        let sign = CompositeSign::with_degrees(2f64.powi(-9), &[15, 15, 27]).expect("odd degrees");
        let relu = |x: f64| x * (1.0 + sign.evaluate(x)) / 2.0;
        for pair in pictures.chunks_exact(2).take(pairs) {
            let found = simulate(&plan, [&pair[0].0, &pair[1].0], relu).expect("right maps");
            for (found, (image, _)) in found.iter().zip(pair) {
                let wanted = network.logits(image, relu);
                assert_eq!((found.len(), wanted.len()), (network.classes, network.classes));
                for (found, wanted) in found.iter().zip(&wanted) {
                    assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
                }
            }
        }
    }

    #[test]
    fn slots_compute_the_small_network() {
        let network = include_bytes!("../resnet20_small.safetensors");
        check(network, include_bytes!("../resnet20_small_images.safetensors"), 8);
    }

    #[test]
    fn slots_compute_the_network_at_its_size() {
        let network = include_bytes!("../resnet20.safetensors");
        check(network, include_bytes!("../resnet20_images.safetensors"), 1);
    }

    #[test]
    fn pixels_have_slots_of_their_own() {
        for (gap, channels, slots) in [(1, 3, 4), (1, 16, 16), (2, 32, 8), (4, 64, 4), (4, 5, 1)] {
            let packing = Packing { grid: 8, gap, channels };
            assert_eq!(packing.slots(), slots * 64);
            let all = (0..channels).flat_map(|c| packing.pixels().map(move |p| (c, p)));
            let mut used: Vec<usize> = all.map(|(c, pixel)| packing.slot(c, pixel)).collect();
            used.sort_unstable();
            used.dedup();
            assert_eq!(used.len(), channels * packing.side() * packing.side());
            assert!(used.iter().all(|&slot| slot < packing.slots()));
        }
    }
}
