//! Fully homomorphic encryption on any GPU: compute on data that stays encrypted.
//!
//! The owner of the data makes a [`ClientKey`] and [`EvaluationKeys`]; whoever computes loads the
//! latter on a [`Device`] as a [`ServerKey`] and runs gates and look-up tables on batches of
//! ciphertexts, on the host or resident on the device.
//!
//! ```
//! use girih::prelude::*;
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
//! **Keys and ciphertexts travel as bytes**: [`EvaluationKeys::to_bytes`],
//! [`LweCiphertexts::to_bytes`] and their `from_bytes`, which check what they read. Only
//! [`ClientKey::to_bytes`] is secret. A checksum finds bytes that were damaged or cut short on the
//! way; it does not authenticate them, so who sent them is for the channel to say.
//!
//! **Every client key has a name**, its [`KeyId`], which its evaluation keys and its ciphertexts
//! carry and which says nothing about its secrets. What belongs to two keys is refused where it
//! meets (gates, sums, look-ups, decryption), and a service for many clients finds a batch's
//! [`ServerKey`] by [`LweCiphertexts::key_id`]. Constants ([`LweCiphertexts::trivial_bits`]) name
//! no key and go with any.
//!
//! **Look-up tables** ([`LookUpTable`]) take messages of several bits through any function at the
//! price of a gate; the number of bits is what the set bears ([`NoiseModel`] says how likely a
//! wrong output is). What would be wrong more often than [`ServerKey::limit_failure`] allows is an
//! error; unless set, that is 2^-128 where the set's gates reach it. Batches may stay on the device
//! between calls:
//!
//! ```
//! use girih::prelude::*;
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
//! functions of [`large`]. They have a context of their own,
//! and keys for the functions that are wanted:
//!
//! ```
//! use girih::prelude::*;
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
//! use girih::circuit::{Circuit, EncryptedBits, generate};
//! use girih::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = ClientKey::generate(&ParameterSet::by_name("INSECURE_TOY")?)?;
//! # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! # let device = Device::open("cpu")?;
//! # let server = device.load(&keys)?;
//! let circuit = Circuit::new(&generate::adder(2, false), server.set())?;
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
//! **Parameter sets**: [`ParameterSet::by_name`] for published ones, [`ParameterSet::from_toml`]
//! for any other. [`ParameterSet::security`] says how secure a set is and by which estimate,
//! [`ParameterSet::warnings`] what must be known before one relies on it. A gate refreshes the
//! noise of its result, so gates may be chained without end.
//!
//! **Loading**: [`Device::load`] leaves everything to the device; [`Device::loader`] names what is
//! not, such as the transform, and who hears of the progress.
//!
//! **Vectors of numbers** ([`ckks`]): sums, products, rotations, polynomials and functions of
//! encrypted real and complex vectors, approximately, and bootstrapping.
//!
//! **Integers** ([`integer`]): arrays of encrypted numbers of 4 to 128 bits, with Rust's wrapping
//! arithmetic:
//!
//! ```
//! use girih::integer::prelude::*;
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
//! **Names**: [`device`], [`tfhe`], [`integer`], [`ckks`], [`circuit`] and [`switching`] each have
//! a prelude of their own; [`prelude`] is that of TFHE programs.
//!
//! **Progress**: whatever may take seconds reports to a [`Progress`]; [`NoProgress`] stays silent.

pub mod circuit;
pub mod ckks;
pub mod device;
pub mod discrete;
pub mod integer;
pub mod switching;
pub mod tfhe;

pub use device::{DEVICE_VARIABLE, Device, DeviceEnumeration, LoadKeys, Loader};
#[doc(inline)]
pub use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, Combination, DeviceInfo, DeviceKind,
    DeviceLimits, Engine, Gadget, KeyModulus, KeySource, LinearJob, LoadOptions, LoadRequest,
    NoProgress, Operand, PlanReport, PlanRequest, PlanSource, Progress, SecretKind, ShapeError,
    Stage, Transform, TunedPlan, TunedPlans,
};
#[doc(inline)]
pub use girih_tfhe::{
    Batch, ClientKey, CompressedResults, Decryption, DeviceCiphertexts, Error, ErrorDistribution,
    Estimate, EvaluationKeys, Function, FunctionKind, Gate, KeyId, LookUpTable, LweCiphertexts,
    Mode, NoiseModel, ParameterLiteral, ParameterSet, Result, Security, ServerKey, large, noise,
};

/// What most programs need.
pub mod prelude {
    pub use crate::{
        ClientKey, Device, DeviceCiphertexts, EvaluationKeys, Function, FunctionKind, Gate, KeyId,
        LoadOptions, LookUpTable, LweCiphertexts, NoProgress, NoiseModel, ParameterSet, Progress,
        ServerKey, Transform,
        large::{LargeKeys, LargeOperation, LargeParameters, LargeServer},
    };
}
