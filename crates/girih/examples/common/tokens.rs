//! A transformer block on vectors of slots: where tokens lie, and its linear layers as maps.
//!
//! A slot holds number f of token t of a sample, and every operation serves all samples:
//!
//! ```text
//!     slot (t D + f) B + b      T tokens, D numbers a token, B samples: T D B slots
//! ```
//!
//! Tokens lie outermost, so that a rotation by j D B slots turns the tokens of every sample by j
//! without masks. Heads are T wide, so that a head's scores of a token, one a key, take the place
//! of its numbers. With i a number's place in its head and all indices modulo T, the turned keys
//! K'(t, i) = K(t + i, i) give the products
//!
//! ```text
//!     A_j(t, i) = Q(t, i) K'(t - j, i) = Q(t, i) K(t + i - j, i)       the key is i - j ahead
//!     S(t, k) = sum over j of A_j(t, k + j)                            score with the key k ahead
//!     O(t, i) = sum over j of E(t, i + j) V'(t + j, i)                 V'(t, i) = V(t + i, i)
//! ```
//!
//! which is the product of matrices of Jiang, Kim, Lauter and Song (2018) with fewer turns, as
//! those of tokens are rotations. Keys are centred on the way: scores less their mean make the same
//! softmax, and exp is at least 1 in the mean then, which bounds what is inverted from below.
//!
//! Sums before normalisations are centred and divided by sqrt(2 D v), v being the bound of their
//! variance: no slot is larger than the root of a half then, and those of two ciphertexts, as real
//! and imaginary part, no larger than 1.

use super::network::{Function, Linear, Network};
use girih::ckks::prelude::*;

/// Where tokens lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    pub tokens: usize,
    /// Numbers a token, D.
    width: usize,
    /// Samples side by side, B.
    pub samples: usize,
}

impl Packing {
    pub fn slots(&self) -> usize {
        self.tokens * self.width * self.samples
    }

    /// Slots from a token to the next.
    pub fn token(&self) -> usize {
        self.width * self.samples
    }

    /// A vector with `value` of each token and number, for all samples.
    fn filled(&self, tokens: usize, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let places = (0..tokens * self.width).map(|i| value(i / self.width, i % self.width));
        places.flat_map(|v| std::iter::repeat_n(v, self.samples)).collect()
    }

    /// The map whose result at `[t, f]` is the sum over `[t', f']` of what `entry` says of both
    /// times the number there, for each sample.
    fn map(
        &self,
        tokens: usize,
        entry: impl Fn([usize; 2], [usize; 2]) -> f64,
    ) -> girih::ckks::Result<LinearMap> {
        let places = tokens * self.width;
        let place = |i: usize| [i / self.width, i % self.width];
        let diagonal = |by: usize| {
            let number = |i: usize| entry(place(i), place((i + by) % places));
            let numbers: Vec<f64> = (0..places).map(number).collect();
            let zero = numbers.iter().all(|&v| v == 0.0);
            let repeated = numbers.into_iter().flat_map(|v| std::iter::repeat_n(v, self.samples));
            (!zero).then(|| ((by * self.samples) as i64, repeated.collect::<Vec<f64>>()))
        };
        LinearMap::from_diagonals(places * self.samples, (0..places).filter_map(diagonal))
    }
}

/// A map and what is added to its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    pub map: LinearMap,
    pub bias: Vec<f64>,
}

/// A network as maps of slots.
#[derive(Debug)]
pub struct Plan<'a> {
    pub network: &'a Network,
    pub packing: Packing,
}

