//! Ciphertexts know how wide their messages are.

use girih_backend::{LoadOptions, NoProgress};
use girih_tfhe::{
    ClientKey, EvaluationKeys, Gate, LookUpTable, LweCiphertexts, ParameterSet, SeededCiphertexts,
    ServerKey,
};

/// Messages of another width than a table's are known for what they are, on host and device, whole,
/// seeded, compressed, and as bytes.
#[test]
fn messages_of_another_width_are_refused() {
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [9; 32]).expect("a toy");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a toy");
    let device = girih_cpu::CpuBackend::new();
    let server =
        ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress).expect("fits");
    // Two bits are more than the toy's own bound bears.
    server.limit_failure(-40.0).expect("below 0");
    let table = |bits| LookUpTable::new(bits, |m| m).expect("small");
    let wide = client.encrypt_messages(&[0, 1, 2, 3], 2).expect("two bits");
    let says = |result: girih_tfhe::Result<LweCiphertexts>, part: &str| {
        let error = result.expect_err(part).to_string();
        assert!(error.contains(part) && error.contains("messages of 2 bits"), "{error}");
    };
    let seeded = client.encrypt_seeded(&[0, 1, 2, 3], 8).expect("two bits");
    let bytes = seeded.to_bytes().expect("small");
    let read = SeededCiphertexts::from_bytes(&bytes).expect("its own");
    assert_eq!(read.plaintext_modulus(), 8);
    let again = LweCiphertexts::from_bytes(&wide.to_bytes().expect("small")).expect("its own");
    let resident = server.upload(&wide).expect("fits");
    let sum = LweCiphertexts::weighted_sum(&[(&wide, 1), (&wide, 2)], 0).expect("alike");
    let batches = [
        wide.clone(),
        read.expand(),
        again,
        server.download(&resident).expect("alive"),
        sum,
        server.apply(&wide, &table(2)).expect("its width"),
        wide.slice(1..3).expect("inside"),
    ];
    for batch in &batches {
        assert_eq!(batch.plaintext_modulus(), Some(8));
        says(server.apply(batch, &table(1)), "a table of 1 bits takes bits");
        says(server.gate(Gate::And, batch, batch), "a gate takes bits");
        says(server.majority(batch, batch, batch), "a majority takes bits");
        says(server.mux(batch, batch, batch), "a mux takes bits");
        says(server.not(batch), "a NOT takes bits");
        client.decrypt_bits(batch).expect_err("no bits");
        client.decrypt_messages(batch, 1).expect_err("two bits");
        batch.compress_bits().expect_err("no bits");
    }
    server.apply(&resident, &table(1)).expect_err("on the device as well");
    // What a table gives has the width of its results.
    let narrow = LookUpTable::with_output_bits(2, 1, |m| m & 1).expect("small");
    let bits = server.apply(&resident, &narrow).expect("its width");
    assert_eq!(bits.plaintext_modulus(), Some(4));
    let bits = server.download(&server.gate(Gate::And, &bits, &bits).expect("bits")).expect("it");
    assert_eq!(client.decrypt_bits(&bits).expect("bits"), [false, true, false, true]);
    let mixed = LweCiphertexts::concatenate(&[&bits, &wide]).expect_err("two widths");
    assert!(
        mixed.to_string().contains("takes bits, and these ciphertexts are messages of 2 bits"),
        "{mixed}"
    );
    // Compressed results are of one width each.
    let room = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
    let other = ClientKey::generate_seeded_for_tests(&room, [9; 32]).expect("a toy");
    let few = other.encrypt(&[0, 7], 8).and_then(|x| x.compress(8)).expect("room");
    assert_eq!(few.decompress().expect("each for itself").plaintext_modulus(), Some(8));
    // Nothing is known of words that were made elsewhere, and whoever knows can say so.
    let made = LweCiphertexts::from_words(&set, wide.words().to_vec()).expect("of this set");
    server.apply(&made, &table(1)).expect("not known");
    let said = made.with_plaintext_modulus(Some(8)).expect("possible");
    says(server.apply(&said, &table(1)), "a table of 1 bits");
    assert!(said.with_plaintext_modulus(Some(1)).is_err());
    // The header says how wide messages are, and nothing of what they are.
    let [a, b] = [[0, 0, 0, 0], [3, 3, 3, 3]].map(|m| client.encrypt_messages(&m, 2).expect("fit"));
    assert_eq!((a.plaintext_modulus(), a.variance()), (b.plaintext_modulus(), b.variance()));
}
