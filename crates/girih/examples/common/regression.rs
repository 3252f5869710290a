//! Logistic regression in the plain: the images, HELR's descent, and how good its weights are.

use super::common::Failure;

/// 14 x 14 pixels and a constant, padded.
pub const FEATURES: usize = 256;

/// Pixels a side of the images, and of those that they are made from.
const SIDE: usize = 14;
const SOURCE_SIDE: usize = 8;

/// One row of data as z = (2 y - 1) (x, 1): the class y tells an 8 from a 3.
pub type Row = Vec<f64>;

/// How an iteration moves: gamma along the mean gradient, then eta, the momentum.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub gamma: f64,
    pub eta: f64,
}

/// Rates of all iterations: steps shrink as 1/t, momentum follows Nesterov's
/// lambda_(t+1) = (1 + sqrt(1 + 4 lambda_t^2)) / 2.
pub fn rates(iterations: u16) -> Vec<Rate> {
    let mut lambda = 1.0f64;
    let rate = |t| {
        let next = (1.0 + (1.0 + 4.0 * lambda * lambda).sqrt()) / 2.0;
        let eta = (1.0 - lambda) / next;
        lambda = next;
        Rate { gamma: 2.0 / f64::from(t), eta }
    };
    (1..=iterations).map(rate).collect()
}

/// Coefficients of what stands for the sigmoid of -x: c_0 + c_1 x + c_3 x^3.
pub const SIGMOID: [f64; 3] = [0.5, -0.0843, 0.0002];

/// The polynomial in the place of the sigmoid of -x.
pub fn sigmoid(x: f64) -> f64 {
    SIGMOID[0] + SIGMOID[1] * x + SIGMOID[2] * x.powi(3)
}

/// An image as it was scanned.
struct Scan {
    sign: f64,
    pixels: Vec<f64>,
}

/// Every 3 and 8.
fn scans() -> Result<Vec<Scan>, Failure> {
    let lines = include_str!("../digits.txt").lines().filter(|line| line.starts_with(['3', '8']));
    let scan = |line: &str| -> Result<Scan, Failure> {
        let (label, pixels) = line.split_once(' ').ok_or("a line without pixels")?;
        let pixel = |c: char| Ok(f64::from(c.to_digit(17).ok_or("no pixel")?) / 16.0);
        let pixels = pixels.chars().map(pixel).collect::<Result<Vec<_>, Failure>>()?;
        Ok(Scan { sign: if label == "8" { 1.0 } else { -1.0 }, pixels })
    };
    lines.map(scan).collect()
}

impl Scan {
    /// 14 x 14 pixels, interpolated, of the scan moved by parts of its pixels.
    fn row(&self, (right, down): (f64, f64)) -> Row {
        let at = |x: i32, y: i32| {
            let inside = |v: i32| (0..SOURCE_SIDE as i32).contains(&v);
            let place = || y as usize * SOURCE_SIDE + x as usize;
            if inside(x) && inside(y) { self.pixels[place()] } else { 0.0 }
        };
        let source = |i: usize| (i as f64 + 0.5) * SOURCE_SIDE as f64 / SIDE as f64 - 0.5;
        let mut z = Vec::with_capacity(FEATURES);
        for (row, column) in (0..SIDE * SIDE).map(|i| (i / SIDE, i % SIDE)) {
            let (x, y) = (source(column) - right, source(row) - down);
            let (left, top) = (x.floor(), y.floor());
            let (fx, fy) = (x - left, y - top);
            let (left, top) = (left as i32, top as i32);
            let line = |y: i32| (1.0 - fx) * at(left, y) + fx * at(left + 1, y);
            z.push(self.sign * ((1.0 - fy) * line(top) + fy * line(top + 1)));
        }
        z.push(self.sign);
        z.resize(FEATURES, 0.0);
        z
    }
}

/// Scans that are trained on; the other 42 tell how good the result is.
const KNOWN: usize = 160;

