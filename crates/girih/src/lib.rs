//! Fully homomorphic encryption on any GPU: compute on data that stays encrypted.
//!
//! The owner of the data makes a [`ClientKey`](tfhe::ClientKey) and
//! [`EvaluationKeys`](tfhe::EvaluationKeys); whoever computes loads the latter on a [`Device`] as a
//! [`ServerKey`](tfhe::ServerKey) and runs gates and look-up tables on batches of
//! ciphertexts, on the host or resident on the device.
//!
//! ```
//! use girih::tfhe::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = ParameterSet::by_name("INSECURE_TOY")?;
//! # /*
//! let set = ParameterSet::by_name("STD128")?;
//! # */
//! let client = ClientKey::generate(&set)?;
//! let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//!
//! let device = Device::open("auto")?;
//! let server = device.load(&keys)?;
//!
//! let a = client.encrypt_bits(&[false, false, true, true])?;
//! let b = client.encrypt_bits(&[false, true, false, true])?;
//! let c = server.gate(Gate::Nand, &a, &b)?;
//! assert_eq!(client.decrypt_bits(&c)?, [true, true, true, false]);
//! # Ok(())
//! # }
//! ```
//!
//! # From here on
//!
//! **Keys and ciphertexts travel as bytes**:
//! [`EvaluationKeys::to_bytes`](tfhe::EvaluationKeys::to_bytes),
//! [`LweCiphertexts::to_bytes`](tfhe::LweCiphertexts::to_bytes) and their `from_bytes`, which check
//! what they read. Only [`ClientKey::to_bytes`](tfhe::ClientKey::to_bytes) is secret. A checksum
//! finds bytes that were damaged or cut short on the way; it does not authenticate them, so who
//! sent them is for the channel to say.
//!
//! **Every client key has a name**, its [`KeyId`](tfhe::KeyId), which its evaluation keys and its
//! ciphertexts carry and which says nothing about its secrets. What belongs to two keys is refused
//! where it meets (gates, sums, look-ups, decryption), and a service for many clients finds a
//! batch's [`ServerKey`](tfhe::ServerKey) by
//! [`LweCiphertexts::key_id`](tfhe::LweCiphertexts::key_id). Constants
//! ([`LweCiphertexts::trivial_bits`](tfhe::LweCiphertexts::trivial_bits)) name no key and go with
//! any.
//!
//! **Look-up tables** ([`LookUpTable`](tfhe::LookUpTable)) take messages of several bits through
//! any function at the price of a gate; the number of bits is what the set bears
//! ([`NoiseModel`](tfhe::NoiseModel) says how likely a wrong output is). What would be wrong more
//! often than [`ServerKey::limit_failure`](tfhe::ServerKey::limit_failure) allows is an error;
//! unless set, that is 2^-128 where the set's gates reach it. Batches may stay on the device
//! between calls:
//!
//! ```
//! use girih::tfhe::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = ClientKey::generate(&ParameterSet::by_name("INSECURE_TOY")?)?;
//! # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! # let device = Device::open("cpu")?;
//! # let server = device.load(&keys)?;
//! server.limit_failure(-64.0)?; // two bits a message: 2^-68 with STD128
//! let square = LookUpTable::new(2, |x| x * x % 4)?;
//! let x = server.upload(&client.encrypt_messages(&[0, 1, 2, 3], 2)?)?;
//! let y = server.apply(&server.apply(&x, &square)?, &square)?;
//! assert_eq!(client.decrypt_messages(&server.download(&y)?, 2)?, [0, 1, 0, 1]);
//! # Ok(())
//! # }
//! ```
//!
//! **Large messages**, of up to 21 bits, are compared, rounded, taken apart and rectified by the
//! functions of [`large`](tfhe::large). They have a context of their own,
//! and keys for the functions that are wanted:
//!
//! ```
//! use girih::tfhe::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let parameters = LargeParameters::insecure();
//! # // One message in a thousand of the toy is wrong.
//! # let client = ClientKey::generate_seeded_for_tests(parameters.home(), [7; 32])?;
//! # /*
//! let parameters = LargeParameters::default();
//! let client = ClientKey::generate(parameters.home())?;
//! # */
//! let log2_modulus = parameters.log2_modulus(12); // of messages of 12 bits
//! let a = parameters.encrypt(&client, &[5, 1999], log2_modulus)?;
//! let b = parameters.encrypt(&client, &[700, 3], log2_modulus)?;
//!
//! // The transform decides which gadgets, and so which keys, are needed: both sides name it.
//! let operations = [LargeOperation::Sign, LargeOperation::Relu];
//! let gadgets = parameters.gadgets(&operations, log2_modulus, Transform::Fft)?;
//! let keys = LargeKeys::generate(&parameters, &client, &gadgets, &NoProgress)?;
//!
//! # let device = Device::open("cpu")?;
//! let server = device.loader().transform(Transform::Fft).load(&keys)?;
//! assert_eq!(client.decrypt_bits(&server.less(&a, &b)?)?, [true, false]);
//! assert_eq!(parameters.decrypt(&client, &server.max(&a, &b)?)?, [700, 1999]);
//! # Ok(())
//! # }
//! ```
//!
//! **Circuits** ([`circuit`]) come from netlists (Bristol Fashion, Yosys), from generators, or from
//! a builder, and run as levels of bootstrappings on many inputs at once:
//!
//! ```
//! use girih::tfhe::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = ClientKey::generate(&ParameterSet::by_name("INSECURE_TOY")?)?;
//! # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! # let device = Device::open("cpu")?;
//! # let server = device.load(&keys)?;
//! let circuit = Circuit::new(&circuit::generate::adder(2, false), server.set())?;
//! // Two instances: 1 + 2 and 3 + 3, lowest bit first.
//! let bits = [[true, false, false, true], [true, true, true, true]];
//! let inputs = EncryptedBits::encrypt(&client, &bits)?;
//! let (sums, report) = circuit.evaluate(&server, &inputs, &NoProgress)?;
//! assert_eq!(sums.decrypt(&client)?, [[true, true, false], [false, true, true]]);
//! println!("{report}");
//! # Ok(())
//! # }
//! ```
//!
//! **Devices**: [`Device::enumerate`] lists what is there and why the rest is not; [`Device::open`]
//! takes a name (`cuda:0`, `wgpu:0`, `cpu`), several of them joined by `+`, all of a kind
//! (`cuda:*`) or `auto`. Nothing falls back silently: a device that cannot run a set says so and
//! names the limit.
//!
//! **Parameter sets**: [`ParameterSet::by_name`](tfhe::ParameterSet::by_name) for published ones,
//! [`ParameterSet::from_toml`](tfhe::ParameterSet::from_toml) for any other.
//! [`ParameterSet::security`](tfhe::ParameterSet::security) says how secure a set is and by which
//! estimate, [`ParameterSet::warnings`](tfhe::ParameterSet::warnings) what must be known before one
//! relies on it. A gate refreshes the noise of its result, so gates may be chained without end.
//!
//! **Loading**: [`Device::load`] leaves everything to the device; [`Device::loader`] names what is
//! not, such as the transform, and who hears of the progress.
//!
//! **Vectors of numbers** ([`ckks`]): sums, products, rotations, polynomials and functions of
//! encrypted real and complex vectors, approximately, and bootstrapping.
//!
//! **Integers** ([`integer`]): arrays of encrypted numbers of 2 to 128 bits, with Rust's wrapping
//! arithmetic:
//!
//! ```
//! use girih::tfhe::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = ParameterSet::by_name("INSECURE_INTEGERS")?;
//! # /*
//! let set = ParameterSet::by_name("TFHERS_2_2_GROUP_2")?;
//! # */
//! let client = ClientKey::generate(&set)?;
//! let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! let integers = Integers::new(Device::open("cpu")?.load(&keys)?)?;
//!
//! let a = integers.upload(&FheUint::<16>::encrypt(&client, &[700u16, 50])?)?;
//! let b = integers.upload(&FheUint::<16>::encrypt(&client, &[5u16, 51])?)?;
//! let larger = a.greater(&b)?.select(&a, &b)?;
//! let sum = (&(&a * &b)? + &larger)?;
//! assert_eq!(integers.download(&sum)?.decrypt(&client)?, [4200, 2601]);
//! # Ok(())
//! # }
//! ```
//!
//! **Both** ([`switching`]): exact comparisons, the largest slot and look-ups of encrypted vectors,
//! by way of TFHE and back.
//!
//! **Names**: each scheme has a prelude, [`tfhe::prelude`], [`ckks::prelude`] and
//! [`discrete::prelude`]; a program of several schemes takes [`prelude`]. Every error becomes an
//! [`Error`] by `?`; what does not fit is a [`Mismatch`] in all of them. What devices and schemes say to each other is the [`contract`].
//!
//! **Progress**: whatever may take seconds reports to a [`Progress`]; [`NoProgress`] stays silent,
//! and [`TerminalProgress`] shows on a terminal what is done, and about how long the rest takes
//! (feature `terminal`, on by default). A program of one's own says with [`device::Steps`] how many
//! steps it has before the first begins.

