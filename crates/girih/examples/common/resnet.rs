//! Residual networks for small images, in the plain.
//!
//! The file of a network is in the safetensors format and has these arrays, batch normalisation
//! being folded into weights and biases. Stages count from 1, blocks from 0; stage s has C_s
//! channels, and C_0 is C_1:
//!
//! | name | shape |
//! |---|---|
//! | `conv1.weight`, `.bias` | C_0, colours, 3, 3 |
//! | `layer<stage>.<block>.conv1.weight`, `.bias` | C_s, those before, 3, 3 |
//! | `layer<stage>.<block>.conv2.weight`, `.bias` | C_s, C_s, 3, 3 |
//! | `layer<stage>.0.shortcut.weight`, `.bias` | C_s, C_(s-1), 1, 1; from the second stage on |
//! | `fc.weight`, `.bias` | classes, those of the last stage |
//! | `relu.bounds` | one for each ReLU: no magnitude that it is given is larger |
//! | `mean`, `std` | colours; an image's pixels, divided by 255, minus the one, by the other |
//!
//! and a note `side`, the pixels along a side of an image. The first block of each stage but the
//! first has stride 2. Biases have as many numbers as weights have outputs.

use super::tensors::{Refusal, Tensors};

/// A convolution with zeros around the image.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolution {
    pub inputs: usize,
    pub outputs: usize,
    /// 3, or 1.
    pub kernel: usize,
    /// 1, or 2.
    pub stride: usize,
    weights: Vec<f64>,
    pub bias: Vec<f64>,
}

impl Convolution {
    fn read(
        file: &Tensors,
        name: &str,
        [inputs, kernel, stride]: [usize; 3],
    ) -> Result<Self, Refusal> {
        let weight = format!("{name}.weight");
        let outputs = file.get(&weight)?.shape.first().copied().unwrap_or(0);
        let weights = file.shaped(&weight, &[outputs, inputs, kernel, kernel])?;
        if weights.is_empty() {
            return Err(format!("{weight} has no numbers"));
        }
        let bias = file.shaped(&format!("{name}.bias"), &[outputs])?;
        Ok(Self { inputs, outputs, kernel, stride, weights, bias })
    }

    /// The factor of the input channel `from` at a place of the kernel, for the output `to`.
    pub fn weight(&self, to: usize, from: usize, [y, x]: [usize; 2]) -> f64 {
        self.weights[((to * self.inputs + from) * self.kernel + y) * self.kernel + x]
    }

    /// Where the output at `at`, along one side of `side` inputs, takes place `tap` of the kernel
    /// from; nowhere outside the image.
    pub fn source(&self, at: usize, tap: usize, side: usize) -> Option<usize> {
        (at * self.stride + tap).checked_sub(self.kernel / 2).filter(|&from| from < side)
    }

    /// Of `[channel][y][x]`, `side` each way.
    fn apply(&self, x: &[f64], side: usize) -> Vec<f64> {
        let to = side / self.stride;
        let mut y = Vec::with_capacity(self.outputs * to * to);
        for output in 0..self.outputs {
            for place in 0..to * to {
                let mut sum = self.bias[output];
                for tap in 0..self.kernel * self.kernel {
                    let tap = [tap / self.kernel, tap % self.kernel];
                    let row = self.source(place / to, tap[0], side);
                    let column = self.source(place % to, tap[1], side);
                    let (Some(row), Some(column)) = (row, column) else { continue };
                    for input in 0..self.inputs {
                        let x = x[(input * side + row) * side + column];
                        sum += self.weight(output, input, tap) * x;
                    }
                }
                y.push(sum);
            }
        }
        y
    }
}

/// Two convolutions, and what goes past them.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    first: Convolution,
    second: Convolution,
    shortcut: Option<Convolution>,
}

/// What is added to a convolution's result: nothing, or what the ReLU two before this one left, as
/// it is or convolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beside<'a> {
    Nothing,
    Same,
    Convolved(&'a Convolution),
}

/// A layer: a convolution, what is added to it, and a ReLU of numbers up to `bound`.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    pub convolution: &'a Convolution,
    pub beside: Beside<'a>,
    pub bound: f64,
}

/// A residual network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub side: usize,
    pub colours: usize,
    pub classes: usize,
    mean: Vec<f64>,
    std: Vec<f64>,
    stem: Convolution,
    blocks: Vec<Block>,
    /// `[class][channel]`.
    pub head: Vec<f64>,
    pub head_bias: Vec<f64>,
    bounds: Vec<f64>,
}

