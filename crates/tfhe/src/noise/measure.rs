//! Noise as it comes out of a device.

use super::NoiseModel;
use crate::{ClientKey, DeviceCiphertexts, Error, Gate, Result, ServerKey, error};
use girih_backend::{BackendError, BootstrapJob, Combination, Operand, Stage};
use girih_ring::sampler::SecretSeed;
use girih_rlwe::Mismatch;

/// Deviations measured on a device, beside the model's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeasuredNoise {
    /// Bootstrapped messages that `sigma_out` was measured over.
    pub samples: usize,
    /// Root mean square of the error of a bootstrapped ciphertext, in units of q.
    pub sigma_out: f64,
    /// Mean of the error of a bootstrapped ciphertext, in units of q.
    pub mean_out: f64,
    /// Root mean square of the error of an accumulator coefficient after all steps, in units of Q.
    pub sigma_acc: f64,
    /// Messages whose error was beyond q/8: wrong outputs.
    pub wrong: usize,
    /// What the model says of this set under the transform in use.
    pub model: NoiseModel,
}

/// Stream domain of the bits that are encrypted.
const BITS: u16 = 6;

/// Runs at least `samples` NAND gates and measures what noise they leave;
/// also reads a few whole accumulators.
///
/// Needs the client key: on one's own machine only. `seed` chooses the bits.
///
/// # Errors
/// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey) for
/// keys of different sets or clients, [`Error::Mismatch`](crate::Error::Mismatch) for no samples,
/// and failures of the device.
pub fn measure(
    client: &ClientKey,
    server: &ServerKey,
    samples: usize,
    seed: [u8; 32],
) -> Result<MeasuredNoise> {
    if client.set() != server.set() {
        return error::wrong_set("a server key", server.set(), client.set());
    }
    if samples == 0 {
        return error::mismatch(Mismatch::empty("samples of noise"));
    }
    let (set, q) = (server.set(), server.set().lwe_modulus());
    let mut stream = SecretSeed::new(seed).stream(BITS, 0);
    let count = samples.next_multiple_of(set.packing());
    let mut bits = || (0..count).map(|_| stream.binary() == 1).collect::<Vec<_>>();
    let (a, b) = (bits(), bits());
    let (ea, eb) =
        (server.upload(&client.encrypt_bits(&a)?)?, server.upload(&client.encrypt_bits(&b)?)?);
    let out = server.download(&server.gate(Gate::Nand, &ea, &eb)?)?;
    let errors: Vec<f64> = client
        .phases(&out)?
        .iter()
        .zip(a.iter().zip(&b))
        .map(|(&phase, (&a, &b))| {
            centred(u128::from(phase) + q - u128::from(Gate::Nand.evaluate(a, b)) * q / 4, q)
        })
        .collect();
    let wrong = errors.iter().filter(|e| e.abs() > q as f64 / 8.0).count();
    let mut accumulators = Vec::new();
    if set.shape().is_torus() {
        // Nothing follows the accumulator there: an output is its constant term.
        accumulators.clone_from(&errors);
    } else {
        // N r coefficients each: four accumulators are as many samples as 512 gates for every N
        // from 256 on.
        for c in 0..ea.len().min(4) {
            accumulators.extend(accumulator_errors(client, server, [&ea, &eb], c)?);
        }
    }
    let model = NoiseModel::with_transform(set, server.engine().transform());
    Ok(MeasuredNoise {
        samples: count,
        sigma_out: root_mean_square(&errors),
        mean_out: errors.iter().sum::<f64>() / errors.len() as f64,
        sigma_acc: root_mean_square(&accumulators),
        wrong,
        model,
    })
}

/// `x mod modulus` in `[-modulus/2, modulus/2)`.
fn centred(x: u128, modulus: u128) -> f64 {
    let x = x % modulus;
    if x >= modulus.div_ceil(2) { -((modulus - x) as f64) } else { x as f64 }
}

fn root_mean_square(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

/// Errors of all coefficients of the accumulator of NAND on pair `index`: its phase less the
/// rotated test polynomial.
fn accumulator_errors(
    client: &ClientKey,
    server: &ServerKey,
    inputs: [&DeviceCiphertexts; 2],
    index: usize,
) -> Result<Vec<f64>> {
    let shape = server.set().shape();
    let Some(modulus) = shape.accumulator_modulus() else {
        return Err(server.set().unsupported("its accumulator cannot be measured yet"));
    };
    let (size, n) = (shape.polynomial_size, shape.lwe_dimension);
    let polynomial = Gate::Nand.test_polynomial(shape);
    let table = server.gate_table(Gate::Nand)?;
    let job = BootstrapJob {
        input: Combination::new(
            &inputs.map(|i| Operand { ciphertext: i.at(index), weight: 1 }),
            0,
            shape.log2_lwe_modulus,
        ),
        table,
        table_stride: 0,
        output_offset: 0,
        log2_output_modulus: shape.log2_lwe_modulus,
        output: inputs[0].at(index),
        second: None,
    };
    let stages = server
        .engine()
        .trace(&job, &[Stage::Combined, Stage::Accumulator { steps: shape.steps() }])?;
    let [combined, accumulator] = &stages[..] else {
        return Err(Error::Backend(BackendError::InvalidRequest(format!(
            "{} traced stages where two were asked for",
            stages.len()
        ))));
    };
    let mut errors = Vec::new();
    for slot in 0..shape.packing {
        let dot = combined[..n]
            .iter()
            .zip(client.lwe_secret(slot))
            .fold(0i64, |sum, (&a, &s)| sum + a as i64 * i64::from(s));
        let factor = (2 * size as i64) >> shape.log2_lwe_modulus;
        let rotation =
            ((dot - combined[n + slot] as i64) * factor).rem_euclid(2 * size as i64) as usize;
        let phase = accumulator_phase(client, accumulator, slot, modulus);
        for (i, &v) in polynomial.iter().enumerate() {
            let to = (i + rotation) % (2 * size);
            let want = if to < size { v } else { modulus - v };
            errors
                .push(centred(u128::from(phase[to % size] + modulus - want), u128::from(modulus)));
        }
    }
    Ok(errors)
}

/// `b_j - sum_p a_p S_{j,p}` modulo Q, by the definition.
fn accumulator_phase(
    client: &ClientKey,
    accumulator: &[u64],
    slot: usize,
    modulus: u64,
) -> Vec<u64> {
    let shape = client.set().shape();
    let (size, k) = (shape.polynomial_size, shape.glwe_dimension);
    let mut phase = accumulator[(k + slot) * size..][..size].to_vec();
    for (mask, secret) in
        accumulator.chunks_exact(size).zip(client.glwe_secret(slot).chunks_exact(size))
    {
        for (shift, &s) in secret.iter().enumerate().filter(|(_, s)| **s != 0) {
            for (i, &a) in mask.iter().enumerate() {
                // X^N = -1 turns the sign of what wraps around.
                let negative = (i + shift >= size) != (s < 0);
                let place = &mut phase[(i + shift) % size];
                *place = if negative { *place + a } else { *place + modulus - a } % modulus;
            }
        }
    }
    phase
}
