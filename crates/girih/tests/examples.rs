//! The examples run: each checks every output itself and returns an error for a wrong one.

#![allow(clippy::duplicate_mod, reason = "each example brings examples/common along")]

use clap::Parser;

#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/adder.rs"]
mod adder;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/aes128.rs"]
mod aes128;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/bert.rs"]
mod bert;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/digits.rs"]
mod digits;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/guide/main.rs"]
mod guide;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/helr.rs"]
mod helr;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/integers.rs"]
mod integers;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/iris.rs"]
mod iris;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/logistic.rs"]
mod logistic;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/matrix.rs"]
mod matrix;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/mean_variance.rs"]
mod mean_variance;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/resnet20.rs"]
mod resnet20;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/sort.rs"]
mod sort;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/switching.rs"]
mod switching;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/transformer.rs"]
mod transformer;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../examples/wide.rs"]
mod wide;

/// The toy with the least noise, packed so that the last ciphertext is not full.
const SET: [&str; 4] = ["--device", "cpu", "--set", "INSECURE_TOY_WORDS2_R4"];

#[test]
fn outputs_that_cannot_be_written_and_counts_out_of_range_are_refused_first() {
    let folder = std::env::temp_dir();
    let json = ["--json", &folder.to_string_lossy()];
    let refused =
        adder::run(&adder::Arguments::parse_from(["adder"].iter().chain(&SET).chain(&json)))
            .expect_err("a folder");
    assert!(refused.to_string().contains("--json"), "{refused}");
    assert!(adder::Arguments::try_parse_from(["adder", "--pairs", "0"]).is_err());
    assert!(aes128::Arguments::try_parse_from(["aes128", "--blocks", "0"]).is_err());
    for row in ["0", "151"] {
        assert!(iris::Arguments::try_parse_from(["iris", "--row", row]).is_err());
    }
    assert!(iris::Arguments::try_parse_from(["iris", "--row", "150"]).is_ok());
}

#[test]
fn samples_of_the_book_are_right() {
    for chapter in <guide::Chapter as clap::ValueEnum>::value_variants() {
        let arguments = guide::Arguments { chapter: *chapter, insecure: true };
        guide::run(&arguments).unwrap_or_else(|e| panic!("{chapter:?}: {e}"));
    }
}

#[test]
fn sums() {
    for more in [&["--pairs", "7"][..], &["--fast"]] {
        adder::run(&adder::Arguments::parse_from(["adder"].iter().chain(&SET).chain(more)))
            .expect("right sums");
    }
}

#[test]
fn aes_with_and_without_its_key_schedule() {
    for more in [&["--full", "--blocks", "2"][..], &["--schedule"]] {
        aes128::run(&aes128::Arguments::parse_from(["aes128"].iter().chain(&SET).chain(more)))
            .expect("the standard's vectors");
    }
}

#[test]
fn every_flower_is_classified_as_in_the_plain() {
    iris::run(&iris::Arguments::parse_from(["iris"].iter().chain(&SET)))
        .expect("the plain tree's labels");
}

#[test]
fn digits_are_read_as_in_the_plain() {
    let set = ["digits", "--device", "cpu", "--set", "INSECURE_LARGE_2P18", "--full"];
    digits::run(&digits::Arguments::parse_from(set)).expect("the plain net's labels");
}

#[test]
fn orders_are_priced_as_in_the_plain() {
    let set = ["integers", "--device", "cpu", "--set", "INSECURE_INTEGERS", "--orders", "6"];
    integers::run(&integers::Arguments::parse_from(set)).expect("the plain prices");
}

/// The table; circuits on numbers in slots have tests of their own, and a round of AES takes
/// longer.
#[test]
fn records_are_looked_up_as_in_the_plain() {
    let line = ["wide", "--device", "cpu", "--rounds", "0"];
    wide::run(&wide::Arguments::parse_from(line)).expect("the plain shares");
}

/// CKKS at N = 2^10.
const SMALL: [&str; 4] = ["--device", "cpu", "--set", "INSECURE_CKKS_D40_N10"];

#[test]
fn means_and_variances_are_those_in_the_plain() {
    for more in [&[][..], &["--column", "4"]] {
        let line = ["mean_variance"].iter().chain(&SMALL).chain(more);
        mean_variance::run(&mean_variance::Arguments::parse_from(line))
            .expect("the plain mean and variance");
    }
    assert!(mean_variance::Arguments::try_parse_from(["mean_variance", "--column", "5"]).is_err());
}

#[test]
fn products_of_matrices_are_those_in_the_plain() {
    for size in ["4", "8"] {
        let size = ["--size", size];
        let line = ["matrix"].iter().chain(&SMALL).chain(&size);
        matrix::run(&matrix::Arguments::parse_from(line)).expect("the plain products");
    }
    assert!(matrix::Arguments::try_parse_from(["matrix", "--size", "3"]).is_err());
}

/// Four rows a ciphertext: two ciphertexts and minibatches, the last not full, and a bootstrapping
/// after three iterations.
#[test]
fn encrypted_training_follows_the_plain() {
    let line = ["--batch", "7", "--batches", "2", "--iterations", "4"];
    let line = ["helr"].iter().chain(&SMALL).chain(&line);
    helr::run(&helr::Arguments::parse_from(line)).expect("the plain weights");
    assert!(helr::Arguments::try_parse_from(["helr", "--batch", "0"]).is_err());
}