impl Network {
    /// Reads a network from the bytes of a file.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let file = &Tensors::read(bytes)?;
        let side = file.note("side")?;
        let side: usize = side.parse().map_err(|_| format!("side: `{side}` is no number"))?;
        let colours = file.get("mean")?.values.len();
        let mean = file.shaped("mean", &[colours])?;
        let std = file.shaped("std", &[colours])?;
        if std.iter().any(|&v| v <= 0.0) {
            return Err("std: all numbers must be positive".into());
        }
        let stem = Convolution::read(file, "conv1", [colours, 3, 1])?;
        let (mut blocks, mut channels, mut shrunk) = (Vec::new(), stem.outputs, side);
        for stage in 1.. {
            let name = |block: usize, part: &str| format!("layer{stage}.{block}.{part}");
            for block in 0.. {
                if file.get(&name(block, "conv1.weight")).is_err() {
                    break;
                }
                let stride = if stage > 1 && block == 0 { 2 } else { 1 };
                let first = name(block, "conv1");
                let first = Convolution::read(file, &first, [channels, 3, stride])?;
                let second = name(block, "conv2");
                let second = Convolution::read(file, &second, [first.outputs, 3, 1])?;
                let short = name(block, "shortcut");
                let shortcut = if stride == 2 {
                    Some(Convolution::read(file, &short, [channels, 1, stride])?)
                } else {
                    None
                };
                let beside = shortcut.as_ref().map_or(channels, |c| c.outputs);
                if second.outputs != first.outputs || beside != first.outputs {
                    return Err(format!("layer{stage}.{block}: numbers of channels differ"));
                }
                (channels, shrunk) = (first.outputs, shrunk / stride);
                blocks.push(Block { first, second, shortcut });
            }
            if file.get(&format!("layer{}.0.conv1.weight", stage + 1)).is_err() {
                break;
            }
        }
        if !side.is_power_of_two() || shrunk == 0 {
            return Err(format!("side {side}: a power of two with room for all stages is needed"));
        }
        let bounds = file.shaped("relu.bounds", &[1 + 2 * blocks.len()])?;
        if bounds.iter().any(|&v| v <= 0.0) {
            return Err("relu.bounds: all numbers must be positive".into());
        }
        let classes = file.get("fc.bias")?.values.len();
        let head = file.shaped("fc.weight", &[classes, channels])?;
        let head_bias = file.shaped("fc.bias", &[classes])?;
        if classes == 0 {
            return Err("fc.bias: there are no classes".into());
        }
        Ok(Self { side, colours, classes, mean, std, stem, blocks, head, head_bias, bounds })
    }

    /// All layers, in their order.
    pub fn layers(&self) -> Vec<Layer<'_>> {
        let stem = [(&self.stem, Beside::Nothing)];
        let blocks = self.blocks.iter().flat_map(|block| {
            let beside = block.shortcut.as_ref().map_or(Beside::Same, Beside::Convolved);
            [(&block.first, Beside::Nothing), (&block.second, beside)]
        });
        let layer = |((convolution, beside), &bound)| Layer { convolution, beside, bound };
        stem.into_iter().chain(blocks).zip(&self.bounds).map(layer).collect()
    }

    /// What a network takes in: pixels `[colour][y][x]` brought to mean 0 and deviation 1.
    pub fn normalised(&self, pixels: &[f64]) -> Vec<f64> {
        let area = self.side * self.side;
        let one = |(i, &v): (usize, &f64)| (v / 255.0 - self.mean[i / area]) / self.std[i / area];
        pixels.iter().enumerate().map(one).collect()
    }

    /// What no number of [`Network::normalised`] exceeds, whatever the image.
    pub fn reach(&self) -> f64 {
        let ends = |(mean, std): (&f64, &f64)| mean.abs().max((1.0 - mean).abs()) / std;
        self.mean.iter().zip(&self.std).map(ends).fold(0.0, f64::max)
    }

    /// What the network makes of a normalised image, one number a class, with `relu` for the ReLU.
    /// It is given what lies in [-1, 1] if bounds hold.
    pub fn logits(&self, image: &[f64], mut relu: impl FnMut(f64) -> f64) -> Vec<f64> {
        let (mut before, mut x, mut side) = (Vec::new(), image.to_vec(), self.side);
        for Layer { convolution, beside, bound } in self.layers() {
            let mut y = convolution.apply(&x, side);
            side /= convolution.stride;
            let added = match beside {
                Beside::Nothing => Vec::new(),
                Beside::Same => before,
                Beside::Convolved(c) => c.apply(&before, side * c.stride),
            };
            y.iter_mut().zip(&added).for_each(|(y, v)| *y += v);
            y.iter_mut().for_each(|v| *v = bound * relu(*v / bound));
            (before, x) = (x, y);
        }
        let area = side * side;
        let means: Vec<f64> = x.chunks(area).map(|c| c.iter().sum::<f64>() / area as f64).collect();
        let one = |(row, bias): (&[f64], &f64)| {
            bias + row.iter().zip(&means).map(|(w, m)| w * m).sum::<f64>()
        };
        self.head.chunks(means.len()).zip(&self.head_bias).map(one).collect()
    }
}

/// The class of the largest number.
pub fn label(logits: &[f64]) -> usize {
    (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or(0)
}

/// Images with their classes: arrays `images` (count, colours, side, side) and `labels` (count) of
/// a file.
pub fn images(bytes: &[u8], network: &Network) -> Result<Vec<(Vec<f64>, usize)>, Refusal> {
    let file = Tensors::read(bytes)?;
    let count = file.get("labels")?.values.len();
    let labels = file.shaped("labels", &[count])?;
    let Network { colours, side, .. } = *network;
    let pixels = file.shaped("images", &[count, colours, side, side])?;
    let one = |(image, &label): (&[f64], &f64)| (network.normalised(image), label as usize);
    Ok(pixels.chunks(colours * side * side).zip(&labels).map(one).collect())
}
