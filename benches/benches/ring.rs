//! Transforms and digits of one polynomial of each set.

use criterion::{Criterion, criterion_group, criterion_main};
use girih_backend::{BootstrapShape, Gadget, KeyModulus};
use girih_benches::{integers, sets};
use girih_ring::fft::{Buffer, Fft, Simd};
use girih_ring::gadget::balanced_digits;
use girih_ring::{Modulus, NttTable, Rns};
use std::hint::black_box;

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
        let mut data: Vec<u32> = integers(u64::from(word.value()), shape.polynomial_size).iter().map(|&x| x as u32).collect();
        criterion.bench_function(&format!("ntt_forward/{}", set.name()), |b| b.iter(|| table.forward(black_box(&mut data))));
        criterion.bench_function(&format!("ntt_inverse/{}", set.name()), |b| b.iter(|| table.inverse(black_box(&mut data))));
    }
}

/// On every instruction set of this machine.
fn fft(criterion: &mut Criterion) {
    for set in sets() {
        let size = set.shape().polynomial_size;
        for simd in Simd::available() {
            let fft = Fft::with_simd(size, simd).expect("a size in range");
            let mut coefficients: Vec<f64> = integers(128, size).iter().map(|&x| x as f64 - 64.0).collect();
            let mut data = Buffer::new(size).expect("a few KiB");
            let id = |what| format!("{what}/{}/{}", set.name(), simd.name());
            criterion.bench_function(&id("fft_forward"), |b| b.iter(|| fft.forward(black_box(&coefficients), &mut data)));
            criterion.bench_function(&id("fft_inverse"), |b| b.iter(|| fft.inverse(black_box(&mut data), &mut coefficients)));
        }
    }
}

/// The integer digits of the twin; the fast path cuts them inside its first transform pass.
fn digits(criterion: &mut Criterion) {
    for set in sets() {
        let Gadget::Decomposition { log2_base, levels, dropped_bits } = set.shape().gadget else { continue };
        let rns = rns(set.shape());
        let values: Vec<i64> = integers(rns.value(), set.shape().polynomial_size).iter().map(|&x| rns.centre(x)).collect();
        let mut out = vec![0; levels];
        criterion.bench_function(&format!("digits/{}", set.name()), |b| {
            b.iter(|| values.iter().for_each(|&x| balanced_digits(black_box(x), log2_base, dropped_bits, black_box(&mut out))));
        });
    }
}

criterion_group!(benches, ntt, fft, digits);
criterion_main!(benches);
