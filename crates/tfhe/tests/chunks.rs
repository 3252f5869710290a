//! Host batches on a device whose transfers overlap: what is cut, and in which order it is asked for.

use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, DeviceInfo, Engine, KeySource, LinearJob, LoadOptions, NoProgress, Progress,
    Stage, StageOutput, Transform,
};
use girih_cpu::CpuBackend;
use girih_tfhe::{ClientKey, EvaluationKeys, Gate, ParameterSet, ServerKey};
use std::sync::{Arc, Mutex};

/// What an engine was asked for: `b` for bootstrappings, `r` for a read, and how many ciphertexts.
type Calls = Arc<Mutex<Vec<(char, usize)>>>;

/// The CPU, with waves and with transfers that overlap as far as anybody can tell.
struct InWaves(CpuBackend, usize, Calls);

struct InWavesEngine(Box<dyn Engine>, usize, Calls);

impl Backend for InWaves {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }

    fn load(&self, keys: &dyn KeySource, options: &LoadOptions, progress: &dyn Progress) -> Result<Box<dyn Engine>, BackendError> {
        Ok(Box::new(InWavesEngine(self.0.load(keys, options, progress)?, self.1, self.2.clone())))
    }

    fn load_beside(
        &self,
        _: &(dyn Engine + 'static),
        _: &dyn KeySource,
        _: &LoadOptions,
        _: &dyn Progress,
    ) -> Result<Box<dyn Engine>, BackendError> {
        Err(BackendError::InvalidRequest("these tests load one key".into()))
    }
}

impl Engine for InWavesEngine {
    fn shape(&self) -> &BootstrapShape {
        self.0.shape()
    }

    fn transform(&self) -> Transform {
        self.0.transform()
    }

    fn plan(&self) -> serde_json::Value {
        self.0.plan()
    }

    fn stored(&self) -> usize {
        self.0.stored()
    }

    fn reserve(&self, ciphertexts: usize) -> Result<(), BackendError> {
        self.0.reserve(ciphertexts)
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<(), BackendError> {
        self.0.write(first, words)
    }

    fn read(&self, first: usize, words: &mut [u32]) -> Result<(), BackendError> {
        self.2.lock().expect("no panic").push(('r', words.len() / self.shape().ciphertext_len()));
        self.0.read(first, words)
    }

    fn add_tables(&self, polynomials: &[u64]) -> Result<u32, BackendError> {
        self.0.add_tables(polynomials)
    }

    fn write_tables(&self, first: u32, polynomials: &[u64]) -> Result<(), BackendError> {
        self.0.write_tables(first, polynomials)
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<(), BackendError> {
        self.2.lock().expect("no panic").push(('b', jobs.len()));
        self.0.bootstrap(jobs)
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<(), BackendError> {
        self.0.combine(jobs)
    }

    fn synchronize(&self) -> Result<(), BackendError> {
        self.0.synchronize()
    }

    fn overlaps_transfers(&self) -> bool {
        true
    }

    fn wave(&self) -> usize {
        self.1
    }

    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>, BackendError> {
        self.0.trace(job, stages)
    }
}

#[test]
fn a_batch_goes_through_in_waves_and_two_chunks_ahead_of_its_results() {
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in").with_packing(2).expect("1 to 16");
    let client = ClientKey::generate_seeded_for_tests(&set, [7; 32]).expect("a checked set");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a checked set");
    let calls = Calls::default();
    let backend = InWaves(CpuBackend::new(), 4, calls.clone());
    let server = ServerKey::load(&backend, &keys, &LoadOptions::default(), &NoProgress).expect("the CPU runs every set");
    let bits = |seed: usize| (0..2 * 27).map(|i| ((i * i + seed * i) / 3).is_multiple_of(2)).collect::<Vec<bool>>();
    let (a, b) = (bits(1), bits(2));
    let [ea, eb] = [&a, &b].map(|x| client.encrypt_bits(x).expect("whole ciphertexts"));
    let gates: Vec<Gate> = (0..27).map(|i| Gate::ALL[i % 6]).collect();
    // Once more on places that the first batch has given back.
    for _ in 0..2 {
        let got = client.decrypt_bits(&server.gates(&gates, &ea, &eb).expect("runs")).expect("bits");
        let want: Vec<bool> = (0..a.len()).map(|i| gates[i / 2].evaluate(a[i], b[i])).collect();
        assert_eq!(got, want);
        let seen = std::mem::take(&mut *calls.lock().expect("no panic"));
        assert_eq!(seen, [('b', 3), ('b', 12), ('b', 8), ('r', 3), ('b', 4), ('r', 12), ('r', 8), ('r', 4)]);
    }
    // A single ciphertext is one chunk.
    let one = client.encrypt_bits(&a[..2]).expect("whole ciphertexts");
    server.gate(Gate::Nand, &one, &one).expect("runs");
    assert_eq!(*calls.lock().expect("no panic"), [('b', 1), ('r', 1)]);
}
