//! Transforms and digits of one polynomial of each set.

use criterion::{Criterion, criterion_group, criterion_main};
use girih_backend::{BootstrapShape, Gadget, KeyModulus};
use girih_benches::{integers, sets};
use girih_ring::fft::{Buffer, Fft, Simd};
use girih_ring::gadget::balanced_digits;
use girih_ring::limb::{LimbKernels, ProductTerm};
use girih_ring::{
    Automorphism, BaseConversion, Formula, Modulus, NttTable, Rns, RnsBasis, SplitNtt, is_prime,
};
use std::hint::black_box;
use std::io::Read;

fn rns(shape: &BootstrapShape) -> Rns {
    match &shape.key_modulus {
        KeyModulus::Words(words) => Rns::new(words).expect("checked words"),
        KeyModulus::Torus64 => unreachable!("the sets benched have words"),
    }
}

/// One word at a time, as kernels do.
fn ntt(criterion: &mut Criterion) {
    for set in sets() {
        let shape = set.shape();
        let word: Modulus = rns(shape).words()[0];
        let table = NttTable::new(word, shape.polynomial_size).expect("checked words");
        let mut data: Vec<u32> = integers(u64::from(word.value()), shape.polynomial_size)
            .iter()
            .map(|&x| x as u32)
            .collect();
        criterion.bench_function(&format!("ntt_forward/{}", set.name()), |b| {
            b.iter(|| table.forward(black_box(&mut data)))
        });
        criterion.bench_function(&format!("ntt_inverse/{}", set.name()), |b| {
            b.iter(|| table.inverse(black_box(&mut data)))
        });
    }
}

/// On every instruction set of this machine.
fn fft(criterion: &mut Criterion) {
    for set in sets() {
        let size = set.shape().polynomial_size;
        for simd in Simd::available() {
            let fft = Fft::with_simd(size, simd).expect("a size in range");
            let mut coefficients: Vec<f64> =
                integers(128, size).iter().map(|&x| x as f64 - 64.0).collect();
            let mut data = Buffer::new(size).expect("a few KiB");
            let id = |what| format!("{what}/{}/{}", set.name(), simd.name());
            criterion.bench_function(&id("fft_forward"), |b| {
                b.iter(|| fft.forward(black_box(&coefficients), &mut data))
            });
            criterion.bench_function(&id("fft_inverse"), |b| {
                b.iter(|| fft.inverse(black_box(&mut data), &mut coefficients))
            });
        }
    }
}

/// The integer digits of the twin; the fast path cuts them inside its first transform pass.
fn digits(criterion: &mut Criterion) {
    for set in sets() {
        let Gadget::Decomposition { log2_base, levels, dropped_bits } = set.shape().gadget else {
            continue;
        };
        let rns = rns(set.shape());
        let values: Vec<i64> = integers(rns.value(), set.shape().polynomial_size)
            .iter()
            .map(|&x| rns.centre(x))
            .collect();
        let mut out = vec![0; levels];
        criterion.bench_function(&format!("digits/{}", set.name()), |b| {
            b.iter(|| {
                values.iter().for_each(|&x| {
                    balanced_digits(black_box(x), log2_base, dropped_bits, black_box(&mut out))
                })
            });
        });
    }
}

/// The largest primes below `2^bits` that serve N = 2^16.
fn large_primes(bits: u32, count: usize) -> Vec<u32> {
    let order = 1 << 17;
    let top = ((1u64 << bits) - 1) / order;
    (1..top)
        .rev()
        .map(|k| k * order + 1)
        .filter(|&p| is_prime(p))
        .map(|p| p as u32)
        .take(count)
        .collect()
}

