//! Keys that lead from one scheme to the other.

mod back;
mod there;

pub(crate) use back::{BackKey, LoadedBack, Placed};
pub(crate) use there::{LoadedThere, ThereKey};

use crate::parameters::KEYS;
use crate::{Error, Result, SwitchingParameters};
use girih_backend::Progress;
use girih_rlwe::wire::{self, Bytes, Opened};
use girih_rlwe::{Entropy, KeyId, MaskSeed, MaskStreams, SetId};

/// Numbers of the random streams of switching keys.
pub(crate) mod domain {
    /// Of the published seed and of the errors: the key to TFHE, one stream a digit.
    pub const THERE: u16 = 1;
    /// The packing key, one stream for each coefficient of the TFHE secret.
    pub const PACKING: u16 = 2;
    /// The key back to the dense secret, one stream a prime.
    pub const BACK: u16 = 3;
    /// Of the error seed: the secret of the packing ring.
    pub const SECRET: u16 = 4;
}

/// What a server needs to switch between the ciphertexts of a CKKS client key and those of a TFHE
/// client key. Public; made by who has both client keys.
///
/// Masks are expanded from one seed when the keys are loaded; what is stored and sent are the
/// other halves: 32 MB for CKKS_D40 with the large-precision sets of TFHE.
pub struct SwitchingKeys {
    parameters: SwitchingParameters,
    ckks: KeyId,
    tfhe: KeyId,
    pub(crate) seed: MaskSeed,
    pub(crate) there: ThereKey,
    pub(crate) back: BackKey,
}

impl std::fmt::Debug for SwitchingKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SwitchingKeys({}, {} bytes)", self.parameters, self.bytes())
    }
}

impl SwitchingKeys {
    /// Makes the keys between two client keys. The secret of the packing ring is drawn for them
    /// and wiped.
    ///
    /// # Errors
    /// As [`SwitchingParameters::new`], and where there is no randomness.
    pub fn generate(
        ckks: &girih_ckks::ClientKey,
        tfhe: &girih_tfhe::ClientKey,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let parameters = SwitchingParameters::new(ckks.set(), tfhe.set())?;
        let entropy = Entropy::system(SetId::of(&parameters));
        Self::make(parameters, ckks, tfhe, &entropy, progress)
    }

    /// **For tests and benchmarks only**: the same from a seed, so that they repeat. Whoever knows
    /// the seed knows the errors, and so the secrets.
    ///
    /// # Errors
    /// As [`SwitchingKeys::generate`].
    pub fn generate_seeded_for_tests(
        ckks: &girih_ckks::ClientKey,
        tfhe: &girih_tfhe::ClientKey,
        seed: [u8; 32],
    ) -> Result<Self> {
        let parameters = SwitchingParameters::new(ckks.set(), tfhe.set())?;
        let entropy = Entropy::seeded_for_tests(SetId::of(&parameters), seed);
        Self::make(parameters, ckks, tfhe, &entropy, &girih_backend::NoProgress)
    }

    fn make(
        parameters: SwitchingParameters,
        ckks: &girih_ckks::ClientKey,
        tfhe: &girih_tfhe::ClientKey,
        entropy: &Entropy,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let names = [ckks.key_id(), tfhe.key_id()];
        let names: Vec<&[u8]> = names.iter().map(|id| id.as_bytes().as_slice()).collect();
        let fresh = entropy.fresh("switching keys", &names)?;
        let masks = fresh.masks.streams(entropy.set());
        let (dense, lwe) = (ckks.secret_coefficients(), tfhe.secret_coefficients(0)?);
        progress.report("switching keys", 0, 2);
        let there = ThereKey::generate(&parameters, dense, lwe, masks, &fresh.errors)?;
        progress.report("switching keys", 1, 2);
        let back = BackKey::generate(&parameters, lwe, dense, masks, &fresh.errors)?;
        progress.report("switching keys", 2, 2);
        let (ckks, tfhe) = (ckks.key_id(), tfhe.key_id());
        Ok(Self { parameters, ckks, tfhe, seed: fresh.masks, there, back })
    }

    /// The sets, and the sizes that follow.
    pub fn parameters(&self) -> &SwitchingParameters {
        &self.parameters
    }

    /// Name of the CKKS client key.
    pub fn ckks_key_id(&self) -> KeyId {
        self.ckks
    }

    /// Name of the TFHE client key.
    pub fn tfhe_key_id(&self) -> KeyId {
        self.tfhe
    }

    /// Bytes held in memory, which is also about the serialized size.
    pub fn bytes(&self) -> usize {
        self.there.bytes() + self.back.bytes()
    }

    pub(crate) fn masks(&self) -> MaskStreams {
        self.seed.streams(&SetId::of(&self.parameters))
    }

    /// The keys as bytes, which end with a checksum: it finds accidents on the way,
    /// and is no authentication.
    ///
    /// # Errors
    /// [`Error::Shared`] if they cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let parts = [self.there.to_bytes(), self.back.packing_bytes(), self.back.dense_bytes()];
        let [there, packing, dense] = parts.each_ref().map(|part| Bytes(part));
        let head = (self.tfhe.as_bytes(), self.seed.as_bytes());
        let payload = (head, there, packing, dense);
        Ok(wire::encode(KEYS, &self.parameters, Some(self.ckks), self.bytes(), &payload)?)
    }

    /// Reads and checks what [`SwitchingKeys::to_bytes`] wrote, between whatever sets.
    ///
    /// # Errors
    /// [`Error::Shared`] naming what is wrong: truncated, damaged, another version, a wrong length,
    /// a word out of range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(wire::open(KEYS, bytes)?)
    }

    /// The same between these sets and no others: whatever else the bytes may hold is refused
    /// before it is looked at.
    ///
    /// # Errors
    /// As [`SwitchingKeys::from_bytes`], and for other sets.
    pub fn from_bytes_for(parameters: &SwitchingParameters, bytes: &[u8]) -> Result<Self> {
        Self::read(wire::open_for(KEYS, parameters, most_bytes(parameters), bytes)?)
    }

    fn read(opened: Opened<'_, SwitchingParameters>) -> Result<Self> {
        opened.check_payload(most_bytes(&opened.set))?;
        let ckks = opened.named_key()?;
        let (parameters, (head, there, packing, dense)): (SwitchingParameters, Payload<'_>) =
            opened.payload()?;
        let Some(tfhe) = KeyId::from_bytes(head.0) else {
            let why = "they name no TFHE client key".into();
            return Err(girih_rlwe::Error::Malformed { what: "switching keys", why }.into());
        };
        let there = ThereKey::from_bytes(&parameters, there)?;
        let back = BackKey::from_bytes(&parameters, packing, dense)?;
        Ok(Self { parameters, ckks, tfhe, seed: MaskSeed::from_bytes(head.1), there, back })
    }
}

/// Bytes that the words of keys take.
fn most_bytes(parameters: &SwitchingParameters) -> usize {
    ThereKey::bytes_of(parameters).saturating_add(BackKey::bytes_of(parameters))
}

/// The TFHE client key's name and the seed; then the words of the key to TFHE, of the packing key
/// and of the key back to the dense secret.
type Payload<'a> = (([u8; 16], [u8; 32]), &'a [u8], &'a [u8], &'a [u8]);

/// Refuses words of the wrong number.
fn check_len(what: &str, found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    let why = format!("{what} has {found} bytes, {wanted} are needed");
    Err(Error::Shared(girih_rlwe::Error::Malformed { what: KEYS.name(), why }))
}
