//! Numbers of 160 and 256 bits, and random ones, between a client of TFHE-rs and girih.

mod common;

use common::both;
use girih_integer::{FheInt, FheUint, I256, U256};
use tfhe::prelude::*;
use tfhe::{CompressedFheUint160, FheInt160, FheInt256, FheUint160, FheUint256};

/// As TFHE-rs has them.
fn theirs(value: U256) -> tfhe::integer::U256 {
    let mut result = tfhe::integer::U256::default();
    result.copy_from_le_byte_slice(&value.to_le_bytes());
    result
}

fn ours(value: tfhe::integer::U256) -> U256 {
    let mut bytes = [0; 32];
    value.copy_to_le_byte_slice(&mut bytes);
    U256::from_le_bytes(bytes)
}

fn signed(value: I256) -> tfhe::integer::I256 {
    let mut result = tfhe::integer::I256::default();
    result.copy_from_le_byte_slice(&value.to_le_bytes());
    result
}

#[test]
fn wide_numbers_go_both_ways() {
    let both = both();
    let address: U256 = "0xdeadbeef00112233445566778899aabbccddeeff".parse().expect("160 bits");
    let amount = U256::from_words([u64::MAX, 1, 2, 0x8000_0000_0000_0003]);
    let client = &both.client;

    let x: FheUint<160> =
        both.server.upload(vec![FheUint160::encrypt(theirs(address), client)]).expect("fresh");
    let compressed = CompressedFheUint160::encrypt(theirs(address), client);
    let y = both.server.upload_compressed(&[compressed]).expect("fresh");
    assert_eq!(back_of_condition(&x.equal(&y).expect("alike")), [true]);
    let sum: Vec<FheUint160> = both.server.download(&x.add(1u8).expect("fits")).expect("own");
    let sum: tfhe::integer::U256 = sum[0].decrypt(client);
    let mut want = address.words();
    want[0] += 1;
    assert_eq!(ours(sum), U256::from_words(want));

    let a: FheUint<256> =
        both.server.upload(vec![FheUint256::encrypt(theirs(amount), client)]).expect("fresh");
    let doubled: Vec<FheUint256> =
        both.server.download(&a.overflowing_add(&a).expect("alike").0).expect("own");
    let doubled: tfhe::integer::U256 = doubled[0].decrypt(client);
    assert_eq!(ours(doubled), U256::from_words([u64::MAX - 1, 3, 4, 6]));

    let below = signed(I256::from(-5i8));
    let s: FheInt<256> =
        both.server.upload(vec![FheInt256::encrypt(below, client)]).expect("fresh");
    let s: Vec<FheInt256> =
        both.server.download(&s.sub(I256::from(7i8)).expect("fits")).expect("own");
    let s: tfhe::integer::I256 = s[0].decrypt(client);
    assert_eq!(s, signed(I256::from(-12i8)));
    let t: FheInt<160> =
        both.server.upload(vec![FheInt160::encrypt(below, client)]).expect("fresh");
    let t: Vec<FheInt160> = both.server.download(&t.neg().expect("works")).expect("own");
    let t: tfhe::integer::I256 = t[0].decrypt(client);
    assert_eq!(t, signed(I256::from(5i8)));
}

fn back_of_condition(condition: &girih_integer::FheBool) -> Vec<bool> {
    let both = both();
    let back: Vec<tfhe::FheBool> = both.server.download(condition).expect("own");
    back.iter().map(|x| x.decrypt(&both.client)).collect()
}

/// Random numbers under a client's key: the client reads them, and TFHE-rs computes on them.
#[test]
fn random_numbers_decrypt() {
    let both = both();
    let integers = both.server.integers();
    let draw = |seed| {
        let drawn = FheUint::<8>::generate_oblivious_pseudo_random(integers, &[seed; 32], 6);
        let drawn: Vec<tfhe::FheUint8> = both.server.download(&drawn.expect("some")).expect("own");
        drawn.iter().map(|x| x.decrypt(&both.client)).collect::<Vec<u8>>()
    };
    let first = draw(1);
    assert_eq!(first, draw(1));
    assert_ne!(first, draw(2));
    let five = FheInt::<8>::generate_oblivious_pseudo_random_bounded(integers, &[1; 32], 6, 5);
    let five: Vec<tfhe::FheInt8> = both.server.download(&five.expect("some")).expect("own");
    let five: Vec<i8> = five.iter().map(|x| x.decrypt(&both.client)).collect();
    assert!(five.iter().all(|x| (0..32).contains(x)), "{five:?}");
}