/// Limbs of 2^16 words, in both classes of primes, on every instruction set of this machine:
/// transforms, one limb of twelve converted from twelve (a tile of 1024 coefficients times 64), a
/// sum of four products, a rotation.
fn limbs(criterion: &mut Criterion) {
    let size = 1 << 16;
    for (simd, bits) in Simd::available().into_iter().flat_map(|simd| [(simd, 30), (simd, 31)]) {
        let primes = large_primes(bits, 24);
        let from = RnsBasis::new(&primes[..12]).expect("distinct primes");
        let to = RnsBasis::new(&primes[12..]).expect("distinct primes");
        let modulus = from.moduli()[0];
        let words = |m: &Modulus, count| {
            integers(u64::from(m.value()), count).iter().map(|&x| x as u32).collect::<Vec<u32>>()
        };
        let mut data = words(&modulus, size);
        let id = |what| format!("{what}/{bits} bits/{}", simd.name());

        let ntt = SplitNtt::new(modulus, size).expect("1 mod 2N").with_simd(simd);
        criterion
            .bench_function(&id("limb_forward"), |b| b.iter(|| ntt.forward(black_box(&mut data))));
        criterion
            .bench_function(&id("limb_inverse"), |b| b.iter(|| ntt.inverse(black_box(&mut data))));

        let tile = 1024;
        let conversion = BaseConversion::new(&from, &to).expect("above 2^19").with_simd(simd);
        let x: Vec<u32> = from.moduli().iter().flat_map(|m| words(m, tile)).collect();
        let (mut y, mut u, mut out) = (vec![0; x.len()], vec![0; tile], vec![0; x.len()]);
        criterion.bench_function(&id("tile_overflow"), |b| {
            b.iter(|| {
                conversion.scale(black_box(&x), &mut y);
                conversion.overflow(Formula::Corrected, &y, &mut u);
            });
        });
        criterion.bench_function(&id("tile_of_12_converted"), |b| {
            b.iter(|| conversion.targets(0..12, black_box(&y), &u, &mut out))
        });

        let kernels = LimbKernels::with_simd(modulus, simd);
        let term = ProductTerm { factor: modulus.shoup(1), a: &data, b: Some(&data) };
        let mut sum = vec![0; size];
        criterion.bench_function(&id("limb_4_products"), |b| {
            b.iter(|| kernels.sum_of_products(0, black_box(&[term; 4]), &mut sum));
        });
        let rotation = Automorphism::new(size, 5).expect("odd").with_simd(simd);
        criterion.bench_function(&id("limb_automorphism"), |b| {
            b.iter(|| rotation.apply(black_box(&data), &mut sum))
        });
    }
}

/// What a server does for each limb of a vector that it encodes, beside what it would do to take
/// the limb from a file that an earlier process left, in the system's memory: read and checked.
fn encoded(criterion: &mut Criterion) {
    let size = 1 << 16;
    let modulus = RnsBasis::new(&large_primes(30, 1)).expect("one prime").moduli()[0];
    let ntt = SplitNtt::new(modulus, size).expect("1 mod 2N");
    let coefficients: Vec<i64> =
        integers(1 << 40, size).iter().map(|&x| x as i64 - (1 << 39)).collect();
    let (kernels, mut out) = (LimbKernels::new(modulus), vec![0; size]);
    criterion.bench_function("encoded_limb/made", |b| {
        b.iter(|| {
            kernels.residues(black_box(&coefficients), &mut out);
            ntt.forward(&mut out);
        })
    });
    let path = std::env::temp_dir().join(format!("girih-encoded-limb-{}", std::process::id()));
    let bytes: Vec<u8> = out.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&path, &bytes).expect("room for 256 KiB");
    let wanted = blake3::hash(&bytes);
    let mut read = vec![0; bytes.len()];
    criterion.bench_function("encoded_limb/read", |b| {
        b.iter(|| {
            let mut file = std::fs::File::open(&path).expect("it was written");
            file.read_exact(&mut read).expect("as long as it was");
            assert_eq!(blake3::hash(&read), wanted);
        })
    });
    std::fs::remove_file(&path).expect("it was written");
}

criterion_group!(benches, ntt, fft, digits, limbs, encoded);
criterion_main!(benches);
