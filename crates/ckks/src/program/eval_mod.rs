//! The scaled sine that removes multiples of Q_0 (docs/ckks.md, "Bootstrapping"), and an
//! arcsine that removes the sine's own error.

use std::f64::consts::PI;

use super::chain_shape::BootstrappingShape;
use super::error::RecordError;
use super::polynomial::{Basis, Mask, Node};
use super::recorder::{Recorded, Recorder};

/// Chebyshev coefficients in u = T_2(x') of (2 pi)^(-1/8) cos(4 pi x'), x' in [-1, 1]: a weighted
/// fit around the integers of t, x' = (t - 1/4) / 16.
#[rustfmt::skip]
pub const COSINE: [f64; 16] = [
    0.1251562098850591, 0.28940629344651886, 0.3626967288101056, 0.3010829245740711,
    -0.10552611999557068, -0.43590109432337437, 0.37481847804076573, -0.14821541102906305,
    0.0366518858847365, -0.0063894202314856595, 0.0008363701600337722, -8.66046980399006e-05,
    7.052266182145669e-06, -5.320293430617722e-07, 2.1434085456106694e-08, -2.4642152883828494e-09,
];

/// (2 pi)^(-1/4), (2 pi)^(-1/2), 1/(2 pi): what the three double angles subtract.
pub const DOUBLE_ANGLE_CONSTANTS: [f64; 3] =
    [0.6316187777460647, 0.3989422804014327, 0.15915494309189535];

/// log2 of the baby steps of the cosine's polynomial.
const LOG2_BABY: u32 = 2;

/// What EvalMod yields on its way.
#[derive(Clone, Debug)]
pub struct EvalModSteps {
    /// u = 2 x'^2 - 1.
    pub u: Recorded,
    /// T_j of u.
    pub basis: Basis,
    /// The nodes of the polynomial, by degree.
    pub nodes: Vec<Node>,
    /// After each double angle.
    pub double_angles: Vec<Recorded>,
    /// The result: sin(2 pi t) / (2 pi), corrected if the chain has levels of EvalMod for it.
    pub result: Recorded,
}

/// Chebyshev coefficients of w + (2 pi f)^2 w^3/6 + 3 (2 pi f)^4 w^5/40, the beginning of arcsin(2
/// pi f w) / (2 pi f), up to w^3 for 2 levels and w^5 for 3.
fn arcsine(levels: usize, f: f64) -> Vec<f64> {
    let a = (2.0 * PI * f).powi(2) / 6.0;
    if levels == 2 {
        return vec![0.0, 1.0 + 0.75 * a, 0.0, 0.25 * a];
    }
    let b = 3.0 * (2.0 * PI * f).powi(4) / 40.0;
    vec![0.0, 1.0 + 0.75 * a + 0.625 * b, 0.0, 0.25 * a + 0.3125 * b, 0.0, 0.0625 * b]
}

impl Recorder {
    /// EvalMod of a ciphertext whose slots are t/K, |t - I| small for an integer I: sin(2 pi t) /
    /// (2 pi).
    ///
    /// # Errors
    /// When the chain has no bootstrapping, or the ciphertext does not stand where EvalMod starts.
    pub fn eval_mod(&mut self, x: &Recorded) -> Result<EvalModSteps, RecordError> {
        let chain = self.chain().clone();
        let shape = chain.shape().bootstrapping.as_ref();
        let shape = shape.filter(|s| fits(s)).ok_or_else(|| RecordError::Shape {
            operation: "EvalMod",
            why: "needs a chain with an interval of 16, 3 double angles and 0, 2 or 3 levels of \
                  arcsine"
                .into(),
        })?;
        if x.level != shape.sine_input() {
            let why = format!("it starts at {}", shape.sine_input());
            return Err(RecordError::Level { operation: "EvalMod", level: x.level, why });
        }
        let shifted = self.add_constant(x, -0.25 / f64::from(shape.interval), 0.0)?;
        let u = self.square(&shifted)?;
        let u = self.double(&u)?;
        let u = self.add_constant(&u, -1.0, 0.0)?;
        let u = self.rescale(&u)?;
        let basis = self.chebyshev_basis(&u, COSINE.len() - 1, LOG2_BABY)?;
        let level = shape.sine_output() + shape.double_angles;
        let scale = chain.sine_scale(level).expect("a level of EvalMod");
        let mut nodes = Vec::new();
        let mut y = self.chebyshev_nodes(&COSINE, &basis, level, scale, &mut nodes)?;
        let mut double_angles = Vec::new();
        for c in DOUBLE_ANGLE_CONSTANTS {
            y = self.square(&y)?;
            y = self.double(&y)?;
            y = self.add_constant(&y, -c, 0.0)?;
            y = self.rescale(&y)?;
            double_angles.push(y);
        }
        let result = match shape.arcsine_levels {
            0 => y,
            _ if shape.stc_first => y,
            _ => self.correct_sine(&y, 1.0, shape.sine_scale, None)?,
        };
        Ok(EvalModSteps { u, basis, nodes, double_angles, result })
    }

    /// The arcsine correction of w, slots of which are sin(2 pi f t) / (2 pi f): t, with `scale`,
    /// as many levels lower as the chain has for it; times a vector, if there is one.
    pub(crate) fn correct_sine(
        &mut self,
        w: &Recorded,
        f: f64,
        scale: f64,
        mask: Option<&Mask>,
    ) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let shape = chain.shape().bootstrapping.as_ref().expect("the chain bootstraps");
        let coefficients = arcsine(shape.arcsine_levels, f);
        let basis = self.chebyshev_basis(w, coefficients.len() - 1, 1)?;
        match mask {
            Some(mask) => self.masked_sum(&coefficients, &basis, (shape.out(), scale), mask),
            None => self.chebyshev_sum(&coefficients, &basis, shape.out(), scale),
        }
    }
}

fn fits(shape: &BootstrappingShape) -> bool {
    shape.interval == 16
        && shape.double_angles == DOUBLE_ANGLE_CONSTANTS.len()
        && matches!(shape.arcsine_levels, 0 | 2 | 3)
}
