//! A client of TFHE-rs, to which nothing is changed, and a server that computes with girih.
//!
//! The client sends bytes and reads bytes; the server transfers encrypted amounts between encrypted
//! balances, where the balance suffices. `--features devices` opens the device that
//! `GIRIH_DEVICE` names, such as `cuda:0`, in the place of the CPU.

use std::error::Error;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Balances of senders and receivers, and amounts.
const FROM: [u64; 3] = [1_000, 50, 18_000_000_000_000_000_000];
const TO: [u64; 3] = [7, 0, 1];
const AMOUNTS: [u64; 3] = [400, 51, 5_000_000_000_000_000_000];

// ANCHOR: client
mod client {
    use super::Result;
    use tfhe::prelude::*;
    use tfhe::safe_serialization::{safe_deserialize, safe_serialize};
    use tfhe::{ClientKey, CompressedServerKey, ConfigBuilder, FheUint64};

    pub fn keys() -> Result<(ClientKey, Vec<u8>)> {
        let client = ClientKey::generate(ConfigBuilder::default());
        let mut bytes = Vec::new();
        safe_serialize(&CompressedServerKey::new(&client), &mut bytes, 1 << 30)?;
        Ok((client, bytes))
    }

    pub fn encrypt(client: &ClientKey, values: &[u64]) -> Result<Vec<Vec<u8>>> {
        let bytes = values.iter().map(|&value| -> Result<Vec<u8>> {
            let mut bytes = Vec::new();
            safe_serialize(&FheUint64::encrypt(value, client), &mut bytes, 1 << 24)?;
            Ok(bytes)
        });
        bytes.collect()
    }

    pub fn decrypt(client: &ClientKey, bytes: &[Vec<u8>]) -> Result<Vec<u64>> {
        let value = |bytes: &Vec<u8>| -> Result<u64> {
            let value: FheUint64 = safe_deserialize(&bytes[..], 1 << 24)?;
            Ok(value.decrypt(client))
        };
        bytes.iter().map(value).collect()
    }
}
// ANCHOR_END: client

// ANCHOR: server
mod server {
    use super::Result;
    use girih_backend::Backend;
    use girih_integer::FheUint;
    use girih_tfhe_rs::{ServerKey, bytes};
    use tfhe::FheUint64;

    pub fn load(device: &dyn Backend, keys: &[u8]) -> Result<ServerKey> {
        Ok(ServerKey::load(device, bytes::keys(keys)?)?)
    }

    pub fn read(server: &ServerKey, numbers: &[Vec<u8>]) -> Result<FheUint<64>> {
        let numbers = numbers.iter().map(|b| bytes::ciphertext::<FheUint64>(b));
        Ok(server.upload(numbers.collect::<girih_tfhe_rs::Result<Vec<_>>>()?)?)
    }

    /// New balances: unchanged where the sender has too little, or the receiver would have too
    /// much.
    pub fn transfer(
        from: &FheUint<64>,
        to: &FheUint<64>,
        amount: &FheUint<64>,
    ) -> Result<(FheUint<64>, FheUint<64>)> {
        let covered = from.greater_or_equal(amount)?;
        let (more, too_much) = to.overflowing_add(amount)?;
        let good = covered.and(&too_much.not()?)?;
        let from = good.select::<FheUint<64>>(&from.sub(amount)?, from)?;
        let to = good.select::<FheUint<64>>(&more, to)?;
        Ok((from, to))
    }

    pub fn write(server: &ServerKey, numbers: &FheUint<64>) -> Result<Vec<Vec<u8>>> {
        let numbers: Vec<FheUint64> = server.download(numbers)?;
        Ok(numbers.iter().map(bytes::write).collect::<girih_tfhe_rs::Result<_>>()?)
    }
}
// ANCHOR_END: server

fn run(device: &dyn girih_backend::Backend) -> Result<()> {
    let (client, keys) = client::keys()?;
    let [from, to, amounts] = [FROM, TO, AMOUNTS].map(|values| client::encrypt(&client, &values));
    let (from, to, amounts) = (from?, to?, amounts?);

    let begin = Instant::now();
    let server = server::load(device, &keys)?;
    println!("{} bytes of keys loaded in {:.1?}: {}", keys.len(), begin.elapsed(), server.set());
    let begin = Instant::now();
    let [from, to, amounts] = [&from, &to, &amounts].map(|numbers| server::read(&server, numbers));
    let (new_from, new_to) = server::transfer(&from?, &to?, &amounts?)?;
    let (new_from, new_to) = (server::write(&server, &new_from)?, server::write(&server, &new_to)?);
    println!("{} transfers in {:.1?}", FROM.len(), begin.elapsed());

    let (new_from, new_to) =
        (client::decrypt(&client, &new_from)?, client::decrypt(&client, &new_to)?);
    for i in 0..FROM.len() {
        let (from, to, amount) = (FROM[i], TO[i], AMOUNTS[i]);
        println!("{from} -> {to}, amount {amount}: {} and {}", new_from[i], new_to[i]);
        let good = from >= amount && to.checked_add(amount).is_some();
        let want = if good { (from - amount, to + amount) } else { (from, to) };
        if (new_from[i], new_to[i]) != want {
            return Err(format!("{} and {}: they must be {want:?}", new_from[i], new_to[i]).into());
        }
    }
    Ok(())
}

#[cfg(feature = "devices")]
fn main() -> Result<()> {
    let name = std::env::var(girih::DEVICE_VARIABLE).unwrap_or_else(|_| "auto".into());
    run(girih::Device::open(&name)?.backend())
}

#[cfg(not(feature = "devices"))]
fn main() -> Result<()> {
    run(&girih_cpu::CpuBackend::new())
}
