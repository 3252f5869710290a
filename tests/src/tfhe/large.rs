//! Functions that fill their modulus and large-precision functions,
//! with the same keys on every device.

use crate::bootstrap::compare::Differences;
use girih::tfhe::large::{LargeKeys, LargeOperation, LargeParameters, LargeServer};
use girih::tfhe::{ClientKey, Function, LweCiphertexts, Result};
use girih::{Device, LoadOptions, NoProgress, Transform};

/// log2 of the modulus of the long messages: under either transform the toy context meets two
/// gadgets on its way down.
const LOG2_MODULUS: u32 = 22;

/// Long messages: the ends, those around the middle, and others between.
fn messages(bits: u32) -> Vec<u64> {
    let end = 1u64 << bits;
    let special = [0, 1, end / 2 - 1, end / 2, end - 2, end - 1];
    special
        .into_iter()
        .chain((1..11u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)))
        .collect()
}

struct Bench {
    parameters: LargeParameters,
    client: ClientKey,
    server: LargeServer,
    differences: Differences,
}

impl Bench {
    fn new(device: &Device, transform: Transform) -> Result<Self> {
        let parameters = LargeParameters::insecure();
        let client = ClientKey::generate_seeded_for_tests(parameters.home(), [6; 32])?;
        let gadgets = parameters.gadgets(
            &[LargeOperation::Sign, LargeOperation::Decompose],
            LOG2_MODULUS,
            transform,
        )?;
        let keys = LargeKeys::generate(&parameters, &client, &gadgets, &NoProgress)?;
        let options = LoadOptions::default().with_transform(transform);
        let server = LargeServer::load(device.backend(), &keys, &options, &NoProgress)?;
        Ok(Self { parameters, client, server, differences: Differences::new() })
    }

    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, want: &[T], got: &[T]) {
        if want != got {
            self.differences.push(format!("{what}: {got:?} instead of {want:?}"));
        }
    }

    fn decrypt(&self, ciphertexts: &LweCiphertexts) -> Result<Vec<u64>> {
        self.parameters.decrypt(&self.client, ciphertexts)
    }

    /// Every message of three bits through a function of each kind,
    /// to a short and to a long modulus.
    fn functions(&mut self) -> Result<()> {
        let kinds =
            [
                Function::new(3, 3, |m| (m * m + 3 * m + 5) % 8)?,
                Function::new(3, 13, |m| 2000 * (m % 4) + 7)?,
                Function::new(3, 13, |m| {
                    if m < 4 { 1111 * m } else { (8192 - 1111 * (m - 4)) % 8192 }
                })?,
            ];
        let messages: Vec<u64> = (0..8).collect();
        let encrypted =
            self.parameters.encrypt(&self.client, &messages, self.parameters.log2_modulus(3))?;
        for function in kinds {
            let got = self.decrypt(&self.server.function(&encrypted, &function)?)?;
            self.compare(&format!("{:?}", function.kind()), function.values(), &got);
        }
        Ok(())
    }

    fn long_messages(&mut self) -> Result<()> {
        let bits = self.parameters.message_bits(LOG2_MODULUS)?;
        let messages = messages(bits);
        let encrypted = self.parameters.encrypt(&self.client, &messages, LOG2_MODULUS)?;
        let signs = self.client.decrypt_bits(&self.server.sign(&encrypted)?)?;
        self.compare(
            "signs",
            &messages.iter().map(|m| m >> (bits - 1) == 1).collect::<Vec<_>>(),
            &signs,
        );
        let floors = self.decrypt(&self.server.floor(&encrypted, 4)?)?;
        self.compare("floors", &messages.iter().map(|m| m >> 4 << 4).collect::<Vec<_>>(), &floors);
        let digit = self.parameters.digit_bits();
        for (index, digits) in self.server.decompose(&encrypted)?.iter().enumerate() {
            let want: Vec<u64> =
                messages.iter().map(|m| m >> (digit * index as u32) & ((1 << digit) - 1)).collect();
            let got = self.decrypt(digits)?;
            self.compare(&format!("digit {index}"), &want, &got);
        }
        Ok(())
    }
}

/// EvalFunc of every kind, EvalSign, EvalFloor and EvalDecomp on one device, with the toy context
/// and one transform.
///
/// # Errors
/// When keys cannot be made or loaded, or the device fails; wrong outputs come back as lines.
pub fn end_to_end(device: &Device, transform: Transform) -> Result<Differences> {
    let mut bench = Bench::new(device, transform)?;
    bench.functions()?;
    bench.long_messages()?;
    Ok(bench.differences)
}
