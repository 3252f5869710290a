//! Whole NAND gates on the CPU's fast path: alone and in a batch, on one thread and on all.
//!
//! Ids read `nand/SET/threads T/batch B`; a time is that of the whole batch, of B ciphertexts.

use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use girih_backend::{LoadOptions, NoProgress};
use girih_cpu::CpuBackend;
use girih_tfhe::{ClientKey, EvaluationKeys, Gate, ParameterSet, ServerKey};
use rayon::ThreadPoolBuilder;
use std::time::Duration;

/// STD128, and M3 with five bits to a mask. (The key-switching table of G4 alone is larger than
/// most machines' memory.)
fn sets() -> [ParameterSet; 2] {
    let named = |name| ParameterSet::by_name(name).expect("a published set");
    [named("STD128"), named("M3").with_packing(5).expect("the packing of the papers")]
}

fn nand(criterion: &mut Criterion) {
    let device = CpuBackend::new();
    for set in sets() {
        let client = ClientKey::generate_seeded_for_tests(&set, [7; 32]).expect("a checked set");
        let keys = EvaluationKeys::generate(&client, &NoProgress).expect("memory for the keys");
        let server = ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress)
            .expect("memory for the keys");
        drop(keys);
        let mut group = criterion.benchmark_group(format!("nand/{}", set.name()));
        group
            .sampling_mode(SamplingMode::Flat)
            .sample_size(10)
            .measurement_time(Duration::from_secs(3));
        let mut threads = vec![1, rayon::current_num_threads()];
        threads.dedup();
        for threads in threads {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            for batch in [1, 16] {
                let bits = |seed: usize| {
                    (0..batch * set.packing()).map(|i| (i * seed) % 3 == 1).collect::<Vec<bool>>()
                };
                let (x, y) = (bits(1), bits(2));
                let (a, b) = (
                    client.encrypt_bits(&x).expect("whole ciphertexts"),
                    client.encrypt_bits(&y).expect("whole ciphertexts"),
                );
                group.throughput(Throughput::Elements(x.len() as u64));
                group.bench_function(
                    BenchmarkId::new(format!("threads {threads}"), format!("batch {batch}")),
                    |bencher| {
                        bencher.iter(|| {
                            pool.install(|| server.gate(Gate::Nand, &a, &b).expect("a gate"))
                        });
                    },
                );
                let c = client
                    .decrypt_bits(&server.gate(Gate::Nand, &a, &b).expect("a gate"))
                    .expect("this set");
                let want: Vec<bool> = x.iter().zip(&y).map(|(x, y)| !(x & y)).collect();
                assert_eq!(c, want, "a wrong gate has no speed");
            }
        }
    }
}

criterion_group!(benches, nand);
criterion_main!(benches);