pub mod circuit;
pub mod ckks;
pub mod contract;
pub mod device;
pub mod discrete;
mod error;
pub mod integer;
pub mod switching;
#[cfg(all(feature = "terminal", not(target_arch = "wasm32")))]
mod terminal;
pub mod tfhe;

#[cfg(all(feature = "terminal", not(target_arch = "wasm32")))]
pub use device::TerminalProgress;
pub use device::{
    BackendError, DEVICE_VARIABLE, Device, DeviceEnumeration, DeviceInfo, DeviceKind, KeyLoader,
    LoadKeys, LoadOptions, NoProgress, OpenOptions, PlanRequest, Progress, Transform,
};
pub use error::{Error, Result};
pub use girih_tfhe::{Counts, Mismatch};

/// What programs need, of every scheme at once.
///
/// Names that one scheme alone has come as they are. What several schemes have, a `ClientKey`, a
/// `ServerKey`, a `Gate`, is found in its scheme's module, which comes as well:
///
/// ```
/// use girih::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let set = ParameterSet::by_name("INSECURE_TOY")?;
/// # let approximate = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
/// # /*
/// let set = ParameterSet::by_name("STD128")?;
/// let approximate = CkksParameters::default();
/// # */
/// let bits = tfhe::ClientKey::generate(&set)?;
/// let numbers = ckks::ClientKey::generate(&approximate)?;
/// assert_eq!(bits.decrypt_bits(&bits.encrypt_bits(&[true])?)?, [true]);
/// let half = numbers.decrypt_real(&numbers.encrypt(&[0.5])?)?[0];
/// assert!((half - 0.5).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
///
/// A program of one scheme takes that scheme's prelude instead ([`tfhe::prelude`],
/// [`ckks::prelude`], [`discrete::prelude`]): all of this, and the scheme's keys and gates by their
/// short names.
pub mod prelude {
    #[cfg(all(feature = "terminal", not(target_arch = "wasm32")))]
    pub use crate::device::TerminalProgress;
    pub use crate::device::{Device, LoadOptions, NoProgress, Progress, Transform};
    pub use crate::{circuit, ckks, discrete, integer, switching, tfhe};