/// `count` rows to train on, and others to judge by.
///
/// The first 160 rows are scans as they are, further ones the same scans moved by up to half
/// a pixel each way. Each of the others stands there nine times, moved by up to a quarter.
pub fn rows(count: usize) -> Result<(Vec<Row>, Vec<Row>), Failure> {
    let scans = scans()?;
    let (known, unknown) = scans.split_at(KNOWN);
    // Multiples of numbers that are irrational together fill the square evenly.
    let part = |i: usize, step: f64| (i as f64 * step).fract();
    let centred = |v: f64| if v > 0.5 { v - 1.0 } else { v };
    let moved = |i: usize| [0.754_877_666, 0.569_840_291].map(|step| centred(part(i, step)));
    let row = |i: usize| {
        let [right, down] = moved(i / KNOWN);
        known[i % KNOWN].row((right, down))
    };
    let moves = [-0.25, 0.0, 0.25];
    let moves: Vec<_> = moves.iter().flat_map(|&x| moves.map(|y| (x, y))).collect();
    let others = unknown.iter().flat_map(|scan| moves.iter().map(|&by| scan.row(by)));
    Ok(((0..count).map(row).collect(), others.collect()))
}

/// The same descent in the plain, by any function in the place of the sigmoid: an iteration a
/// minibatch of `batch` rows, which take turns.
pub fn train(rows: &[Row], batch: usize, iterations: u16, slope: impl Fn(f64) -> f64) -> Vec<f64> {
    let (mut w, mut v) = (vec![0.0; FEATURES], vec![0.0; FEATURES]);
    for (rate, rows) in rates(iterations).into_iter().zip(rows.chunks(batch).cycle()) {
        let mut next = v.clone();
        for z in rows {
            let g = rate.gamma / rows.len() as f64 * slope(margin(z, &v));
            next.iter_mut().zip(z).for_each(|(w, z)| *w += g * z);
        }
        let ahead = |(next, w): (&f64, &f64)| (1.0 - rate.eta) * next + rate.eta * w;
        v = next.iter().zip(&w).map(ahead).collect();
        w = next;
    }
    w
}

fn margin(z: &[f64], w: &[f64]) -> f64 {
    z.iter().zip(w).map(|(z, w)| z * w).sum()
}

/// How good weights are.
#[derive(Clone, Copy, Debug)]
pub struct Score {
    /// Rows on the right side, in per cent.
    pub accuracy: f64,
    /// The area under the curve of true over false positives: the share of pairs of an 8 and a 3
    /// in which the 8 is rated higher.
    pub auroc: f64,
}

/// How good the weights `w` are for `rows`.
pub fn score(rows: &[Row], w: &[f64]) -> Score {
    let right = rows.iter().filter(|z| margin(z, w) > 0.0).count();
    // The constant, which comes after the pixels, has the sign of the class.
    let rated = |sign: f64| -> Vec<f64> {
        let of_class = rows.iter().filter(|z| z[SIDE * SIDE] == sign);
        of_class.map(|z| sign * margin(z, w)).collect()
    };
    let (eights, threes) = (rated(1.0), rated(-1.0));
    let above = |x: &f64, y: &f64| if x > y { 1.0 } else { f64::from(u8::from(x == y)) / 2.0 };
    let pairs = eights.iter().flat_map(|x| threes.iter().map(move |y| above(x, y)));
    Score {
        accuracy: 100.0 * right as f64 / rows.len() as f64,
        auroc: pairs.sum::<f64>() / (eights.len() * threes.len()) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The polynomial stands for the sigmoid from -8 to 8, and weights are kept divided by 16.
    #[test]
    fn margins_and_weights_stay_where_the_ciphertexts_hold_them() {
        for (count, batch) in [(160, 160), (2048, 1024)] {
            let (rows, others) = rows(count).expect("the file is right");
            assert_eq!((rows.len(), others.len()), (count, 42 * 9));
            for iterations in [8, 30] {
                let w = train(&rows, batch, iterations, sigmoid);
                let margins = rows.iter().map(|z| margin(z, &w).abs());
                assert!(margins.fold(0.0, f64::max) < 12.0);
                assert!(w.iter().all(|w| w.abs() < 4.0));
            }
            let w = train(&rows, batch, 30, sigmoid);
            let Score { accuracy, auroc } = score(&others, &w);
            assert!(accuracy > 94.0 && auroc > 0.99, "{accuracy} {auroc}");
        }
    }

    #[test]
    fn an_area_counts_pairs() {
        let row = |sign: f64, x: f64| {
            let mut z = vec![0.0; FEATURES];
            (z[0], z[SIDE * SIDE]) = (sign * x, sign);
            z
        };
        let rows = [row(1.0, 3.0), row(1.0, 1.0), row(-1.0, 2.0), row(-1.0, 0.0)];
        let mut w = vec![0.0; FEATURES];
        w[0] = 1.0;
        assert_eq!(score(&rows, &w).auroc, 0.75);
        w[0] = 0.0;
        assert_eq!(score(&rows, &w).auroc, 0.5);
    }
}