#[test]
fn plainly_written_training_follows_the_plain() {
    let line = ["logistic"].iter().chain(&SMALL).chain(&["--images", "5", "--iterations", "4"]);
    logistic::run(&logistic::Arguments::parse_from(line)).expect("the plain weights");
}

#[test]
fn encrypted_numbers_are_sorted() {
    let tasks = [
        &["--task", "sort", "--bits", "6"][..],
        &["--task", "median", "--bits", "6"],
        // A sign that is bootstrapped in between.
        &["--task", "top", "--largest", "1", "--bits", "13"],
    ];
    for task in tasks {
        let line = ["sort", "--numbers", "16"].iter().chain(&SMALL).chain(task);
        sort::run(&sort::Arguments::parse_from(line)).expect("the plain order");
    }
    for wrong in [&["--numbers", "12"][..], &["--task", "top", "--largest", "3"]] {
        let line = ["sort"].iter().chain(&SMALL).chain(wrong);
        let refused = sort::run(&sort::Arguments::parse_from(line)).expect_err("no power of two");
        assert!(refused.to_string().contains("a power of two"), "{refused}");
    }
}

/// The small network at the levels of CKKS_D35_30BIT_LOW: one image, of real slots, and five, of
/// which one fills a second ciphertext that becomes part of the first.
#[test]
fn encrypted_images_are_read_as_in_the_plain() {
    for count in ["1", "5"] {
        let line = ["resnet20", "--device", "cpu", "--images", count];
        resnet20::run(&resnet20::Arguments::parse_from(line)).expect("the plain labels");
    }
    for (wrong, why) in [
        (&["--full", "--set", "INSECURE_CKKS_D35_N10"][..], "16384 slots are needed"),
        (&["--set", "CKKS_N15_D40"], "no bootstrapping"),
        (&["--weights", "nowhere", "--pictures", "nowhere"], "nowhere"),
    ] {
        let line = ["resnet20", "--device", "cpu"].iter().chain(wrong);
        let refused = resnet20::run(&resnet20::Arguments::parse_from(line)).expect_err(why);
        assert!(refused.to_string().contains(why), "{refused}");
    }
    let line = ["resnet20", "--weights", "nowhere"];
    assert!(resnet20::Arguments::try_parse_from(line).is_err());
}

/// Two ciphertexts of four sequences, the last one missing.
#[test]
fn encrypted_sequences_are_read_as_in_the_plain() {
    let line = ["transformer", "--sequences", "7"];
    transformer::run(&transformer::Arguments::parse_from(line.iter().chain(&SMALL)))
        .expect("the plain labels");
    for (wrong, why) in [
        (&["--set", "CKKS_N15_D40"][..], "no bootstrapping"),
        (&["--set", "INSECURE_CKKS_D40_N4"], "INSECURE_CKKS_D40_N4"),
        (&["--weights", "nowhere", "--data", "nowhere"], "nowhere"),
    ] {
        let line = ["transformer", "--device", "cpu"].iter().chain(wrong);
        let refused = transformer::run(&transformer::Arguments::parse_from(line)).expect_err(why);
        assert!(refused.to_string().contains(why), "{refused}");
    }
    for wrong in [&["--weights", "nowhere"][..], &["--sequences", "0"]] {
        let line = ["transformer"].iter().chain(wrong);
        assert!(transformer::Arguments::try_parse_from(line).is_err());
    }
}

/// Two layers, so that one follows another.
#[test]
fn encrypted_tokens_are_encoded_as_in_the_plain() {
    let line = ["bert", "--layers", "2"];
    bert::run(&bert::Arguments::parse_from(line.iter().chain(&SMALL))).expect("the plain numbers");
    for (wrong, why) in [
        (&["--set", "CKKS_N15_D40"][..], "no bootstrapping"),
        (&["--set", "INSECURE_CKKS_D40_N11"], "slots"),
        (&["--weights", "nowhere", "--input", "nowhere"], "nowhere"),
    ] {
        let line = ["bert", "--device", "cpu"].iter().chain(wrong);
        let refused = bert::run(&bert::Arguments::parse_from(line)).expect_err(why);
        assert!(refused.to_string().contains(why), "{refused}");
    }
    for wrong in [&["--weights", "nowhere"][..], &["--layers", "0"]] {
        assert!(bert::Arguments::try_parse_from(["bert"].iter().chain(wrong)).is_err());
    }
}

#[test]
fn encrypted_numbers_are_compared_by_way_of_tfhe() {
    let tasks = [
        &["--values", "16"][..],
        &["--task", "argmax", "--values", "4"],
        &["--task", "lookup", "--tfhe-set", "INSECURE_TOY_TORUS"],
    ];
    let line = ["switching", "--task", "numbers", "--tfhe-set", "INSECURE_TOY_TORUS"];
    let line = line.iter().chain(&["--device", "cpu"]);
    switching::run(&switching::Arguments::parse_from(line)).expect("right squares");
    for task in tasks {
        let line = ["switching", "--log2-modulus", "16"].iter().chain(&SMALL).chain(task);
        switching::run(&switching::Arguments::parse_from(line)).expect("right signs");
    }
}
