//! Compressed results of servers: from gates and look-ups to messages, and what is refused.

use girih_backend::{LoadOptions, NoProgress};
use girih_tfhe::{
    ClientKey, CompressedResults, Error, EvaluationKeys, Gate, LookUpTable, ParameterSet, Result,
    ServerKey,
};

struct Toy {
    client: ClientKey,
    server: ServerKey,
}

fn toy(set: &str, compressing: bool) -> Result<Toy> {
    let set = ParameterSet::by_name(set)?;
    let client = ClientKey::generate_seeded_for_tests(&set, [6; 32])?;
    let mut keys = EvaluationKeys::generate(&client, &NoProgress)?;
    if compressing {
        keys = keys.with_compression(&client)?;
    }
    let device = girih_cpu::CpuBackend::new();
    let server = ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress)?;
    assert_eq!(server.can_compress(), compressing);
    Ok(Toy { client, server })
}

#[test]
fn gates_and_look_ups_come_home_compressed() -> Result<()> {
    for name in ["INSECURE_TOY_R4", "INSECURE_TOY_MR", "INSECURE_TOY_BINARY", "INSECURE_INTEGERS"] {
        let Toy { client, server } = toy(name, true)?;
        server.limit_failure(-16.0)?;
        let a: Vec<bool> = (0..320).map(|i| i % 3 == 0).collect();
        let b: Vec<bool> = (0..320).map(|i| i % 5 < 2).collect();
        let want: Vec<bool> = a.iter().zip(&b).map(|(a, b)| !(a & b)).collect();
        let (a, b) = (client.encrypt_bits(&a)?, client.encrypt_bits(&b)?);
        // On the host and on the device.
        let c = server.gate(Gate::Nand, &a, &b)?;
        let d = server.gate(Gate::Nand, &server.upload(&a)?, &server.upload(&b)?)?;
        for results in [server.compress_bits(&c)?, server.compress_bits(&d)?] {
            assert_eq!(client.decrypt_compressed_bits(&results)?, want, "{name}");
            assert!(results.log2_failure() <= -16.0 + 1e-6);
            assert_eq!((results.key_id(), results.messages()), (Some(client.key_id()), 320));
            let whole = c.to_bytes()?.len();
            assert!(10 * results.bytes() < whole, "{name}: {} of {whole}", results.bytes());
            // A bound that fewer bits keep to takes fewer bytes.
            server.limit_failure(-2.0)?;
            assert!(server.compress_bits(&c)?.bytes() < results.bytes(), "{name}");
            // No bound at all is that of the set, or what errors have by themselves.
            server.limit_failure(0.0)?;
            let results = server.compress_bits(&c)?;
            assert!(results.log2_failure() < -8.0, "{name}: {}", results.log2_failure());
            assert_eq!(client.decrypt_compressed_bits(&results)?, want, "{name}");
            server.limit_failure(-16.0)?;
        }
    }
    let Toy { client, server } = toy("INSECURE_INTEGERS", true)?;
    let x: Vec<u64> = (0..300).map(|i| i % 16).collect();
    let table = LookUpTable::new(4, |x| x * x % 16)?;
    let squares = server.apply(&client.encrypt_messages(&x, 4)?, &table)?;
    let want: Vec<u64> = x.iter().map(|x| x * x % 16).collect();
    assert_eq!(client.decrypt_compressed(&server.compress_messages(&squares, 4)?)?, want);
    // With padding left in, what was compressed can be looked up again, if its errors bear that.
    server.limit_failure(-60.0)?;
    let padded = server.compress(&squares, 32)?;
    assert_eq!(client.decrypt_compressed(&padded)?, want);
    let again = padded.decompress()?;
    let error = server.apply(&again, &table).expect_err("rounded to a bound that it then misses");
    assert!(matches!(error, Error::TooNoisy { .. }), "{error}");
    server.limit_failure(-12.0)?;
    let want: Vec<u64> = want.iter().map(|x| x * x % 16).collect();
    assert_eq!(client.decrypt_messages(&server.apply(&again, &table)?, 4)?, want);
    Ok(())
}