    pub use girih_circuit::{Circuit, EncryptedBits, Netlist, WideBits, WideCircuit, WideOptions};
    pub use girih_ckks::{
        CkksParameters, Complex64, KeyKind,
        approximation::{CompositeSign, GoldschmidtInverse, NewtonInverseSqrt, Polynomial},
        server::{Bootstrapping, Ciphertexts, LinearMap, LinearMaps, Matrix, Recording},
    };
    pub use girih_discrete::{DiscreteParameters, EncryptedNumbers, Table, Wires};
    pub use girih_integer::{
        CompressedIntegers, Encrypted, FheBool, FheInt, FheUint, I256, Integer, Integers, U256,
    };
    pub use girih_switching::{
        Comparator, Compared, Resolution, Switch, SwitchingKeys, WireSwitch,
    };
    pub use girih_tfhe::{
        DeviceCiphertexts, Function, FunctionKind, KeyId, LookUpTable, LweCiphertexts, NoiseModel,
        ParameterSet,
        large::{LargeKeys, LargeOperation, LargeParameters, LargeServer},
    };
}

/// What programs share between threads, and send to others: a server holds one of these in an
/// [`Arc`](std::sync::Arc) and uses it from all of its workers.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Device>();
    shared::<Error>();
    shared::<tfhe::ClientKey>();
    shared::<tfhe::EvaluationKeys>();
    shared::<tfhe::ServerKey>();
    shared::<tfhe::LweCiphertexts>();
    shared::<tfhe::DeviceCiphertexts>();
    shared::<tfhe::large::LargeServer>();
    shared::<circuit::Circuit>();
    shared::<circuit::WideCircuit>();
    shared::<integer::Integers>();
    shared::<integer::FheUint<8>>();
    shared::<ckks::ClientKey>();
    shared::<ckks::EvaluationKeys>();
    shared::<ckks::ServerKey>();
    shared::<ckks::Ciphertext>();
    shared::<ckks::Ciphertexts>();
    shared::<ckks::Recording>();
    shared::<discrete::ServerKey>();
    shared::<discrete::Wires>();
    shared::<switching::Switch<'_>>();
    shared::<switching::WireSwitch<'_>>();
};
