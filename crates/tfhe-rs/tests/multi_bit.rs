//! Keys for groups of 2, 3 and 4 LWE indices, as TFHE-rs makes them for its own GPUs and threads.

use girih_cpu::CpuBackend;
use girih_tfhe_rs::ServerKey;
use tfhe::prelude::*;
use tfhe::shortint::MultiBitPBSParameters;
use tfhe::shortint::parameters::v1_8::{
    V1_8_PARAM_GPU_MULTI_BIT_GROUP_2_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128 as GROUP_2,
    V1_8_PARAM_GPU_MULTI_BIT_GROUP_4_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128 as GROUP_4,
    V1_8_PARAM_MULTI_BIT_GROUP_3_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128 as GROUP_3,
};
use tfhe::{ClientKey, CompressedServerKey, ConfigBuilder, FheUint4};

fn sums_and_products(parameters: MultiBitPBSParameters, grouping: usize) {
    let config = ConfigBuilder::with_custom_parameters(parameters).build();
    let client = ClientKey::generate(config);
    let keys = CompressedServerKey::new(&client);
    let server = ServerKey::load(&CpuBackend::new(), &keys).expect("a published set");
    assert_eq!(server.set().shape().grouping, grouping);
    let encrypt = |x: u8| FheUint4::encrypt(x, &client);
    let a = server.upload([14u8, 7].map(encrypt).into()).expect("fresh");
    let b = server.upload([9u8, 15].map(encrypt).into()).expect("fresh");
    let sum = a.add(&b).expect("alike").mul(&b).expect("alike");
    let back: Vec<FheUint4> = server.download(&sum).expect("of this server");
    let back: Vec<u8> = back.iter().map(|x| x.decrypt(&client)).collect();
    // (14 + 9) 9 and (7 + 15) 15, modulo 16.
    assert_eq!(back, [15, 10]);
}

#[test]
#[ignore = "a minute, last run on 2026-11-27: cargo xtask tfhe-rs --exhaustive"]
fn pairs() {
    sums_and_products(GROUP_2, 2);
}

#[test]
#[ignore = "a minute, last run on 2026-11-27: cargo xtask tfhe-rs --exhaustive"]
fn triples() {
    sums_and_products(GROUP_3, 3);
}

#[test]
fn fours() {
    sums_and_products(GROUP_4, 4);
}