impl<'a> Plan<'a> {
    /// As many samples as fit in `slots`.
    pub fn new(network: &'a Network, slots: usize) -> Result<Self, String> {
        let Network { tokens, width, heads, features, classes, .. } = *network;
        let hidden = network.up.outputs;
        if width != heads * tokens || !tokens.is_power_of_two() || !heads.is_power_of_two() {
            let wanted = "heads as wide as there are tokens, and powers of two of both";
            return Err(format!("{heads} heads, {tokens} tokens of {width} numbers: {wanted}"));
        }
        if features.max(classes) > width || !hidden.is_multiple_of(width) {
            let wanted = format!("up to {width} features and classes, and a multiple of it hidden");
            return Err(format!("{features}, {classes} and {hidden}: there may be {wanted}"));
        }
        let samples = slots / (tokens * width);
        if samples == 0 {
            return Err(format!("a sample takes {} slots, and there are {slots}", tokens * width));
        }
        Ok(Self { network, packing: Packing { tokens, width, samples } })
    }

    /// What a linear layer does to every token, with `position` added to its bias.
    fn layer(
        &self,
        linear: &Linear,
        position: impl Fn(usize) -> Vec<f64>,
    ) -> girih::ckks::Result<Layer> {
        let positions: Vec<Vec<f64>> = (0..self.packing.tokens).map(position).collect();
        Ok(Layer {
            map: self.packing.map(self.packing.tokens, |[t, f], [from, input]| {
                if t == from { linear.weight(f, input) } else { 0.0 }
            })?,
            bias: self.packing.filled(self.packing.tokens, |t, f| positions[t][f]),
        })
    }

    /// A linear layer of what the embedding makes of inputs.
    fn embedded(&self, linear: &Linear) -> girih::ckks::Result<Layer> {
        let network = self.network;
        self.layer(&linear.after(&network.embedding), |t| linear.apply(&network.position[t]))
    }

    fn plain(&self, linear: &Linear) -> girih::ckks::Result<Layer> {
        self.layer(linear, |_| linear.bias.clone())
    }

    /// Queries, whose products with keys are scores divided by their bound; keys; values.
    pub fn attention(&self) -> girih::ckks::Result<[Layer; 3]> {
        let Network { query, key, value, bounds, tokens, .. } = self.network;
        let query = query.times(1.0 / (bounds.score * (*tokens as f64).sqrt()));
        Ok([self.embedded(&query)?, self.embedded(key)?, self.embedded(value)?])
    }

    /// K' or V': number i of a head from i tokens ahead; less the mean over tokens for K'.
    pub fn ahead(&self, centred: bool) -> girih::ckks::Result<LinearMap> {
        let tokens = self.packing.tokens;
        let mean = if centred { 1.0 / tokens as f64 } else { 0.0 };
        self.packing.map(tokens, |[t, f], [from, input]| {
            let there = f64::from(u8::from((t + f) % tokens == from));
            if f == input { there - mean } else { 0.0 }
        })
    }

    /// The numbers of each head turned by `by`.
    pub fn turned(&self, by: usize) -> girih::ckks::Result<LinearMap> {
        let size = self.packing.tokens;
        self.packing.map(size, |[t, f], [from, input]| {
            let there = f / size == input / size && (f + by) % size == input % size;
            f64::from(u8::from(t == from && there))
        })
    }

    /// The argument of an inverse: the sum over each head, on the line of [`Function::Inverse`].
    pub fn sums(&self) -> girih::ckks::Result<(LinearMap, f64)> {
        let size = self.packing.tokens;
        let (slope, offset) = self.network.bounds.line(Function::Inverse);
        let map = self.packing.map(size, |[t, f], [from, input]| {
            if t == from && f / size == input / size { slope } else { 0.0 }
        })?;
        Ok((map, offset))
    }

    /// The argument of an inverse root: the sum of a token's squares, on the line of
    /// [`Function::Root`].
    pub fn variances(&self) -> girih::ckks::Result<(LinearMap, f64)> {
        let (slope, offset) = self.network.bounds.line(Function::Root);
        // Squares are divided by twice the number of them.
        let factor = |same: bool| if same { 2.0 * slope } else { 0.0 };
        let map = self.packing.map(self.packing.tokens, |[t, _], [from, _]| factor(t == from))?;
        Ok((map, offset))
    }

