//! One block through one look-up: sign of the mask, order of key switch and bootstrapping, and
//! ciphertexts both ways.

mod common;

use common::both;
use girih_integer::{Encrypted, FheUint};
use girih_tfhe::LookUpTable;
use tfhe::prelude::*;
use tfhe::{FheBool, FheInt8, FheUint8};

#[test]
fn every_message_goes_through_a_look_up() {
    let both = both();
    assert_eq!(both.server.set().name(), "TFHERS_2_2");
    let values: Vec<FheUint8> =
        [0b11_10_01_00u8, 0b00_01_10_11].map(|x| FheUint8::encrypt(x, &both.client)).into();
    let encrypted = both.server.convert(values).expect("fresh ciphertexts of this client");
    let table = LookUpTable::new(4, |x| 3 - x % 4).expect("four bits");
    let server = both.server.integers().server();
    let flipped = server.apply(encrypted.ciphertexts(), &table).expect("within the bound");
    let flipped = Encrypted::<FheUint<8>>::from_ciphertexts(flipped, 2).expect("as many");
    let back: Vec<FheUint8> = both.server.revert(&flipped).expect("of this client");
    let back: Vec<u8> = back.iter().map(|x| x.decrypt(&both.client)).collect();
    assert_eq!(back, [!0b11_10_01_00u8, !0b00_01_10_11]);
}

#[test]
fn ciphertexts_come_back_as_they_went() {
    let both = both();
    let numbers: Vec<FheInt8> =
        [-128i8, -1, 0, 77].map(|x| FheInt8::encrypt(x, &both.client)).into();
    let array = both.server.upload(numbers).expect("fresh");
    let back: Vec<FheInt8> = both.server.download(&array).expect("of this server");
    let back: Vec<i8> = back.iter().map(|x| x.decrypt(&both.client)).collect();
    assert_eq!(back, [-128, -1, 0, 77]);

    let bits: Vec<FheBool> = [true, false].map(|x| FheBool::encrypt(x, &both.client)).into();
    let array = both.server.upload(bits).expect("fresh");
    let back: Vec<FheBool> = both.server.download(&array.not().expect("works")).expect("of it");
    let back: Vec<bool> = back.iter().map(|x| x.decrypt(&both.client)).collect();
    assert_eq!(back, [false, true]);
}
