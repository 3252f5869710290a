//! Host batches on a device whose transfers overlap: what is cut,
//! and in which order it is asked for.

use girih_backend::bootstrap::{BootstrapDevice, Loader, Pipelining};
use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, DeviceInfo, LinearJob, LoadOptions,
    LoadRequest, NoProgress, PlanReport, Stage, StageOutput, Transform, Waiting,
};
use girih_cpu::CpuBackend;
use girih_tfhe::{ClientKey, EvaluationKeys, Gate, LweCiphertexts, ParameterSet, ServerKey};
use std::sync::{Arc, Mutex};

/// What an engine was asked for: `b` for bootstrappings, `r` for a read, and how many ciphertexts.
type Calls = Arc<Mutex<Vec<(char, usize)>>>;

/// The CPU, with waves and with transfers that overlap as far as anybody can tell.
struct InWaves(CpuBackend, usize, Calls);

struct DeviceInWaves(Box<dyn BootstrapDevice>, usize, Calls);

impl Backend for InWaves {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }

    fn bootstrap(&self) -> Option<&dyn Loader> {
        Some(self)
    }
}

impl Loader for InWaves {
    fn alternatives(&self, _: &BootstrapShape) -> Result<Vec<LoadOptions>, BackendError> {
        Ok(Vec::new())
    }

    fn load<'a>(
        &'a self,
        request: LoadRequest<'a>,
    ) -> Waiting<'a, Result<Box<dyn BootstrapDevice>, BackendError>> {
        Box::pin(async move {
            let device = Loader::load(&self.0, request).await?;
            Ok(Box::new(DeviceInWaves(device, self.1, self.2.clone())) as Box<dyn BootstrapDevice>)
        })
    }
}

impl BootstrapDevice for DeviceInWaves {
    fn shape(&self) -> &BootstrapShape {
        self.0.shape()
    }

    fn transform(&self) -> Transform {
        self.0.transform()
    }

    fn report(&self) -> PlanReport {
        self.0.report()
    }

    fn grow(&self, from: usize, to: usize) -> Result<(), BackendError> {
        self.0.grow(from, to)
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<(), BackendError> {
        self.0.write(first, words)
    }

    fn read<'a>(
        &'a self,
        first: usize,
        words: &'a mut [u32],
    ) -> Waiting<'a, Result<(), BackendError>> {
        self.2.lock().expect("no panic").push(('r', words.len() / self.shape().ciphertext_len()));
        self.0.read(first, words)
    }

    fn add_tables(&self, held: usize, polynomials: &[u64]) -> Result<(), BackendError> {
        self.0.add_tables(held, polynomials)
    }

    fn write_tables(&self, first: usize, polynomials: &[u64]) -> Result<(), BackendError> {
        self.0.write_tables(first, polynomials)
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<(), BackendError> {
        self.2.lock().expect("no panic").push(('b', jobs.len()));
        self.0.bootstrap(jobs)
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<(), BackendError> {
        self.0.combine(jobs)
    }

    fn synchronize(&self) -> Waiting<'_, Result<(), BackendError>> {
        self.0.synchronize()
    }

    fn pipelining(&self) -> Pipelining {
        Pipelining { overlaps_transfers: true, wave: self.1, part: 3168 }
    }

    fn trace(
        &self,
        job: &BootstrapJob,
        stages: &[Stage],
    ) -> Result<Vec<StageOutput>, BackendError> {
        self.0.trace(job, stages)
    }
}

#[test]
fn a_batch_goes_through_in_waves_and_two_chunks_ahead_of_its_results() {
    let set =
        ParameterSet::by_name("INSECURE_TOY").expect("built in").with_packing(2).expect("1 to 16");
    let client = ClientKey::generate_seeded_for_tests(&set, [7; 32]).expect("a checked set");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a checked set");
    let calls = Calls::default();
    let backend = InWaves(CpuBackend::new(), 4, calls.clone());
    let server = ServerKey::load(&backend, &keys, &LoadOptions::default(), &NoProgress)
        .expect("the CPU runs every set");
    let bits = |seed: usize| {
        (0..2 * 27).map(|i| ((i * i + seed * i) / 3).is_multiple_of(2)).collect::<Vec<bool>>()
    };
    let (a, b) = (bits(1), bits(2));
    let [ea, eb] = [&a, &b].map(|x| client.encrypt_bits(x).expect("whole ciphertexts"));
    let gates: Vec<Gate> = (0..27).map(|i| Gate::ALL[i % 6]).collect();
    // Once more on places that the first batch has given back.
    for _ in 0..2 {
        let got =
            client.decrypt_bits(&server.gates(&gates, &ea, &eb).expect("runs")).expect("bits");
        let want: Vec<bool> = (0..a.len()).map(|i| gates[i / 2].evaluate(a[i], b[i])).collect();
        assert_eq!(got, want);
        let seen = std::mem::take(&mut *calls.lock().expect("no panic"));
        assert_eq!(
            seen,
            [('b', 3), ('b', 12), ('b', 8), ('r', 3), ('b', 4), ('r', 12), ('r', 8), ('r', 4)]
        );
    }
    // The same ciphertext in both batches, in the first chunk, in the third and in the last: there
    // a gate is a copy, its inverse or a constant, without a bootstrapping.
    let alike = [1, 17, 18, 25];
    let mixed: Vec<_> = (0..27)
        .map(|c| if alike.contains(&c) { &ea } else { &eb }.slice(c..c + 1).expect("inside"))
        .collect();
    let mixed = LweCiphertexts::concatenate(&mixed.iter().collect::<Vec<_>>()).expect("alike");
    let second = |i: usize| if alike.contains(&(i / 2)) { a[i] } else { b[i] };
    let decrypt = |c| client.decrypt_bits(&c).expect("bits");
    let got = decrypt(server.gates(&gates, &ea, &mixed).expect("runs"));
    let want: Vec<bool> = (0..a.len()).map(|i| gates[i / 2].evaluate(a[i], second(i))).collect();
    assert_eq!(got, want);
    let seen = std::mem::take(&mut *calls.lock().expect("no panic"));
    let boots = |seen: &[(char, usize)]| -> Vec<usize> {
        seen.iter().filter(|(what, _)| *what == 'b').map(|(_, count)| *count).collect()
    };
    assert_eq!(boots(&seen), [2, 12, 6, 3]);
    let got = decrypt(server.gate(Gate::Nor, &ea, &mixed).expect("runs"));
    assert_eq!(got, (0..a.len()).map(|i| !(a[i] | second(i))).collect::<Vec<_>>());
    let seen = std::mem::take(&mut *calls.lock().expect("no panic"));
    assert_eq!(boots(&seen), [2, 12, 6, 3]);
    // A single ciphertext is one chunk.
    let one = client.encrypt_bits(&a[..2]).expect("whole ciphertexts");
    let other = client.encrypt_bits(&a[..2]).expect("whole ciphertexts");
    server.gate(Gate::Nand, &one, &other).expect("runs");
    assert_eq!(*calls.lock().expect("no panic"), [('b', 1), ('r', 1)]);
}
