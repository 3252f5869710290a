//! What is read: one entry for each decoder, parser and file format.

use crate::tensors::Tensors;
use cpu_time::ProcessTime;
use girih_backend::{
    NoProgress, TunedPlans, keep_compiled, new_private_folder, read_compiled, write_cache_file,
};
use girih_circuit::Netlist;
use girih_ckks::CkksParameters;
use girih_discrete::{DiscreteParameters, EncryptedNumbers, SeededNumbers};
use girih_integer::{CompressedIntegers, Encrypted, FheBool, FheUint, Integer};
use girih_rlwe::wire;
use girih_switching::{SwitchingKeys, SwitchingParameters};
use girih_tfhe::{
    ClientKey, CompressedResults, EvaluationKeys, LweCiphertexts, Mode, ParameterLiteral,
    ParameterSet, PublicKey, SeededCiphertexts,
};
use std::cell::Cell;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How an input was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It means something.
    Accepted,
    /// It was refused with an error.
    Refused,
}

type Read = Box<dyn Fn(&[u8], &Clock) -> Result<Outcome, String>>;

/// How long the longest of several readings of one input took. The processor's time, where that
/// is less: other programs run, too.
#[derive(Default)]
struct Clock(Cell<Duration>);

impl Clock {
    fn time<T>(&self, read: impl FnOnce() -> T) -> T {
        let (start, processor) = (Instant::now(), ProcessTime::now());
        let result = read();
        self.0.set(self.0.get().max(start.elapsed().min(processor.elapsed())));
        result
    }
}

/// Something that reads bytes from elsewhere.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    seeds: Vec<Vec<u8>>,
    read: Read,
    /// Where bytes begin that end with a checksum, if there are any.
    sealed: Option<usize>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({}, {} seeds)", self.name, self.seeds.len())
    }
}

impl Target {
    /// A target with good inputs, of which there is at least one. `read` gives an error for what
    /// must not be: an input that is accepted though what it says is not so,
    /// a message of several lines.
    pub fn new(
        name: &'static str,
        seeds: Vec<Vec<u8>>,
        read: impl Fn(&[u8]) -> Result<Outcome, String> + 'static,
    ) -> Self {
        let read: Read = Box::new(move |bytes, clock| clock.time(|| read(bytes)));
        Self { name, seeds, read, sealed: None }
    }

    /// Good inputs.
    pub fn seeds(&self) -> &[Vec<u8>] {
        &self.seeds
    }

    pub(crate) fn seal(&self, bytes: &mut [u8]) {
        if let Some(sealed) = self.sealed.and_then(|start| bytes.get_mut(start..)) {
            wire::reseal(sealed);
        }
    }

    /// Reads `bytes`, perhaps several times; how it went, and the longest reading.
    pub(crate) fn read(&self, bytes: &[u8]) -> Result<(Outcome, Duration), String> {
        let clock = Clock::default();
        let outcome = (self.read)(bytes, &clock)?;
        Ok((outcome, clock.0.get()))
    }
}

/// A file of named arrays, one of each kind of numbers.
fn tensors_file() -> Vec<u8> {
    let header = r#"{"__metadata__":{"side":"8"},"a":{"dtype":"F16","shape":[2,2],
        "data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},
        "c":{"dtype":"U8","shape":[3],"data_offsets":[12,15]}}"#;
    let halves = [0x3c00u16, 0xc100, 0x0001, 0x7bff].map(u16::to_le_bytes).concat();
    let data = [&halves[..], &(-0.75f32).to_le_bytes(), &[0, 7, 255]].concat();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

/// Refused, if the error is a sentence.
fn refused(error: impl Display) -> Result<Outcome, String> {
    let text = error.to_string();
    if text.is_empty() || text.contains('\n') {
        return Err(format!("an error of {} lines: {text:?}", text.lines().count()));
    }
    Ok(Outcome::Refused)
}

/// Reads, and writes again what was accepted: it must say the same.
fn reread<T, E: Display>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<T, E>,
    write: impl Fn(&T) -> Result<Vec<u8>, E>,
) -> Result<Outcome, String> {
    let thing = match read(bytes) {
        Ok(thing) => thing,
        Err(error) => return refused(error),
    };
    let once = write(&thing).map_err(|e| format!("accepted, but not written: {e}"))?;
    let again = read(&once).map_err(|e| format!("accepted, but not what it wrote: {e}"))?;
    let twice = write(&again).map_err(|e| format!("accepted twice, but not written: {e}"))?;
    if once == twice { Ok(Outcome::Accepted) } else { Err("changed by being written".into()) }
}

