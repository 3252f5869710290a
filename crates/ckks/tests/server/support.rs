//! Keys, vectors, and the judgement of errors.

use girih_backend::poly::reference_device::ReferenceLoader;
use girih_backend::poly::{Loader, PolyEngine, PolyPlan};
use girih_backend::{NoProgress, block_on};
use girih_ckks::keys::{KeyKind, SwitchingKeySource};
use girih_ckks::server::{Ciphertexts, Options, ServerKey};
use girih_ckks::{CkksParameters, ClientKey, Complex64, EvaluationKeys};

/// A client and a server of one small set.
pub struct Pair {
    pub client: ClientKey,
    pub server: ServerKey,
}

/// Keys of multiplication, conjugation and of these rotations.
pub fn kinds(set: &CkksParameters, rotations: &[i64]) -> Vec<KeyKind> {
    let rotations = rotations.iter().filter_map(|&by| KeyKind::rotation(set, by));
    [KeyKind::Multiplication, KeyKind::conjugation(set)].into_iter().chain(rotations).collect()
}

pub fn pair_of(name: &str, kinds: Vec<KeyKind>, options: Options) -> Pair {
    let set = CkksParameters::by_name(name).expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [7; 32]).expect("a key");
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).expect("keys");
    let server = server_of(&keys, options);
    Pair { client, server }
}

pub fn server_of(keys: &EvaluationKeys, options: Options) -> ServerKey {
    let ring = options.key_switching.unwrap_or_default().ring(keys.set()).expect("a ring");
    let device = ReferenceLoader::default().open(ring).expect("a device");
    let engine = PolyEngine::new(device, PolyPlan::default()).expect("an engine");
    let server = ServerKey::on_engine(engine, keys, &options, &NoProgress);
    block_on(server).expect("loaded")
}

pub const SMALL: &str = "INSECURE_CKKS_D40_N10";

/// A pair of the small set with keys of these rotations.
pub fn pair(rotations: &[i64]) -> Pair {
    let set = CkksParameters::by_name(SMALL).expect("built in");
    pair_of(SMALL, kinds(&set, rotations), Options::default())
}

/// Numbers that repeat, between -1 and 1.
pub fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
        .collect()
}

/// Complex numbers of magnitude at most 1.
pub fn complex(count: usize, seed: u64) -> Vec<Complex64> {
    let (re, im) = (numbers(count, seed), numbers(count, seed + 1000));
    re.into_iter().zip(im).map(|(re, im)| Complex64::new(re, im) / 2f64.sqrt()).collect()
}

impl Pair {
    pub fn upload<T: Copy + Into<Complex64>>(&self, values: &[T]) -> Ciphertexts {
        self.server.upload(&[self.client.encrypt(values).unwrap()]).unwrap()
    }

    pub fn upload_within<T: Copy + Into<Complex64>>(
        &self,
        values: &[T],
        magnitude: f64,
    ) -> Ciphertexts {
        self.server.upload(&[self.client.within(magnitude).encrypt(values).unwrap()]).unwrap()
    }

    pub fn upload_at<T: Copy + Into<Complex64>>(&self, values: &[T], level: usize) -> Ciphertexts {
        self.server.upload(&[self.client.encrypt_at(values, level).unwrap()]).unwrap()
    }

    pub fn values(&self, batch: &Ciphertexts) -> Vec<Complex64> {
        let host = self.server.download(batch).unwrap();
        self.client.decrypt(&host[0]).unwrap()
    }

    /// Refuses an error of any component beyond `deviations` of what the batch estimates, and
    /// estimates that are too pessimistic to say anything (by more than `slack` bits).
    pub fn check_within(
        &self,
        batch: &Ciphertexts,
        wanted: &[Complex64],
        deviations: f64,
        slack: f64,
    ) {
        let host = self.server.download(batch).unwrap();
        assert_eq!(batch.key_id(), self.client.key_id());
        let decrypted = self.client.decrypt_with_precision(&host[0]).unwrap();
        let found = decrypted.values;
        let estimate = batch.estimate();
        let share = (batch.slots() as f64 / batch.set().slots() as f64).sqrt();
        let errors = found.iter().zip(wanted.iter().cycle()).map(|(x, y)| x - y);
        let worst = errors.map(|e| e.re.abs().max(e.im.abs())).fold(0.0, f64::max);
        let bound = deviations * share * estimate.deviation + estimate.bias;
        assert!(worst <= bound, "error {worst:e}, the model allows {bound:e}");
        let bits = decrypted.precision_bits;
        assert!(worst <= (-bits).exp2(), "error {worst:e}, and {bits} bits are to be trusted");
        assert!(
            worst >= bound * (-slack).exp2(),
            "error {worst:e}, the model allows {bound:e}: it says nothing"
        );
    }

    /// [`Pair::check_within`] for the twelve deviations that precision is stated by; the worst of
    /// some hundreds of slots lies between three and eight of them.
    pub fn check(&self, batch: &Ciphertexts, wanted: &[Complex64]) {
        self.check_within(batch, wanted, 12.0, 3.5);
    }

    /// [`Pair::check`] where the model is exact: the measured deviation lies within 15 % of it.
    pub fn check_exact(&self, batch: &Ciphertexts, wanted: &[Complex64]) {
        self.check(batch, wanted);
        let found = self.values(batch);
        let squares = found.iter().zip(wanted).map(|(x, y)| (x - y).norm_sqr());
        let measured = (squares.sum::<f64>() / (2 * found.len()) as f64).sqrt();
        let ratio = measured / batch.estimate().deviation;
        assert!((ratio - 1.0).abs() < 0.15, "measured over model: {ratio}");
    }
}

pub fn to_complex(values: &[f64]) -> Vec<Complex64> {
    values.iter().map(|&v| v.into()).collect()
}