/// Words are asked for some thousand ciphertexts at a time.
#[test]
fn more_results_than_are_taken_at_a_time() -> Result<()> {
    let Toy { client, server } = toy("INSECURE_TOY", true)?;
    let bits: Vec<bool> = (0..4500).map(|i| i * i % 7 < 3).collect();
    let encrypted = client.encrypt_bits(&bits)?;
    let on_host = server.compress_bits(&encrypted)?;
    let on_device = server.compress_bits(&server.upload(&encrypted)?)?;
    for results in [on_host, on_device, encrypted.compress_bits()?] {
        assert!(client.decrypt_compressed_bits(&results)? == bits);
    }
    Ok(())
}

#[test]
fn what_does_not_go_together_is_refused() -> Result<()> {
    let plain = toy("INSECURE_TOY", false)?;
    let bits = plain.client.encrypt_bits(&[true, false])?;
    let error = plain.server.compress_bits(&bits).expect_err("no compression key").to_string();
    assert!(error.contains("EvaluationKeys::with_compression"), "{error}");
    let merging = toy("INSECURE_TOY", true)?;
    let other = ClientKey::generate_seeded_for_tests(plain.client.set(), [7; 32])?;
    let error = merging.server.compress_bits(&other.encrypt_bits(&[true])?).expect_err("another");
    assert!(error.to_string().contains("client key"), "{error}");
    let device = merging.server.upload(&bits)?;
    let error = plain.server.compress_bits(&device).expect_err("no key either").to_string();
    assert!(error.contains("compression key"), "{error}");
    let twin = toy("INSECURE_TOY", true)?;
    let error = twin.server.compress_bits(&device).expect_err("another server's").to_string();
    assert!(error.contains("server"), "{error}");
    let keys = EvaluationKeys::generate(&plain.client, &NoProgress)?;
    let error = keys.with_compression(&other).expect_err("another client").to_string();
    assert!(error.contains("must be of one client key"), "{error}");
    let noisy = bits.with_variance(3000.0)?;
    let error = merging.server.compress_bits(&noisy).expect_err("too noisy");
    assert!(matches!(error, Error::TooNoisy { .. }), "{error}");
    Ok(())
}

#[test]
fn bytes_say_what_they_are_or_are_refused() -> Result<()> {
    let set = ParameterSet::by_name("INSECURE_TOY")?;
    let client = ClientKey::generate_seeded_for_tests(&set, [6; 32])?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let bare = keys.to_bytes()?;
    let keys = keys.with_compression(&client)?;
    let bytes = keys.to_bytes()?;
    let more = bytes.len() - bare.len();
    assert!(keys.compression_bytes() <= more && more < keys.compression_bytes() + 64, "{more}");
    for read in [EvaluationKeys::from_bytes(&bytes)?, EvaluationKeys::from_bytes_for(&set, &bytes)?]
    {
        assert_eq!(read.to_bytes()?, bytes);
        assert_eq!(read.compression_bytes(), keys.compression_bytes());
    }
    // Within the compression key: its bodies are modulo a prime below 2^27 in four bytes.
    let (end, sealed) = (bytes.len() - 16, |mut bytes: Vec<u8>| {
        girih_rlwe::wire::reseal(&mut bytes);
        EvaluationKeys::from_bytes(&bytes).map(drop).expect_err("changed").to_string()
    });
    let mut large = bytes.clone();
    large[end - 1] = 0xFF;
    let error = sealed(large);
    assert!(error.contains("compression key: word") && error.contains("largest"), "{error}");
    let mut short = bytes.clone();
    short.drain(end - 4..end);
    assert!(sealed(short).contains("truncated"), "cut short");
    // Its base stands where the keys without it end.
    let mut base = bytes.clone();
    base[bare.len() - 16] = 29;
    let error = sealed(base);
    assert!(error.contains("digits of 29 bits"), "{error}");

    let results = client.encrypt_bits(&[true, false, true])?.compress_bits()?;
    let good = results.to_bytes()?;
    assert!(CompressedResults::from_bytes_for(&set, &good)? == results);
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        let error = CompressedResults::from_bytes(&bytes).expect_err("a bit is flipped");
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
        let error = CompressedResults::from_bytes(&good[..at]).expect_err("cut short");
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }
    let other = ParameterSet::by_name("INSECURE_TOY_MR")?;
    let error = CompressedResults::from_bytes_for(&other, &good).expect_err("another set");
    assert!(error.to_string().contains("INSECURE_TOY_MR is expected"), "{error}");
    Ok(())
}