/// Small sets of every kind, so that keys are some kilobytes.
fn sets() -> Vec<ParameterSet> {
    let small = |name: &str| {
        let built_in = ParameterSet::by_name(name).expect("built in").literal();
        let base_ks = if built_in.mode == Mode::Torus { built_in.base_ks } else { 2 };
        let (n, name) = (built_in.grouping.unwrap_or(1) * 2, format!("FUZZ_{name}"));
        let literal = ParameterLiteral { name, n, base_ks, ..built_in };
        ParameterSet::new(&literal).expect("a small set computes")
    };
    ["INSECURE_TOY", "INSECURE_TOY_MR", "INSECURE_TOY_TORUS", "INSECURE_TOY_GROUP_2"]
        .map(small)
        .to_vec()
}

/// Serialized things of one scheme: read for any set and for one.
fn serialized<S: 'static, T: 'static, E: Display + 'static>(
    name: &'static str,
    sets: Vec<S>,
    make: impl Fn(&S) -> Vec<u8>,
    read: fn(&[u8]) -> Result<T, E>,
    read_for: fn(&S, &[u8]) -> Result<T, E>,
    write: fn(&T) -> Result<Vec<u8>, E>,
) -> Target {
    let seeds = sets.iter().map(make).collect();
    let judge: Read = Box::new(move |bytes, clock| {
        let any = reread(bytes, |bytes| clock.time(|| read(bytes)), write)?;
        let for_set = |set: &&S| clock.time(|| read_for(set, bytes)).is_ok();
        let one = sets.iter().filter(for_set).count();
        match (any, one) {
            // A set of other numbers than ours.
            (Outcome::Accepted, 0 | 1) | (Outcome::Refused, 0) => Ok(any),
            _ => Err(format!("{any:?} for any set, accepted for {one} of ours")),
        }
    });
    // They end with a checksum.
    Target { name, seeds, read: judge, sealed: Some(0) }
}

impl Target {
    /// The same where a line comes before what ends with a checksum.
    fn after_a_line(self) -> Self {
        let line = self.seeds.first().and_then(|seed| seed.iter().position(|&byte| byte == b'\n'));
        let end = line.map_or(0, |end| end + 1);
        self.after(end)
    }

    /// Their checksum is over what comes after so many bytes.
    fn after(mut self, bytes: usize) -> Self {
        self.sealed = Some(bytes);
        self
    }
}

/// A key that is the same each time.
fn tfhe_client(set: &ParameterSet) -> ClientKey {
    ClientKey::generate_seeded_for_tests(set, [1; 32]).expect("a checked set")
}

/// The same of CKKS.
fn ckks_client(set: &CkksParameters) -> girih_ckks::ClientKey {
    girih_ckks::ClientKey::generate_seeded_for_tests(set, [1; 32]).expect("a checked set")
}

/// The smallest built-in set of CKKS.
fn ckks_sets() -> Vec<CkksParameters> {
    let all = CkksParameters::insecure();
    all.into_iter().min_by_key(|set| (set.degree(), set.to_toml().len())).into_iter().collect()
}

/// A small set of CKKS with bootstrapping, and a small set of TFHE.
fn switching_sets() -> Vec<SwitchingParameters> {
    let ckks = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
    let numbers = discrete_sets().remove(0);
    let with = |ckks| SwitchingParameters::new(ckks, &sets()[0]).expect("they go together");
    vec![with(&ckks), with(numbers.ckks())]
}

/// A small set for numbers in slots.
fn discrete_sets() -> Vec<DiscreteParameters> {
    vec![DiscreteParameters::by_name("INSECURE_DISCRETE_1_N10").expect("built in")]
}

