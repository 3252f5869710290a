//! Results in few bytes: merging and rounding whole groups of N ciphertexts, and reading them.
//!
//! Ids read `SET/compress/threads T` and `SET/decrypt/threads T`; a time is that of one group.

use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use girih_backend::{LoadOptions, NoProgress};
use girih_cpu::CpuBackend;
use girih_tfhe::{ClientKey, EvaluationKeys, ParameterSet, ServerKey};
use rayon::ThreadPoolBuilder;
use std::time::Duration;

fn groups(criterion: &mut Criterion) {
    let device = CpuBackend::new();
    for (name, bits) in [("STD128", 1), ("TFHERS_2_2", 4)] {
        let set = ParameterSet::by_name(name).expect("a published set");
        let client = ClientKey::generate_seeded_for_tests(&set, [7; 32]).expect("a checked set");
        let keys = EvaluationKeys::generate(&client, &NoProgress)
            .and_then(|keys| keys.with_compression(&client))
            .expect("memory for the keys");
        let server = ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress)
            .expect("memory for the keys");
        drop(keys);
        let count = set.shape().polynomial_size;
        let messages: Vec<u64> = (0..count as u64).map(|m| m * m % 23 % (1 << bits)).collect();
        let padded = if bits == 1 { 4 } else { 2 << bits };
        // Errors as those of results.
        let log2_modulus = set.shape().log2_stored_modulus();
        let variance = server.noise_model().variance_out_at(log2_modulus);
        let batch = client.encrypt(&messages, padded).expect("in range");
        let batch = batch.with_variance(variance).expect("a number");
        let compress = || match bits {
            1 => server.compress_bits(&batch),
            _ => server.compress_messages(&batch, bits),
        };
        let results = compress().expect("what the set is made for");
        assert_eq!(client.decrypt_compressed(&results).expect("its key"), messages);
        println!("{name}: {} bytes for {count} messages", results.bytes());
        let mut group = criterion.benchmark_group(name);
        group
            .sampling_mode(SamplingMode::Flat)
            .sample_size(10)
            .measurement_time(Duration::from_secs(3))
            .throughput(Throughput::Elements(count as u64));
        let mut threads = vec![1, rayon::current_num_threads()];
        threads.dedup();
        for threads in threads {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let id = |what: &str| BenchmarkId::new(what, format!("threads {threads}"));
            group.bench_function(id("compress"), |b| b.iter(|| pool.install(compress)));
            group.bench_function(id("decrypt"), |b| {
                b.iter(|| pool.install(|| client.decrypt_compressed(&results)));
            });
        }
    }
}

criterion_group!(compression, groups);
criterion_main!(compression);
