//! Encrypted numbers from CKKS to TFHE and back: exact comparisons and look-ups of slots.
//!
//! Who owns the numbers has a client key of either scheme and makes keys between them; whoever
//! computes loads them beside a server of each.
//!
//! ```
//! use girih::ckks::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (ckks, large) = ("INSECURE_CKKS_D40_N10", LargeParameters::insecure());
//! # /*
//! let (ckks, large) = ("CKKS_D40", LargeParameters::default());
//! # */
//! // The owner of the numbers.
//! let client = ClientKey::generate(&CkksParameters::by_name(ckks)?)?;
//! let tfhe = tfhe::ClientKey::generate(large.home())?;
//! let between = SwitchingKeys::generate(&client, &tfhe, &NoProgress)?;
//! let kinds = Switch::evaluation_keys(client.set(), 16)?; // for vectors of 16 slots
//! let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
//! // Signs modulo 2^16: the transform decides which keys they take.
//! let gadgets = Comparator::gadgets(between.parameters(), &large, 16, Transform::Fft)?;
//! let large = LargeKeys::generate(&large, &tfhe, &gadgets, &NoProgress)?;
//!
//! // Whoever computes.
//! let device = Device::open("cpu")?;
//! let server = device.load(&keys)?;
//! let large = device.loader().transform(Transform::Fft).load(&large)?;
//! let switch = Switch::new(&server, &between, 16)?;
//! let comparator = Comparator::new(&switch, &large, 16)?;
//! let values: Vec<f64> = (0..16).map(|i| f64::from(i) / 8.0 - 0.99).collect();
//! let x = server.upload(&[client.encrypt(&values)?])?;
//! let signs = comparator.sign(&x, 16, 1.0)?;
//! // Numbers further from zero than this have the wrong sign once in 2^20 times at most.
//! assert!(signs.resolution.distance(-20.0).is_some_and(|near| near < 0.01));
//!
//! let signs = client.decrypt_real(&server.download(&signs.slots)?[0])?;
//! assert!(signs.iter().zip(&values).all(|(sign, x)| (sign - x.signum()).abs() < 0.01));
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use girih_switching::*;

/// What takes vectors to TFHE ciphertexts, one a slot, and back.
///
/// ```
/// use girih::ckks::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
/// # let client = ClientKey::generate(&set)?;
/// # let tfhe = tfhe::ClientKey::generate(&ParameterSet::by_name("INSECURE_TOY_TORUS")?)?;
/// let between = SwitchingKeys::generate(&client, &tfhe, &NoProgress)?;
/// let kinds = Switch::evaluation_keys(&set, 16)?; // for vectors of 16 slots
/// let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
/// let server = Device::open("cpu")?.load(&keys)?;
/// let switch = Switch::new(&server, &between, 16)?;
///
/// // Slots from -1 to 1 become phases from -1/4 to 1/4 of a turn, modulo 2^64.
/// let values: Vec<f64> = (0..16).map(|i| f64::from(i) / 8.0 - 0.9).collect();
/// let x = server.upload(&[client.encrypt(&values)?])?;
/// let numbers = switch.to_tfhe(&x, 16, 0.25, 64)?;
/// assert_eq!(numbers.len(), 16);
///
/// // And back: a phase of f turns becomes sin(2 pi f).
/// let back = client.decrypt_real(&server.download(&switch.to_ckks(&numbers)?)?[0])?;
/// let wanted = values.iter().map(|v| (std::f64::consts::FRAC_PI_2 * v).sin());
/// assert!(back.iter().zip(wanted).all(|(got, want)| (got - want).abs() < 0.02));
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use girih_switching::Switch;

/// What takes TFHE ciphertexts to numbers in slots, N at once, and back; and vectors of CKKS to
/// numbers and back.
///
/// ```
/// use girih::discrete::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10")?;
/// # let client = ClientKey::generate(&set)?;
/// # let server = Device::open("cpu")?.load(&EvaluationKeys::generate(&client, &NoProgress)?)?;
/// # let tfhe = tfhe::ClientKey::generate(&ParameterSet::by_name("INSECURE_TOY_TORUS")?)?;
/// # let vectors = ckks::ClientKey::generate(&CkksParameters::by_name("INSECURE_CKKS_D40_N10")?)?;
/// # let kinds = Switch::evaluation_keys(vectors.set(), 16)?;
/// # let keys = ckks::EvaluationKeys::generate(&vectors, kinds, &NoProgress)?;
/// # let approximate = Device::open("cpu")?.load(&keys)?;
/// // Keys from numbers to TFHE and back, and from vectors to the same TFHE key and back.
/// let between = SwitchingKeys::generate(client.ckks(), &tfhe, &NoProgress)?;
/// let beside = SwitchingKeys::generate(&vectors, &tfhe, &NoProgress)?;
/// let switch = WireSwitch::new(&server, &between)?;
/// let other = Switch::new(&approximate, &beside, 16)?;
///
/// // Prices that are known to a hundredth of a step of 0.25, as numbers of such steps.
/// let prices: Vec<f64> = (0..16).map(|i| 0.25 * f64::from(i) + 0.002).collect();
/// let x = approximate.upload(&[vectors.within(4.0).encrypt(&prices)?])?;
/// let dear = Table::new(16, |m| u32::from(m >= 12))?;
/// let found = switch.round(&other, &x, (16, 0.25), 0.01, &[&dear])?.remove(0);
/// let bits = client.decrypt_bits(&server.download(&found)?)?;
/// assert!(bits.iter().enumerate().all(|(i, &bit)| bit == (i >= 12)));
///
/// // And back, as slots that are 0 and 1 but for an error that they carry.
/// let slots = switch.to_ckks(&found, &other)?;
/// let most = slots.estimate().deviation;
/// let slots = vectors.decrypt_real(&approximate.download(&slots)?[0])?;
/// assert!(most < 0.01 && (slots[11].abs() < 0.01) && (slots[12] - 1.0).abs() < 0.01);
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use girih_switching::WireSwitch;
