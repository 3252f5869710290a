//! Operations on encrypted integers end to end: look-ups of both halves of the circle, sums of
//! several look-ups, and places in the store.

use crate::bootstrap::compare::Differences;
use girih::contract::Backend;
use girih::integer::{Encrypted, FheBool, FheUint, Integers};
use girih::tfhe::{ClientKey, EvaluationKeys, ParameterSet, ServerKey};
use girih::{LoadOptions, NoProgress, Transform};

/// The plain numbers: carries that run far, equal numbers, a divisor of 0.
const A: [u16; 4] = [0xFFFF, 40_503, 1234, 300];
const B: [u16; 4] = [1, 40_503, 0, 77];

/// One operation of each kind on one device.
///
/// # Errors
/// When keys cannot be made or loaded, or the device fails; wrong outputs come back as lines.
pub fn end_to_end(
    device: &dyn Backend,
    transform: Transform,
) -> Result<Differences, Box<dyn std::error::Error>> {
    let set = ParameterSet::by_name("INSECURE_INTEGERS")?;
    let client = ClientKey::generate_seeded_for_tests(&set, [6; 32])?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let options = LoadOptions::default().with_transform(transform);
    let integers = Integers::new(ServerKey::load(device, &keys, &options, &NoProgress)?)?;
    let a: FheUint<16> = integers.upload(&Encrypted::encrypt(&client, &A)?)?;
    let b: FheUint<16> = integers.upload(&Encrypted::encrypt(&client, &B)?)?;
    let signed = |x: u16| i128::from(x as i16);
    let mut differences = Differences::new();
    let mut expect = |name: &str, got: Vec<u128>, want: &dyn Fn(u16, u16) -> u16| {
        let want: Vec<u128> = A.iter().zip(B).map(|(&a, b)| want(a, b).into()).collect();
        if got != want {
            differences.push(format!("{name}: {got:?} instead of {want:?}"));
        }
    };
    let read = |x: FheUint<16>| integers.download(&x)?.decrypt(&client);
    let flags = |x: FheBool| -> girih::integer::Result<Vec<u128>> {
        Ok(integers.download(&x)?.decrypt(&client)?.into_iter().map(u128::from).collect())
    };
    expect("a + b", read((&a + &b)?)?, &u16::wrapping_add);
    expect("a - b", read((&a - &b)?)?, &u16::wrapping_sub);
    expect("a * b", read((&a * &b)?)?, &u16::wrapping_mul);
    // Of the lower bytes, since a quotient takes more look-ups than all others.
    let (quotient, remainder) = a.resize::<8>()?.div_rem(&b.resize::<8>()?)?;
    let by = |f: fn(u8, u8) -> Option<u8>, of_zero: fn(u8) -> u8| {
        move |a: u16, b: u16| f(a as u8, b as u8).unwrap_or(of_zero(a as u8)).into()
    };
    let (want, rest) = (by(u8::checked_div, |_| u8::MAX), by(u8::checked_rem, |a| a));
    expect("a / b", read(quotient.resize()?)?, &want);
    expect("a % b", read(remainder.resize()?)?, &rest);
    expect("a < b", flags(a.less(&b)?)?, &|a, b| u16::from(a < b));
    expect("a == b", flags(a.equal(&b)?)?, &|a, b| u16::from(a == b));
    expect("min", read(a.min(&b)?)?, &u16::min);
    expect("a << b", read(a.shl_by(&b)?)?, &|a, b| a.wrapping_shl(b.into()));
    expect("xor", read(a.xor(&b)?)?, &|a, b| a ^ b);
    let less: Vec<bool> =
        integers.download(&a.reinterpret().less(&b.reinterpret())?)?.decrypt(&client)?;
    let want: Vec<bool> = A.iter().zip(B).map(|(&a, b)| signed(a) < signed(b)).collect();
    if less != want {
        differences.push(format!("signed a < b: {less:?} instead of {want:?}"));
    }
    Ok(differences)
}
