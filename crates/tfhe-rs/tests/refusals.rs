//! What is not taken over, and what is said of it.

mod common;

use common::both;
use girih_cpu::CpuBackend;
use girih_tfhe_rs::{Compressed, Error, IntoKeys, Keys, ServerKey, bytes};
use tfhe::core_crypto::prelude::{CiphertextModulus, LweCiphertext};
use tfhe::integer::ciphertext::IntegerRadixCiphertext;
use tfhe::prelude::*;
use tfhe::shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS32_PBS_TUNIFORM_2M128 as KS32;
use tfhe::shortint::parameters::v1_0::{
    V1_0_PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M64 as OTHER,
    V1_0_PARAM_MESSAGE_2_CARRY_2_PBS_KS_GAUSSIAN_2M128 as BOOTSTRAP_FIRST,
};
use tfhe::shortint::parameters::v1_4::V1_4_PARAM_MESSAGE_1_CARRY_1_KS_PBS_TUNIFORM_2M128 as ONE_BIT;
use tfhe::{
    ClientKey, CompressedFheBool, CompressedFheUint8, CompressedServerKey, ConfigBuilder, FheUint8,
};

fn keys_of(parameters: impl Into<tfhe::shortint::AtomicPatternParameters>) -> CompressedServerKey {
    let config = ConfigBuilder::with_custom_parameters(parameters).build();
    CompressedServerKey::new(&ClientKey::generate(config))
}