    /// Less their mean, and divided by sqrt(2 D v) of normalisation `i`.
    fn centring(&self, i: usize) -> Linear {
        let Network { width, ref bounds, .. } = *self.network;
        let unit = (2.0 * width as f64 * bounds.variance[i]).sqrt();
        Linear::centring(width).times(1.0 / unit)
    }

    /// What follows normalisation `i`, whose results are divided by the root of 2 D.
    fn normal(&self, i: usize) -> Linear {
        self.network.norms[i].of_inputs_over((2.0 * self.network.width as f64).sqrt())
    }

    /// What is normalised first: of attention's result, and of the input.
    pub fn first_sum(&self) -> girih::ckks::Result<[Layer; 2]> {
        let centring = self.centring(0);
        Ok([self.plain(&centring.after(&self.network.output))?, self.embedded(&centring)?])
    }

    /// The arguments of GELU, of the first normalisation's result: some vectors of D numbers a
    /// token.
    pub fn up(&self) -> girih::ckks::Result<Vec<Layer>> {
        let Network { up, width, bounds, .. } = self.network;
        let all = up.after(&self.normal(0)).times(1.0 / bounds.gelu);
        let starts = (0..up.outputs).step_by(*width);
        starts.map(|start| self.plain(&all.rows(start..start + width))).collect()
    }

    /// What is normalised then: of each of GELU's results, and last of the first normalisation's.
    pub fn second_sum(&self) -> girih::ckks::Result<Vec<Layer>> {
        let Network { down, width, bounds, .. } = self.network;
        let centring = self.centring(1);
        let all = centring.after(down).of_inputs_over(bounds.gelu);
        let starts = (0..down.inputs).step_by(*width);
        let mut parts: Vec<_> = starts.map(|start| all.columns(start..start + width)).collect();
        let mut beside = centring.after(&self.normal(0));
        beside.bias.iter_mut().zip(&all.bias).for_each(|(b, more)| *b += more);
        parts.push(beside);
        parts.iter().map(|part| self.plain(part)).collect()
    }

    /// Classes of the sum over tokens of the second normalisation's result; repeats with
    /// [`Packing::token`].
    pub fn head(&self) -> girih::ckks::Result<Layer> {
        let Network { head, tokens, .. } = self.network;
        let all = head.after(&self.normal(1).of_inputs_over(1.0 / *tokens as f64));
        let bias = |f: usize| all.bias.get(f).copied().unwrap_or(0.0);
        Ok(Layer {
            map: self.packing.map(1, |[_, f], [_, input]| all.weight(f, input))?,
            bias: self.packing.filled(1, |_, f| bias(f)),
        })
    }

    /// Up to as many samples as fit, as one vector.
    pub fn pack(&self, samples: &[&[f64]]) -> Vec<f64> {
        let Packing { width, samples: count, .. } = self.packing;
        let mut slots = vec![0.0; self.packing.slots()];
        for (b, x) in samples.iter().enumerate() {
            for (i, &v) in x.iter().enumerate() {
                let (t, f) = (i / self.network.features, i % self.network.features);
                slots[(t * width + f) * count + b] = v;
            }
        }
        slots
    }

