//! Large-precision functions with the toy context, whose gadgets are loaded beside each other.

use super::{Caller, Failure, Part, Tally, compare, key_seed};
use girih::tfhe::large::{LargeKeys, LargeOperation, LargeParameters, LargeServer};
use girih::tfhe::{ClientKey, Function, Result};
use girih::{LoadOptions, NoProgress, Transform};
use girih_backend::poly::random::Numbers;

/// log2 of the modulus of the long messages: two gadgets are met on its way down.
const LOG2_MODULUS: u32 = 22;

/// Messages of a call.
const MESSAGES: usize = 8;

pub(super) struct Large {
    parameters: LargeParameters,
    client: ClientKey,
    server: LargeServer,
}

impl Large {
    pub fn new(part: &Part) -> Result<Self> {
        let parameters = LargeParameters::insecure();
        let client = ClientKey::generate_seeded_for_tests(parameters.home(), key_seed(part, 1))?;
        let transform = part.device.info().transforms.first().copied().unwrap_or(Transform::Fft);
        let operations = [LargeOperation::Sign, LargeOperation::Decompose];
        let gadgets = parameters.gadgets(&operations, LOG2_MODULUS, transform)?;
        let keys = LargeKeys::generate(&parameters, &client, &gadgets, &NoProgress)?;
        let options = LoadOptions::default().with_transform(transform);
        let server = LargeServer::load(part.device.backend(), &keys, &options, &NoProgress)?;
        Ok(Self { parameters, client, server })
    }

    fn function(&self, numbers: &mut Numbers, tally: &mut Tally) -> Result<Option<String>> {
        let values = (0..8).map(|_| numbers.below(8) as u64).collect();
        let function = Function::from_values(3, values)?;
        let messages: Vec<u64> = (0..MESSAGES).map(|_| numbers.below(8) as u64).collect();
        let log2_modulus = self.parameters.log2_modulus(3);
        let encrypted = self.parameters.encrypt(&self.client, &messages, log2_modulus)?;
        let got = self.server.function(&encrypted, &function)?;
        let got = self.parameters.decrypt(&self.client, &got)?;
        let want: Vec<u64> = messages.iter().map(|&m| function.values()[m as usize]).collect();
        tally.large += want.len() as u64;
        Ok(compare(&format!("{:?}", function.kind()), &want, &got, tally))
    }

    fn long(&self, numbers: &mut Numbers, tally: &mut Tally) -> Result<Option<String>> {
        let bits = self.parameters.message_bits(LOG2_MODULUS)?;
        let messages: Vec<u64> = (0..MESSAGES).map(|_| numbers.word() >> (64 - bits)).collect();
        let encrypted = self.parameters.encrypt(&self.client, &messages, LOG2_MODULUS)?;
        let decrypt = |batch| self.parameters.decrypt(&self.client, batch);
        tally.large += MESSAGES as u64;
        match numbers.below(3) {
            0 => {
                let want: Vec<bool> = messages.iter().map(|m| m >> (bits - 1) == 1).collect();
                let got = self.client.decrypt_bits(&self.server.sign(&encrypted)?)?;
                Ok(compare("signs", &want, &got, tally))
            }
            1 => {
                let want: Vec<u64> = messages.iter().map(|m| m >> 4 << 4).collect();
                let got = decrypt(&self.server.floor(&encrypted, 4)?)?;
                Ok(compare("floors", &want, &got, tally))
            }
            _ => {
                let digit = self.parameters.digit_bits();
                let mut put = vec![0u64; MESSAGES];
                for (index, digits) in self.server.decompose(&encrypted)?.iter().enumerate() {
                    let digits = decrypt(digits)?;
                    put.iter_mut()
                        .zip(digits)
                        .for_each(|(sum, d)| *sum += d << (digit * index as u32));
                }
                Ok(compare("digits, put together", &messages, &put, tally))
            }
        }
    }
}

impl Caller for Large {
    fn call(
        &self,
        numbers: &mut Numbers,
        tally: &mut Tally,
    ) -> std::result::Result<Option<String>, Failure> {
        Ok(if numbers.once_in(3) {
            self.function(numbers, tally)?
        } else {
            self.long(numbers, tally)?
        })
    }
}
