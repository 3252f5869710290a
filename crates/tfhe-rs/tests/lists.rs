//! Lists of ciphertexts, by a client whose keys have compression.

use girih_cpu::CpuBackend;
use girih_integer::{FheBool, FheUint};
use girih_tfhe_rs::{Compressed, HostKeys, List, ServerKey, bytes};
use tfhe::prelude::*;
use tfhe::safe_serialization::safe_serialize;
use tfhe::shortint::parameters::COMP_PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128 as COMPRESSION;
use tfhe::{
    ClientKey, CompactCiphertextList, CompactPublicKey, CompressedCiphertextList,
    CompressedServerKey, ConfigBuilder, FheInt16, FheTypes, FheUint8, FheUint16,
};

#[test]
fn lists_are_expanded_and_results_compressed() {
    let config = ConfigBuilder::default().enable_compression(COMPRESSION).build();
    let client = ClientKey::generate(config);
    let keys = CompressedServerKey::new(&client);
    let host = HostKeys::new(&keys);
    assert!(host.can_decompress());
    let server = ServerKey::load(&CpuBackend::new(), &keys).expect("the default and more");
    assert_eq!(server.set().name(), "TFHERS_2_2");

    let public = CompactPublicKey::new(&client);
    let mut builder = CompactCiphertextList::builder(&public);
    builder.push(200u8).push(17u8).push(-300i16).push(true);
    let mut packed = None;
    for list in [builder.build_packed(), builder.build()] {
        assert_eq!((list.values(), List::kind(&list, 2)), (4, Some(FheTypes::Int16)));
        let numbers: FheUint<8> =
            server.upload_list::<FheUint8>(&list, 0..2, &host).expect("of the client");
        let sums: Vec<FheUint8> = server.download(&numbers.add(60u8).expect("fits")).expect("own");
        assert_eq!(sums.iter().map(|x| x.decrypt(&client)).collect::<Vec<u8>>(), [4, 77]);
        packed = Some((list, sums));
    }
    let (list, sums) = packed.expect("two lists");
    let signed = server.upload_list::<FheInt16>(&list, 2..3, &host).expect("of the client");
    let signed: Vec<FheInt16> = server.download(&signed.neg().expect("works")).expect("own");
    let negated: i16 = signed[0].decrypt(&client);
    assert_eq!(negated, 300);
    let condition: FheBool =
        server.upload_list::<tfhe::FheBool>(&list, 3..4, &host).expect("of the client");
    let condition: Vec<tfhe::FheBool> =
        server.download(&condition.not().expect("works")).expect("own");
    assert!(!condition[0].decrypt(&client));

    // Results, compressed for the client, who reads them, and read by the server again.
    let list = server.compress(sums.clone(), &host).expect("with a key for it");
    let mut written = Vec::new();
    safe_serialize(&list, &mut written, bytes::LARGEST_LIST).expect("fits");
    let list: CompressedCiphertextList = bytes::list(&written).expect("what was written");
    let again = server.upload_list::<FheUint8>(&list, 0..2, &host).expect("of the client");
    let again: Vec<FheUint8> = server.download(&again).expect("own");
    assert_eq!(again.iter().map(|x| x.decrypt(&client)).collect::<Vec<u8>>(), [4, 77]);

    // What a server compressed one by one.
    tfhe::set_server_key(keys.decompress());
    let one = sums[0].compress().expand_by(&host).expect("of the client");
    let one: u8 = one.decrypt(&client);
    assert_eq!(one, 4);
    tfhe::unset_server_key();

    let refused = |result: girih_tfhe_rs::Result<()>, part: &str| {
        let error = result.expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    let upload = |range| server.upload_list::<FheUint8>(&list, range, &host).map(drop);
    refused(upload(1..3), "a list of 2");
    refused(upload(1..1), "at least one");
    refused(server.upload_list::<FheUint16>(&list, 0..1, &host).map(drop), "FheUint8 is stored");
    refused(server.upload_list::<FheInt16>(&list, 0..1, &host).map(drop), "FheUint8 is stored");
    refused(server.compress::<FheUint8>(vec![], &host).map(drop), "at least one");
    for cut in [0, 40, written.len() / 2, written.len() - 1] {
        assert!(bytes::list::<CompressedCiphertextList>(&written[..cut]).is_err(), "{cut}");
    }

    // A client without compression.
    let client = ClientKey::generate(ConfigBuilder::default());
    let keys = CompressedServerKey::new(&client);
    let host = HostKeys::new(&keys);
    let without = ServerKey::load(&CpuBackend::new(), &keys).expect("the default");
    let result = without.upload_list::<FheUint8>(&list, 0..1, &host);
    refused(result.map(drop), "enable_compression");
    let own =
        without.download(&without.upload(vec![FheUint8::encrypt(1u8, &client)]).expect("own"));
    refused(without.compress(own.expect("own"), &host).map(drop), "enable_compression");
}
