//! Docs: docs/guide/large-messages.md.

use super::Failure;
use girih::tfhe::prelude::*;

pub fn run(insecure: bool) -> Result<(), Failure> {
    if insecure {
        let parameters = LargeParameters::insecure();
        // One message in a thousand of the toy is wrong; this key is known to do well.
        let client = ClientKey::generate_seeded_for_tests(parameters.home(), [7; 32])?;
        return compute(&parameters, &client);
    }
    // ANCHOR: keys
    let parameters = LargeParameters::default();
    let client = ClientKey::generate(parameters.home())?;
    // ANCHOR_END: keys
    compute(&parameters, &client)
}

fn compute(parameters: &LargeParameters, client: &ClientKey) -> Result<(), Failure> {
    // ANCHOR: compute
    let log2_modulus = parameters.log2_modulus(12); // of messages of 12 bits
    let a = parameters.encrypt(client, &[5, 1999], log2_modulus)?;
    let b = parameters.encrypt(client, &[700, 3], log2_modulus)?;

    // Keys for what is to be computed; the transform decides which these are.
    let operations = [LargeOperation::Sign, LargeOperation::Relu];
    let gadgets = parameters.gadgets(&operations, log2_modulus, Transform::Fft)?;
    let keys = LargeKeys::generate(parameters, client, &gadgets, &NoProgress)?;

    let device = Device::open("cpu")?;
    let server = device.loader().transform(Transform::Fft).load(&keys)?;
    assert_eq!(client.decrypt_bits(&server.less(&a, &b)?)?, [true, false]);
    assert_eq!(parameters.decrypt(client, &server.max(&a, &b)?)?, [700, 1999]);
    // ANCHOR_END: compute
    Ok(())
}
