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
//! apart for all pixels.
//!
//! Slots hold several images. Two of them are real and imaginary part, since maps are real. Others
//! lie *beside* each other, the same place of all of them in neighbouring slots, so that what
//! moves one image by k slots moves m by m k. And where a stride makes room, two ciphertexts become
//! one: their images take turns in the gaps of a pixel, as *lanes*, in place of more channels
//! (channel `l + lanes c` above is channel c of lane l). The maps of that layer bring them there.
//!
//! A layer's result is divided by its ReLU's bound, times 2 where imaginary parts are images too:
//! what is twice the real part stays below 1 then. What a ReLU leaves is divided by its bound. Both
//! are in the maps' numbers.

use super::resnet::{Beside, Convolution, Layer, Network};
use girih::ckks::prelude::*;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where the pixels of all channels of all images lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Rows and columns of a grid.
    grid: usize,
    /// Pixels of a channel are this far apart; a power of two.
    gap: usize,
    channels: usize,
    /// Images that take turns in the gaps, a power of two up to the square of the gap.
    lanes: usize,
    /// Images in neighbouring slots, a power of two.
    beside: usize,
}

impl Packing {
    /// Slots in use; vectors repeat with this period.
    pub fn slots(&self) -> usize {
        let grids = self.channels.div_ceil(self.sharing()).next_power_of_two();
        grids * self.grid * self.grid * self.beside
    }

    /// Images in each part of a vector.
    pub fn images(&self) -> usize {
        self.lanes * self.beside
    }

    /// Channels of an image that share a grid.
    fn sharing(&self) -> usize {
        self.gap * self.gap / self.lanes
    }

    /// Pixels along a side of a channel.
    fn side(&self) -> usize {
        self.grid / self.gap
    }

    /// The slot of a pixel.
    fn slot(&self, image: usize, channel: usize, [y, x]: [usize; 2]) -> usize {
        let (lane, place) = (image / self.beside, image % self.beside);
        let (grid, own) = (channel / self.sharing(), channel % self.sharing());
        let part = lane + self.lanes * own;
        let row = y * self.gap + part / self.gap;
        let column = x * self.gap + part % self.gap;
        ((grid * self.grid + row) * self.grid + column) * self.beside + place
    }

    /// How far apart rows of pixels and pixels of a row are.
    fn steps(&self) -> [usize; 2] {
        [self.gap * self.grid * self.beside, self.gap * self.beside]
    }

    /// All pixels of a channel.
    fn pixels(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let side = self.side();
        (0..side * side).map(move |i| [i / side, i % side])
    }

    /// A vector with `value` of each channel in all of its pixels, of these images.
    fn filled(&self, images: Range<usize>, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut slots = vec![0.0; self.slots()];
        for image in images {
            for channel in 0..self.channels {
                for pixel in self.pixels() {
                    slots[self.slot(image, channel, pixel)] = value(channel);
                }
            }
        }
        slots
    }
}

/// A layer up to its ReLU.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedLayer {
    /// Of one ciphertext, or of two that become one.
    pub maps: LinearMaps,
    pub beside: PackedBeside,
    /// To be added to all images; repeats.
    pub bias: Vec<Complex64>,
}

/// What is made of the activation before the last one, and added.
#[derive(Clone, Debug, PartialEq)]
pub enum PackedBeside {
    Nothing,
    Times(f64),
    Mapped(LinearMaps),
}

/// A network as maps of slots, made one by one: they take much more memory than the network.
#[derive(Debug)]
pub struct Plan<'a> {
    pub network: &'a Network,
    /// 1, or 2 where imaginary parts are images too.
    parts: usize,
    /// Of what each layer is given, the image first, and of what the head is given.
    packings: Vec<Packing>,
    /// Which ciphertexts of images end up in each one that the head is given, by lane.
    order: Vec<Vec<usize>>,
}