/// A small set for integers in slots.
fn digit_sets() -> Vec<DiscreteParameters> {
    vec![DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10").expect("built in")]
}

/// Integers in slots.
type Slotted = Encrypted<FheUint<8, girih_discrete::ServerKey>>;

fn discrete_client(set: &DiscreteParameters) -> girih_discrete::ClientKey {
    girih_discrete::ClientKey::generate_seeded_for_tests(set, [1; 32]).expect("a checked set")
}

/// The largest built-in set of no security that integers work on.
fn integer_sets() -> Vec<ParameterSet> {
    vec![ParameterSet::by_name("INSECURE_INTEGERS").expect("built in")]
}

/// A folder of its own in the system's temporary folder, and a file in it. Files of a cache are
/// read from folders that nobody else can write.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = new_private_folder("girih-fuzz").expect("the temporary folder is writable");
        Self(folder.join(name))
    }

    /// The bytes of what `write` writes there.
    fn written(name: &str, write: impl FnOnce(&std::path::Path)) -> Vec<u8> {
        let scratch = Self::new(name);
        write(&scratch.0);
        std::fs::read(&scratch.0).expect("written")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays in a temporary folder harms nobody.
        if let Some(folder) = self.0.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Reads files of a format through a file that is written first.
fn of_file(
    name: &'static str,
    seed: Vec<u8>,
    read: fn(&std::path::Path) -> Result<bool, String>,
) -> Target {
    let scratch = Scratch::new(name);
    Target::new(name, vec![seed], move |bytes| {
        let path = &scratch.0;
        write_cache_file(path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        match read(path) {
            Ok(true) => Ok(Outcome::Accepted),
            Ok(false) => Ok(Outcome::Refused),
            Err(error) => refused(error),
        }
    })
}

/// A parser of texts: bytes that are none are refused before.
pub fn text<T: 'static, E: Display + 'static>(
    name: &'static str,
    seeds: Vec<String>,
    read: fn(&str) -> Result<T, E>,
) -> Target {
    let seeds = seeds.into_iter().map(String::into_bytes).collect();
    Target::new(name, seeds, move |bytes| match std::str::from_utf8(bytes) {
        Err(_) => Ok(Outcome::Refused),
        Ok(text) => match read(text) {
            Ok(_) => Ok(Outcome::Accepted),
            Err(error) => refused(error),
        },
    })
}

/// A small circuit in its text form: a full adder.
const BRISTOL: &str = "5 8\n2 2 1\n1 2\n\n2 1 0 1 3 XOR\n2 1 3 2 6 XOR\n2 1 0 1 4 AND\n\
                       2 1 3 2 5 AND\n2 1 4 5 7 XOR\n";

/// Everything that reads bytes from elsewhere.
pub fn targets() -> Vec<Target> {
    let files = sets().iter().map(ParameterSet::to_toml).collect();
    let tuned = Scratch::written("plans", |path| {
        TunedPlans::default().write(path).expect("the temporary folder is writable");
    });
    let compiled = Scratch::written("kernel", |path| {
        keep_compiled(path, b"machine code").expect("the temporary folder is writable");
    });
    vec![
        serialized(
            "client key",
            sets(),
            |set| tfhe_client(set).to_bytes().expect("serializes").to_vec(),
            ClientKey::from_bytes,
            ClientKey::from_bytes_for,
            |key| Ok(key.to_bytes()?.to_vec()),
        ),
        serialized(
            "evaluation keys",
            sets(),
            |set| {
                let client = tfhe_client(set);
                let keys = EvaluationKeys::generate(&client, &NoProgress).expect("memory");
                keys.to_bytes().expect("serializes")
            },
            EvaluationKeys::from_bytes,
            EvaluationKeys::from_bytes_for,
            EvaluationKeys::to_bytes,
        ),
        serialized(
            "compressing keys",
            sets(),
            |set| {
                let client = tfhe_client(set);
                let keys = EvaluationKeys::generate(&client, &NoProgress).expect("memory");
                let keys = keys.with_compression(&client).expect("of this client");
                keys.to_bytes().expect("serializes")
            },
            EvaluationKeys::from_bytes,
            EvaluationKeys::from_bytes_for,
            EvaluationKeys::to_bytes,
        ),
        serialized(
            "compressed results",
            sets(),
            |set| {
                let batch = tfhe_client(set).encrypt_bits(&[true, false]).expect("two ciphertexts");
                let results = batch.compress_bits().expect("fresh ones are read");
                results.to_bytes().expect("serializes")
            },
            CompressedResults::from_bytes,
            CompressedResults::from_bytes_for,
            CompressedResults::to_bytes,
        ),
        serialized(
            "ciphertexts",
            sets(),
            |set| {
                let batch = tfhe_client(set).encrypt_bits(&[true, false]).expect("two ciphertexts");
                batch.to_bytes().expect("serializes")
            },
            LweCiphertexts::from_bytes,
            LweCiphertexts::from_bytes_for,
            LweCiphertexts::to_bytes,
        ),
        serialized(
            "seeded ciphertexts",
            sets(),
            |set| {
                let batch = tfhe_client(set).encrypt_seeded(&[1, 0], 4).expect("two ciphertexts");
                batch.to_bytes().expect("serializes")
            },
            SeededCiphertexts::from_bytes,
            SeededCiphertexts::from_bytes_for,
            SeededCiphertexts::to_bytes,
        ),
        serialized(
            "integers",
            integer_sets(),
            |set| {
                let numbers = Encrypted::<FheUint<8>>::encrypt(&tfhe_client(set), &[3u8, 200]);
                numbers.expect("two numbers").to_bytes().expect("serializes")
            },
            Encrypted::<FheUint<8>>::from_bytes,
            |set, bytes| Encrypted::<FheUint<8>>::from_bytes_for(set, 64, bytes),
            Encrypted::<FheUint<8>>::to_bytes,
        )
        .after_a_line(),
        serialized(
            "conditions",
            integer_sets(),
            |set| {
                let bits = Encrypted::<FheBool>::encrypt(&tfhe_client(set), &[true, false]);
                bits.expect("two bits").to_bytes().expect("serializes")
            },
            Encrypted::<FheBool>::from_bytes,
            |set, bytes| Encrypted::<FheBool>::from_bytes_for(set, 64, bytes),
            Encrypted::<FheBool>::to_bytes,
        )
        .after_a_line(),
        serialized(
            "compressed integers",
            integer_sets(),
            |set| {
                // Two messages of two digits each.
                let batch = tfhe_client(set).encrypt(&[3, 12], 16).expect("two ciphertexts");
                let results = batch.compress(16).expect("fresh ones are read");
                let line = format!("girih 1 compressed {}\n", FheUint::<8>::name());
                [line.into_bytes(), results.to_bytes().expect("serializes")].concat()
            },
            CompressedIntegers::<FheUint<8>>::from_bytes,
            CompressedIntegers::<FheUint<8>>::from_bytes_for,
            CompressedIntegers::<FheUint<8>>::to_bytes,
        )
        .after_a_line(),
        serialized(
            "public key",
            sets().into_iter().filter(|set| set.shape().is_torus()).collect(),
            |set| {
                let key = PublicKey::generate(&tfhe_client(set)).expect("of the torus");
                key.to_bytes().expect("serializes")
            },
            PublicKey::from_bytes,
            PublicKey::from_bytes_for,
            PublicKey::to_bytes,
        ),
        serialized(
            "CKKS client key",
            ckks_sets(),
            |set| ckks_client(set).to_bytes().expect("serializes").to_vec(),
            girih_ckks::ClientKey::from_bytes,
            girih_ckks::ClientKey::from_bytes_for,
            |key| Ok(key.to_bytes()?.to_vec()),
        ),
        serialized(
            "CKKS public key",
            ckks_sets(),
            |set| {
                let key = ckks_client(set).public_key().expect("memory");
                key.to_bytes().expect("serializes")
            },
            girih_ckks::PublicKey::from_bytes,
            girih_ckks::PublicKey::from_bytes_for,
            girih_ckks::PublicKey::to_bytes,
        ),
        serialized(
            "CKKS evaluation keys",
            ckks_sets(),
            |set| {
                let kinds = [girih_ckks::KeyKind::Galois(5)];
                let client = ckks_client(set);
                let keys = girih_ckks::EvaluationKeys::generate(&client, kinds, &NoProgress);
                keys.expect("memory").to_bytes().expect("serializes")
            },
            girih_ckks::EvaluationKeys::from_bytes,
            girih_ckks::EvaluationKeys::from_bytes_for,
            girih_ckks::EvaluationKeys::to_bytes,
        ),
        serialized(
            "CKKS keys up to a level",
            ckks_sets(),
            |set| {
                let kinds = [
                    girih_ckks::KeyKind::Galois(5).up_to(1),
                    girih_ckks::KeyKind::Multiplication.up_to(0),
                ];
                let client = ckks_client(set);
                let keys = girih_ckks::EvaluationKeys::generate(&client, kinds, &NoProgress);
                keys.expect("memory").to_bytes().expect("serializes")
            },
            girih_ckks::EvaluationKeys::from_bytes,
            girih_ckks::EvaluationKeys::from_bytes_for,
            girih_ckks::EvaluationKeys::to_bytes,
        ),
        serialized(
            "CKKS ciphertext",
            ckks_sets(),
            |set| {
                let ciphertext = ckks_client(set).encrypt(&[0.5, -0.25]).expect("two values");
                ciphertext.to_bytes().expect("serializes")
            },
            girih_ckks::Ciphertext::from_bytes,
            girih_ckks::Ciphertext::from_bytes_for,
            girih_ckks::Ciphertext::to_bytes,
        ),
        serialized(
            "seeded CKKS ciphertext",
            ckks_sets(),
            |set| {
                let seeded = ckks_client(set).encrypt_seeded(&[0.5, -0.25]).expect("two values");
                seeded.to_bytes().expect("serializes")
            },
            girih_ckks::SeededCiphertext::from_bytes,
            girih_ckks::SeededCiphertext::from_bytes_for,
            girih_ckks::SeededCiphertext::to_bytes,
        ),
        serialized(
            "switching keys",
            switching_sets(),
            |sets| {
                let (ckks, tfhe) = (ckks_client(sets.ckks()), tfhe_client(sets.tfhe()));
                let keys = SwitchingKeys::generate_seeded_for_tests(&ckks, &tfhe, [1; 32]);
                keys.expect("memory").to_bytes().expect("serializes")
            },
            SwitchingKeys::from_bytes,
            SwitchingKeys::from_bytes_for,
            SwitchingKeys::to_bytes,
        ),
        serialized(
            "client key for numbers",
            discrete_sets(),
            |set| discrete_client(set).to_bytes().expect("serializes").to_vec(),
            girih_discrete::ClientKey::from_bytes,
            girih_discrete::ClientKey::from_bytes_for,
            |key| Ok(key.to_bytes()?.to_vec()),
        ),
        serialized(
            "public key for numbers",
            discrete_sets(),
            |set| {
                let key = discrete_client(set).public_key().expect("memory");
                key.to_bytes().expect("serializes")
            },
            girih_discrete::PublicKey::from_bytes,
            girih_discrete::PublicKey::from_bytes_for,
            girih_discrete::PublicKey::to_bytes,
        ),
        serialized(
            "encrypted numbers",
            discrete_sets(),
            |set| {
                let numbers = discrete_client(set).encrypt(&[3, 1, 2]).expect("three numbers");
                numbers.to_bytes().expect("serializes")
            },
            EncryptedNumbers::from_bytes,
            |set, bytes| EncryptedNumbers::from_bytes_for(set, 1, bytes),
            EncryptedNumbers::to_bytes,
        ),
        serialized(
            "seeded numbers",
            discrete_sets(),
            |set| {
                let numbers = discrete_client(set).encrypt_seeded(&[[1, 0, 1]], 2);
                numbers.expect("three bits").to_bytes().expect("serializes")
            },
            SeededNumbers::from_bytes,
            |set, bytes| SeededNumbers::from_bytes_for(set, 1, bytes),
            SeededNumbers::to_bytes,
        ),
        serialized(
            "integers in slots",
            digit_sets(),
            |set| {
                let numbers = Slotted::encrypt(&discrete_client(set), &[3u8, 200]);
                numbers.expect("two numbers").to_bytes().expect("serializes")
            },
            Slotted::from_bytes,
            |set, bytes| Slotted::from_bytes_for(set, 2000, bytes),
            Slotted::to_bytes,
        )
        .after(b"girih 1 FheUint8 in slots\n".len() + 8),
        text(
            "parameter file for numbers",
            discrete_sets().iter().map(DiscreteParameters::to_toml).collect(),
            DiscreteParameters::from_toml,
        ),
        text(
            "CKKS parameter file",
            ckks_sets().iter().map(CkksParameters::to_toml).collect(),
            CkksParameters::from_toml,
        ),
        text("parameter file", files, ParameterSet::from_toml),
        text("bristol circuit", vec![BRISTOL.into()], Netlist::from_bristol),
        text(
            "yosys netlist",
            vec![include_str!("../../crates/circuit/tests/yosys/saturating.json").into()],
            Netlist::from_yosys,
        ),
        text(
            "HEIR program",
            vec![
                include_str!("../../crates/circuit/tests/heir/boolean.mlir").into(),
                include_str!("../../crates/circuit/tests/heir/lut3.mlir").into(),
                include_str!("../../crates/circuit/tests/heir/packed_boolean.mlir").into(),
                include_str!("../../crates/circuit/tests/heir/packed_lut3.mlir").into(),
            ],
            |text| Netlist::from_heir(text, None),
        ),
        Target::new("safetensors", vec![tensors_file()], |bytes| match Tensors::read(bytes) {
            Ok(_) => Ok(Outcome::Accepted),
            Err(why) => refused(why),
        }),
        of_file("tuned plans", tuned, |path| {
            TunedPlans::read(path).map(|(_, note)| note.is_none()).map_err(|e| e.to_string())
        }),
        of_file("compiled kernel", compiled, |path| {
            read_compiled(path).map(|found| found.is_some())
        }),
    ]
}