fn refused(keys: impl IntoKeys, part: &str) {
    let error = keys.into_keys().expect_err(part);
    assert!(matches!(error, Error::Keys(_)), "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn keys_that_girih_cannot_take_over() {
    refused(&both().keys.decompress(), "CompressedServerKey::new");
    refused(keys_of(ONE_BIT), "modulo 2");
    refused(keys_of(KS32), "KS32");
    refused(keys_of(BOOTSTRAP_FIRST), "PBS_KS");
}

#[test]
fn keys_of_other_parameters_than_said() {
    let error = Keys::with_parameters(both().keys.clone(), OTHER).expect_err("others");
    assert!(error.to_string().contains("must be the same"), "{error}");
}

#[test]
fn ciphertexts_that_do_not_go_with_the_keys() {
    let both = both();
    let refused = |values: Vec<FheUint8>, part: &str| {
        let error = both.server.upload(values).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(vec![], "at least one");
    let mut tagged = FheUint8::encrypt(1u8, &both.client);
    tagged.tag_mut().set_u64(7);
    refused(vec![FheUint8::encrypt(1u8, &both.client), tagged], "tag of number 1");

    let changed = |change: &dyn Fn(&mut tfhe::shortint::Ciphertext)| {
        let (radix, id, tag, metadata) = FheUint8::encrypt(9u8, &both.client).into_raw_parts();
        let mut blocks = radix.into_blocks();
        change(&mut blocks[2]);
        vec![FheUint8::from_raw_parts(blocks.into(), id, tag, metadata)]
    };
    refused(changed(&|b| b.message_modulus.0 = 8), "modulo 8");
    refused(changed(&|b| b.degree = tfhe::shortint::ciphertext::Degree::new(9)), "up to 9");
    let short = |b: &mut tfhe::shortint::Ciphertext| {
        b.ct = LweCiphertext::from_container(vec![0; 900], CiphertextModulus::new_native());
    };
    refused(changed(&short), "block 2 of number 0 has a mask of 899");
    let (radix, id, tag, metadata) = FheUint8::encrypt(9u8, &both.client).into_raw_parts();
    let blocks: Vec<_> = radix.into_blocks().into_iter().take(3).collect();
    refused(vec![FheUint8::from_raw_parts(blocks.into(), id, tag, metadata)], "3 blocks");
}

#[test]
fn arrays_of_another_server() {
    let device = CpuBackend::new();
    let client = ClientKey::generate(ConfigBuilder::default());
    let keys = CompressedServerKey::new(&client);
    let other = ServerKey::load(&device, &keys).expect("the default");
    assert_ne!(other.key_id(), both().server.key_id());
    let theirs = other.convert(vec![FheUint8::encrypt(1u8, &client)]).expect("of that client");
    let error = both().server.revert(&theirs).err().expect("another key").to_string();
    assert!(error.contains("those of this server"), "{error}");
    assert!(both().server.integers().upload(&theirs).is_err());
}

#[test]
fn what_clients_compress_is_taken_and_what_servers_compress_is_refused() {
    let both = both();
    let compressed = [200u8, 17].map(|x| CompressedFheUint8::encrypt(x, &both.client));
    let array = both.server.upload_compressed(&compressed).expect("of the client");
    let back: Vec<FheUint8> = both.server.download(&array).expect("of it");
    let back: Vec<u8> = back.iter().map(|x| x.decrypt(&both.client)).collect();
    assert_eq!(back, [200, 17]);
    let bits = [CompressedFheBool::encrypt(true, &both.client)];
    let bits = both.server.upload_compressed(&bits).expect("of the client");
    let bits: Vec<tfhe::FheBool> = both.server.download(&bits).expect("of it");
    assert!(bits[0].decrypt(&both.client));

    tfhe::set_server_key(both.keys.decompress());
    let by_server = FheUint8::encrypt(5u8, &both.client).compress();
    let error = by_server.expand().err().expect("rounded").to_string();
    assert!(error.contains("a server compressed"), "{error}");
    let by_server = bits[0].compress();
    assert!(by_server.expand().is_err());
}

#[test]
fn bytes_are_bounded_and_named() {
    let both = both();
    let number = FheUint8::encrypt(99u8, &both.client);
    let good = bytes::write(&number).expect("fits");
    let back: FheUint8 = bytes::ciphertext(&good).expect("what was written");
    let back: u8 = back.decrypt(&both.client);
    assert_eq!(back, 99);
    let refused = |bytes: &[u8], part: &str| {
        let error = bytes::ciphertext::<FheUint8>(bytes).err().expect(part);
        assert!(matches!(error, Error::Malformed(_)), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    for cut in [0, 1, 20, good.len() / 2, good.len() - 1] {
        refused(&good[..cut], "FheUint");
    }
    refused(&[&good[..], &[0]].concat(), "1 bytes follow");
    refused(&vec![0; bytes::LARGEST_CIPHERTEXT as usize + 1], "are the most");
    // Bytes of TFHE-rs do not say how wide a number is; its blocks do.
    if let Ok(wider) = bytes::ciphertext::<tfhe::FheUint16>(&good) {
        let error = both.server.convert(vec![wider]).expect_err("another width").to_string();
        assert!(error.contains("4 blocks"), "{error}");
    }
    assert!(bytes::keys(&good).is_err(), "no keys");
    // Changed bytes are refused or are another ciphertext; nothing panics.
    for at in (0..good.len()).step_by(97).take(200) {
        let mut changed = good.clone();
        changed[at] ^= 0x55;
        if let Ok(value) = bytes::ciphertext::<FheUint8>(&changed) {
            let _ = both.server.convert(vec![value]);
        }
    }
}

#[test]
fn keys_go_through_bytes_and_cut_ones_do_not() {
    let both = both();
    let mut written = Vec::new();
    tfhe::safe_serialization::safe_serialize(&both.keys, &mut written, bytes::LARGEST_KEYS)
        .expect("fits");
    let keys = bytes::keys(&written).expect("what was written");
    let keys = keys.into_keys().expect("the default");
    assert_eq!(keys.key_id(), both.server.key_id());
    assert_eq!(keys.set().name(), "TFHERS_2_2");
    for cut in [10, 1000, written.len() - 8] {
        assert!(bytes::keys(&written[..cut]).is_err(), "{cut}");
    }
}
