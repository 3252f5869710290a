//! Netlists as levels of bootstrappings on many inputs at once, or of look-ups of numbers in slots
//! on thousands ([`WideCircuit`]).

#[doc(inline)]
pub use girih_circuit::*;

/// A netlist, ready to run with one parameter set.
///
/// ```
/// use girih::tfhe::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let client = ClientKey::generate(&ParameterSet::by_name("INSECURE_TOY")?)?;
/// # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
/// # let server = Device::open("cpu")?.load(&keys)?;
/// // Two numbers of two bits each, whose sum has three; bits come lowest first.
/// let circuit = Circuit::new(&circuit::generate::adder(2, false), server.set())?;
/// let inputs = EncryptedBits::encrypt(&client, &[[true, true, false, true]])?;
/// let (outputs, _) = circuit.evaluate(&server, &inputs, &NoProgress)?;
/// assert_eq!(outputs.decrypt(&client)?, [[true, false, true]]); // 3 + 2 = 5
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use girih_circuit::Circuit;