impl<'a> Plan<'a> {
    /// For so many images in ciphertexts of `slots` slots.
    ///
    /// # Errors
    /// Where a layer of one image needs more slots.
    pub fn new(network: &'a Network, slots: usize, images: usize) -> Result<Self, String> {
        let image =
            Packing { grid: network.side, gap: 1, channels: network.colours, lanes: 1, beside: 1 };
        let after = |last: Packing, layer: &Layer<'_>| {
            let Convolution { outputs, stride, .. } = *layer.convolution;
            Packing { gap: last.gap * stride, channels: outputs, ..last }
        };
        let layers = network.layers();
        let (mut last, mut largest) = (image, image.slots());
        for layer in &layers {
            last = after(last, layer);
            largest = largest.max(last.slots());
        }
        let room = slots / largest;
        if room == 0 {
            return Err(format!("{largest} slots are needed for a layer, and there are {slots}"));
        }
        // Real parts first: a bootstrapping of real slots takes less time.
        let parts = if images <= room { 1 } else { 2 };
        let beside = room.min(images.div_ceil(parts).next_power_of_two());
        last = Packing { beside, ..image };
        let mut packings = vec![last];
        let count = images.div_ceil(parts * beside);
        let mut order: Vec<Vec<usize>> = (0..count).map(|i| vec![i]).collect();
        for layer in &layers {
            last = after(last, layer);
            let joined = Packing { lanes: 2 * last.lanes, ..last };
            let has_room = joined.sharing() > 0 && joined.slots() <= largest * beside;
            if layer.convolution.stride > 1 && order.len() > 1 && has_room {
                last = joined;
                let [first, second] = halves(order.len());
                let both = |(a, b): (usize, usize)| [order[a].clone(), order[b].clone()].concat();
                order = first.zip(second).map(both).collect();
            }
            packings.push(last);
        }
        Ok(Self { network, parts, packings, order })
    }

    /// How many layers there are, each with a ReLU.
    pub fn layers(&self) -> usize {
        self.packings.len() - 1
    }

    /// Slots of the largest vector; all others repeat within as many.
    pub fn slots(&self) -> usize {
        self.packings.iter().map(Packing::slots).max().unwrap_or(1)
    }

    /// 1 where all slots are real, 2 where imaginary parts are images too.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Images in each ciphertext that is encrypted.
    pub fn images(&self) -> usize {
        self.parts * self.packings[0].images()
    }

    /// Of how many ciphertexts one result of layer `i` is made: of what it is given, and of what
    /// is added.
    pub fn inputs(&self, i: usize) -> [usize; 2] {
        let from = |j: usize| self.packings[i + 1].lanes / self.packings[j].lanes;
        match self.network.layers()[i].beside {
            Beside::Nothing => [from(i), 0],
            Beside::Same => [from(i), 1],
            Beside::Convolved(_) => [from(i), from(i - 1)],
        }
    }

    /// Layer `i`.
    pub fn layer(&self, i: usize) -> girih::ckks::Result<PackedLayer> {
        let layers = self.network.layers();
        let layer = layers[i];
        let unit = self.parts as f64 * layer.bound;
        // What activations are divided by; images are as they are.
        let bound = |i: usize| if i == 0 { 1.0 } else { layers[i - 1].bound };
        let to = &self.packings[i + 1];
        let maps = self.maps(layer.convolution, i, to, bound(i) / unit, |mapping| mapping.map())?;
        let mut bias = layer.convolution.bias.clone();
        let beside = match layer.beside {
            Beside::Nothing => PackedBeside::Nothing,
            Beside::Same => PackedBeside::Times(bound(i - 1) / unit),
            Beside::Convolved(c) => {
                bias.iter_mut().zip(&c.bias).for_each(|(b, more)| *b += more);
                PackedBeside::Mapped(
                    self.maps(c, i - 1, to, bound(i - 1) / unit, |mapping| mapping.map())?,
                )
            }
        };
        let bias = to.filled(0..to.images(), |c| bias[c] / unit);
        let imaginary = if self.parts == 1 { 0.0 } else { 1.0 };
        let bias = bias.into_iter().map(|v| Complex64::new(v, imaginary * v)).collect();
        Ok(PackedLayer { maps, beside, bias })
    }

    /// `factor` times a convolution of what layer `from` is given: a map for each ciphertext that
    /// becomes part of one result, each as `make` makes it.
    fn maps(
        &self,
        convolution: &Convolution,
        from: usize,
        to: &Packing,
        factor: f64,
        make: impl Fn(&Mapping<'_>) -> girih::ckks::Result<LinearMap>,
    ) -> girih::ckks::Result<LinearMaps> {
        let from = &self.packings[from];
        let all = 0..to.lanes / from.lanes;
        let one = |which| make(&Mapping { convolution, from, to, which, factor }).map(Some);
        LinearMaps::new(vec![all.map(one).collect::<Result<_, _>>()?])
    }

    /// The mean over pixels and the last product, without its bias: a number for each class and
    /// image, those of a class side by side.
    pub fn head(&self) -> girih::ckks::Result<Matrix> {
        let Network { ref head, classes, .. } = *self.network;
        let from = &self.packings[self.layers()];
        let bound = self.network.layers()[self.layers() - 1].bound;
        let share = bound / (from.side() * from.side()) as f64;
        let row = |row: &[f64], image: usize| {
            from.filled(image..image + 1, |channel| share * row[channel])
        };
        let rows: Vec<f64> = head
            .chunks(from.channels)
            .flat_map(|class| (0..from.images()).flat_map(move |image| row(class, image)))
            .collect();
        Matrix::new(classes * from.images(), from.slots(), &rows)
    }

    /// The rotations of the first layer, and those of all others and of the head.
    pub fn rotations(&self) -> girih::ckks::Result<(Vec<i64>, Vec<i64>)> {
        // Without their numbers, which would take long to make and much memory.
        let network = self.network.layers();
        let one = |i: usize| {
            let to = &self.packings[i + 1];
            let of = |convolution, from| -> girih::ckks::Result<Vec<i64>> {
                Ok(self.maps(convolution, from, to, 1.0, |mapping| mapping.places())?.rotations())
            };
            let mut rotations = of(network[i].convolution, i)?;
            if let Beside::Convolved(convolution) = network[i].beside {
                rotations.extend(of(convolution, i - 1)?);
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

    /// Normalised images, up to [`Plan::images`], as one vector; where there are fewer they repeat,
    /// as ReLUs have bounds for images alone.
    pub fn pack(&self, images: &[&[f64]]) -> Vec<Complex64> {
        let packing = &self.packings[0];
        let mut slots = vec![Complex64::default(); packing.slots()];
        let area = packing.grid * packing.grid;
        for (number, image) in images.iter().cycle().take(self.images()).enumerate() {
            for (i, &v) in image.iter().enumerate() {
                let pixel = [i % area / packing.grid, i % packing.grid];
                let slot = packing.slot(number % packing.images(), i / area, pixel);
                let slot = &mut slots[slot];
                *(if number < packing.images() { &mut slot.re } else { &mut slot.im }) = v;
            }
        }
        slots
    }

    /// What is read off the head's results: a number a class for each of the `count` images.
    pub fn unpack(&self, results: &[Vec<Complex64>], count: usize) -> Vec<Vec<f64>> {
        let last = &self.packings[self.layers()];
        let (beside, each) = (last.beside, self.images());
        let mut logits = vec![Vec::new(); count];
        for (slots, order) in results.iter().zip(&self.order) {
            for (lane, part, place) in (0..last.images() * self.parts)
                .map(|i| (i / beside % last.lanes, i / last.images(), i % beside))
            {
                let number = order[lane] * each + part * beside + place;
                let Some(logits) = logits.get_mut(number) else { continue };
                let read = |(class, bias): (usize, &f64)| {
                    let z = slots[class * last.images() + lane * beside + place];
                    bias + if part == 0 { z.re } else { z.im }
                };
                *logits = self.network.head_bias.iter().enumerate().map(read).collect();
            }
        }
        logits
    }
}

/// The first and the last of `count`, half of them each; that in the middle is in both.
pub fn halves(count: usize) -> [Range<usize>; 2] {
    let half = count.div_ceil(2);
    [0..half, count - half..count]
}

/// Part of a diagonal: one number in a slot of the result for each pixel.
struct Part {
    output: usize,
    image: usize,
    tap: [usize; 2],
    /// Which of the repetitions of the result's slots.
    copy: usize,
    weight: f64,
}

/// `factor` times a convolution, for the ciphertext that brings lanes from `which` times its own
/// number on.
#[derive(Clone, Copy)]
struct Mapping<'a> {
    convolution: &'a Convolution,
    from: &'a Packing,
    to: &'a Packing,
    which: usize,
    factor: f64,
}

impl Mapping<'_> {
    /// Slots of the map, the more of both sides.
    fn slots(&self) -> usize {
        self.from.slots().max(self.to.slots())
    }

    /// The outputs along one side that take this tap from inside of the image.
    fn inside(&self, tap: usize) -> Range<usize> {
        let is_inside = |&at: &usize| self.source(at, tap).is_some();
        let mut all = (0..self.to.side()).filter(is_inside);
        let Some(first) = all.next() else { return 0..0 };
        first..all.next_back().unwrap_or(first) + 1
    }

    /// The pixel along one side that an output at `at` takes a tap from, if there is one.
    fn source(&self, at: usize, tap: usize) -> Option<usize> {
        self.convolution.source(at, tap, self.from.side())
    }

    /// Of which parts each diagonal consists. Input and output of a tap are as far apart for all
    /// pixels.
    fn diagonals(&self) -> BTreeMap<usize, Vec<Part>> {
        let Self { convolution, from, to, which, factor } = *self;
        let kernel = convolution.kernel;
        let mut diagonals: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
        for (tap, copy) in (0..kernel * kernel).flat_map(|tap| {
            let copies = 0..self.slots() / to.slots();
            copies.map(move |copy| ([tap / kernel, tap % kernel], copy))
        }) {
            // A pixel whose source is inside of the image.
            let [y, x] = tap.map(|tap| self.inside(tap).start);
            let (Some(row), Some(column)) = (self.source(y, tap[0]), self.source(x, tap[1])) else {
                continue;
            };
            for output in 0..convolution.outputs {
                for input in 0..convolution.inputs {
                    let weight = factor * convolution.weight(output, input, tap);
                    for own in 0..from.images() {
                        let image = which * from.images() + own;
                        let source = from.slot(own, input, [row, column]);
                        let slot = to.slot(image, output, [y, x]) + copy * to.slots();
                        // Numbers of slots are powers of two, so that differences of slots can be
                        // taken modulo the period of the input.
                        let by = (source + self.slots() - slot) % from.slots();
                        let part = Part { output, image, tap, copy, weight };
                        diagonals.entry(by).or_default().push(part);
                    }
                }
            }
        }
        diagonals.retain(|_, parts| parts.iter().any(|part| part.weight != 0.0));
        diagonals
    }

    /// The diagonal of these parts.
    fn diagonal(&self, parts: &[Part]) -> Vec<f64> {
        let mut diagonal = vec![0.0; self.slots()];
        let [down, right] = self.to.steps();
        for Part { output, image, tap, copy, weight } in parts {
            let first = self.to.slot(*image, *output, [0, 0]) + copy * self.to.slots();
            let [rows, columns] = tap.map(|tap| self.inside(tap));
            for y in rows {
                for x in columns.clone() {
                    diagonal[first + y * down + x * right] = *weight;
                }
            }
        }
        diagonal
    }

    /// The map itself.
    fn map(&self) -> girih::ckks::Result<LinearMap> {
        let one = |(by, parts): (usize, Vec<Part>)| (by as i64, self.diagonal(&parts));
        LinearMap::from_diagonals(self.slots(), self.diagonals().into_iter().map(one))
    }

    /// A map with diagonals at the same places, and with no numbers of the network.
    fn places(&self) -> girih::ckks::Result<LinearMap> {
        let one = |by: usize| (by as i64, vec![1.0]);
        LinearMap::from_diagonals(self.slots(), self.diagonals().into_keys().map(one))
    }
}

#[cfg(test)]
mod tests {
    use super::super::resnet::images;
    use super::*;

    /// What is computed on encrypted slots, on slots in the plain, with `relu` for the ReLU.
    fn simulate(
        plan: &Plan<'_>,
        images: &[&[f64]],
        relu: impl Fn(f64) -> f64,
    ) -> girih::ckks::Result<Vec<Vec<f64>>> {
        let repeated = |x: Vec<Complex64>| -> Vec<Complex64> {
            x.iter().copied().cycle().take(plan.slots()).collect()
        };
        let apply = |maps: &LinearMaps, x: &[Vec<Complex64>]| -> Vec<Vec<Complex64>> {
            let x: Vec<_> = x.iter().map(|x| x[..maps.slots()].to_vec()).collect();
            let (starts, results) = match maps.inputs() {
                1 => (vec![0], x.len()),
                _ => {
                    let halves = halves(x.len());
                    (halves.iter().map(|half| half.start).collect(), halves[0].len())
                }
            };
            let one = |k: usize| {
                let own: Vec<_> = starts.iter().map(|start| x[start + k].clone()).collect();
                repeated(maps.apply(&own).remove(0))
            };
            (0..results).map(one).collect()
        };
        let x = images.chunks(plan.images()).map(|images| repeated(plan.pack(images)));
        let mut x: Vec<_> = x.collect();
        let mut before = Vec::new();
        let unit = plan.parts() as f64;
        for i in 0..plan.layers() {
            let PackedLayer { maps, beside, bias } = plan.layer(i)?;
            let mut y = apply(&maps, &x);
            assert_eq!(plan.inputs(i)[0], maps.inputs());
            let added = match &beside {
                PackedBeside::Nothing => Vec::new(),
                PackedBeside::Times(factor) => {
                    let times = |x: &Vec<Complex64>| x.iter().map(|v| v * factor).collect();
                    before.iter().map(times).collect()
                }
                PackedBeside::Mapped(maps) => apply(maps, &before),
            };
            for (k, y) in y.iter_mut().enumerate() {
                for (j, y) in y.iter_mut().enumerate() {
                    *y += bias[j % bias.len()];
                    *y += added.get(k).map_or(Complex64::default(), |v: &Vec<Complex64>| v[j]);
                    *y = Complex64::new(relu(unit * y.re), relu(unit * y.im));
                }
            }
            (before, x) = (x, y);
        }
        let head = plan.head()?;
        let one = |x: &Vec<Complex64>| {
            let row = |row: &[Complex64]| row.iter().zip(x).map(|(w, v)| w * v).sum();
            head.entries().chunks(head.columns()).map(row).collect()
        };
        Ok(plan.unpack(&x.iter().map(one).collect::<Vec<_>>(), images.len()))
    }

    /// On slots the network is what it is without them, for all images, of which there are `count`
    /// in ciphertexts of `slots` slots: `packed` parts, ciphertexts at first and in the end.
    fn check(network: &[u8], pictures: &[u8], (slots, count): (usize, usize), packed: [usize; 3]) {
        let network = Network::read(network).expect("a network");
        let pictures = images(pictures, &network).expect("images");
        let plan = Plan::new(&network, slots, count).expect("room");
        let ciphertexts = [count.div_ceil(plan.images()), plan.order.len()];
        assert_eq!([plan.parts(), ciphertexts[0], ciphertexts[1]], packed);
        let sign = CompositeSign::with_degrees(2f64.powi(-9), &[15, 15, 27]).expect("odd degrees");
        let relu = |x: f64| x * (1.0 + sign.evaluate(x)) / 2.0;
        let chosen: Vec<&[f64]> =
            pictures.iter().cycle().take(count).map(|(image, _)| image.as_slice()).collect();
        let found = simulate(&plan, &chosen, relu).expect("right maps");
        assert_eq!(found.len(), count);
        for (found, image) in found.iter().zip(chosen) {
            let wanted = network.logits(image, relu);
            assert_eq!((found.len(), wanted.len()), (network.classes, network.classes));
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
            }
        }
    }

    #[test]
    fn slots_compute_the_small_network() {
        let network = include_bytes!("../resnet20_small.safetensors");
        let pictures = include_bytes!("../resnet20_small_images.safetensors");
        for (slots_and_count, packed) in [
            ((512, 1), [1, 1, 1]),
            ((512, 2), [1, 1, 1]),
            ((256, 2), [2, 1, 1]),
            ((512, 4), [2, 1, 1]),
            ((512, 8), [2, 2, 1]),
            ((512, 11), [2, 3, 1]),
            ((256, 12), [2, 6, 2]),
            ((4096, 9), [1, 1, 1]),
        ] {
            check(network, pictures, slots_and_count, packed);
        }
    }

    #[test]
    fn slots_compute_the_network_at_its_size() {
        let network = include_bytes!("../resnet20.safetensors");
        let pictures = include_bytes!("../resnet20_images.safetensors");
        check(network, pictures, (32768, 8), [2, 2, 1]);
    }

    /// Rotations are those of the maps themselves.
    #[test]
    fn keys_are_known_without_the_numbers_of_maps() {
        let network = Network::read(include_bytes!("../resnet20_small.safetensors"));
        let network = network.expect("a network");
        for (slots, count) in [(512, 1), (256, 2), (512, 8), (256, 12)] {
            let plan = Plan::new(&network, slots, count).expect("room");
            let (first, others) = plan.rotations().expect("right maps");
            let mut wanted = plan.head().expect("a matrix").rotations().expect("rotations");
            for i in 0..plan.layers() {
                let layer = plan.layer(i).expect("right maps");
                let mut own = layer.maps.rotations();
                if let PackedBeside::Mapped(maps) = layer.beside {
                    own.extend(maps.rotations());
                }
                if i == 0 {
                    assert_eq!(first, own);
                } else {
                    wanted.extend(own);
                }
            }
            wanted.sort_unstable();
            wanted.dedup();
            assert_eq!(others, wanted);
        }
    }

    #[test]
    fn networks_without_room_are_refused() {
        let network = Network::read(include_bytes!("../resnet20_small.safetensors"));
        let network = network.expect("a network");
        let refused = Plan::new(&network, 128, 1).expect_err("a layer needs 256 slots");
        assert_eq!(refused, "256 slots are needed for a layer, and there are 128");
    }

    #[test]
    fn pixels_have_slots_of_their_own() {
        for ([gap, channels, lanes, beside], slots) in [
            ([1, 3, 1, 1], 4),
            ([1, 16, 1, 1], 16),
            ([1, 16, 1, 2], 32),
            ([2, 32, 1, 1], 8),
            ([2, 32, 2, 2], 32),
            ([4, 64, 1, 1], 4),
            ([4, 64, 4, 2], 32),
            ([4, 64, 8, 1], 32),
            ([4, 5, 1, 1], 1),
        ] {
            let packing = Packing { grid: 8, gap, channels, lanes, beside };
            assert_eq!(packing.slots(), slots * 64);
            let all = (0..packing.images()).flat_map(|image| {
                let channels = (0..channels).map(move |channel| (image, channel));
                channels.flat_map(|(image, c)| packing.pixels().map(move |p| (image, c, p)))
            });
            let slot = |(image, channel, pixel)| packing.slot(image, channel, pixel);
            let mut used: Vec<usize> = all.map(slot).collect();
            used.sort_unstable();
            used.dedup();
            let pixels = packing.side() * packing.side();
            assert_eq!(used.len(), packing.images() * channels * pixels);
            assert!(used.iter().all(|&slot| slot < packing.slots()));
        }
    }
}
