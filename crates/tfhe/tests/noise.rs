//! Measured noise against the model, on sets small enough for every run of the tests.

use girih_backend::{LoadOptions, NoProgress, Transform};
use girih_cpu::CpuBackend;
use girih_tfhe::{ClientKey, EvaluationKeys, ParameterSet, ServerKey, noise};

/// At least 512 samples put one deviation of the estimate at 3 %; the seed makes the outcome the same each time.
fn check(set: &ParameterSet, samples: usize, transform: Transform) {
    let client = ClientKey::generate_seeded(set, [11; 32]).expect("prime words");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("prime words");
    let options = LoadOptions { transform: Some(transform), ..LoadOptions::default() };
    let server = ServerKey::load(&CpuBackend::new(), &keys, &options, &NoProgress).expect("the CPU runs every set");
    let measured = noise::measure(&client, &server, samples, [12; 32]).expect("runs");
    let (acc, out) = (measured.sigma_acc / measured.model.sigma_acc(), measured.sigma_out / measured.model.sigma_out());
    println!("{set}: sigma_acc {:.4e} ({acc:.3} of the model), sigma_out {:.3} ({out:.3})", measured.sigma_acc, measured.sigma_out);
    assert_eq!(measured.wrong, 0, "{set}");
    assert!((0.9..1.1).contains(&acc), "{set}: accumulator deviation {acc:.3} of the model");
    assert!((0.9..1.1).contains(&out), "{set}: output deviation {out:.3} of the model");
}

#[test]
fn toys_keep_to_the_model() {
    for (set, packing) in ParameterSet::insecure().iter().zip([1, 3, 2, 2, 1, 5, 1, 2]) {
        check(&set.with_packing(packing).expect("1 to 16"), 2048, Transform::Ntt);
    }
}

#[test]
fn small_published_sets_keep_to_the_model() {
    for name in ["G3", "M3_R5"] {
        check(&ParameterSet::by_name(name).expect("built in"), 512, Transform::Ntt);
    }
}