    /// What is read off the head's result: for each of `count` samples, a number a class.
    pub fn unpack(&self, slots: &[f64], count: usize) -> Vec<Vec<f64>> {
        let class = |c: usize, b: usize| slots[c * self.packing.samples + b];
        (0..count).map(|b| (0..self.network.classes).map(|c| class(c, b)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(map: &LinearMap, x: &[f64]) -> Vec<f64> {
        map.apply(x).iter().map(|z| z.re).collect()
    }

    fn layer(layer: &Layer, x: &[f64]) -> Vec<f64> {
        mapped(&layer.map, x).iter().zip(&layer.bias).map(|(y, b)| y + b).collect()
    }

    fn both(x: &[f64], y: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()
    }

    fn product(x: &[f64], y: &[f64]) -> Vec<f64> {
        both(x, y, |x, y| x * y)
    }

    fn sum(x: &[f64], y: &[f64]) -> Vec<f64> {
        both(x, y, |x, y| x + y)
    }

    /// What is computed on encrypted slots, on slots in the plain.
    fn simulate(plan: &Plan<'_>, samples: &[&[f64]]) -> girih::ckks::Result<Vec<Vec<f64>>> {
        let tokens = plan.packing.tokens;
        let of = |function: Function, x: &[f64]| -> Vec<f64> {
            x.iter().map(|&u| plan.network.bounds.exact(function, u)).collect()
        };
        let turn = |x: &[f64], by: usize| {
            let mut x = x.to_vec();
            x.rotate_left(by % tokens * plan.packing.token());
            x
        };
        let turned = |x: &[f64], by: usize| plan.turned(by).map(|map| mapped(&map, x));
        let line = |x: &[f64], (map, offset): (LinearMap, f64)| -> Vec<f64> {
            mapped(&map, x).iter().map(|y| y + offset).collect()
        };
        let normalise = |y: &[f64]| {
            let root = of(Function::Root, &line(&product(y, y), plan.variances()?));
            girih::ckks::Result::Ok(product(y, &root))
        };

        let x = plan.pack(samples);
        let [q, k, v] = plan.attention()?.map(|l| layer(&l, &x));
        let (k, v) = (mapped(&plan.ahead(true)?, &k), mapped(&plan.ahead(false)?, &v));
        let mut scores = vec![0.0; x.len()];
        for j in 0..tokens {
            scores = sum(&scores, &turned(&product(&q, &turn(&k, tokens - j)), j)?);
        }
        let powers = of(Function::Power, &scores);
        let mut o = vec![0.0; x.len()];
        for j in 0..tokens {
            o = sum(&o, &product(&turned(&powers, j)?, &turn(&v, j)));
        }
        let o = product(&o, &of(Function::Inverse, &line(&powers, plan.sums()?)));
        let [output, input] = plan.first_sum()?;
        let y = sum(&layer(&output, &o), &layer(&input, &x));
        assert!(y.iter().all(|y| y.abs() < 0.5f64.sqrt()));
        let n = normalise(&y)?;
        let mut parts: Vec<_> =
            plan.up()?.iter().map(|l| of(Function::Gelu, &layer(l, &n))).collect();
        parts.push(n);
        let mut y = vec![0.0; x.len()];
        for (l, part) in plan.second_sum()?.iter().zip(&parts) {
            y = sum(&y, &layer(l, part));
        }
        let n = normalise(&y)?;
        let all = (0..tokens).fold(vec![0.0; x.len()], |all, t| sum(&all, &turn(&n, t)));
        Ok(plan.unpack(&layer(&plan.head()?, &all[..plan.packing.token()]), samples.len()))
    }

    #[test]
    fn slots_compute_the_network() {
        let network = Network::read(include_bytes!("../transformer.safetensors"));
        let network = network.expect("a network");
        let data = network.sequences(include_bytes!("../transformer_data.safetensors"));
        let data = data.expect("sequences");
        let plan = Plan::new(&network, 512).expect("powers of two");
        let samples: Vec<&[f64]> =
            data.iter().take(plan.packing.samples).map(|(x, _)| &x[..]).collect();
        let found = simulate(&plan, &samples).expect("right maps");
        assert_eq!((found.len(), plan.packing.slots()), (4, 512));
        for (found, x) in found.iter().zip(samples) {
            let wanted = network.logits(x, |f, u| network.bounds.exact(f, u));
            assert_eq!((found.len(), wanted.len()), (network.classes, network.classes));
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let network = Network::read(include_bytes!("../transformer.safetensors"));
        let network = network.expect("a network");
        let refused = Plan::new(&network, 64).expect_err("128 slots a sample");
        assert!(refused.contains("128 slots"), "{refused}");
        let (mut narrow, mut many) = (network.clone(), network);
        (narrow.heads, many.classes) = (4, 17);
        for (other, why) in [(narrow, "heads as wide"), (many, "16 features and classes")] {
            let refused = Plan::new(&other, 512).expect_err(why);
            assert!(refused.contains(why), "{refused}");
        }
    }
}
