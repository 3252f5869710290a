//! Generated circuits against plain arithmetic, as netlists and as optimised programs.

use girih_circuit::{Builder, Circuit, Netlist, generate};
use girih_tfhe::ParameterSet;
use proptest::prelude::*;
use std::sync::LazyLock;

fn bits(value: u64, width: usize) -> Vec<bool> {
    (0..width).map(|i| value >> i & 1 == 1).collect()
}

fn number(bits: &[bool]) -> u64 {
    bits.iter().rev().fold(0, |n, &b| n << 1 | u64::from(b))
}

fn byte_bits(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().flat_map(|&b| bits(b.into(), 8)).collect()
}

fn bit_bytes(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8).map(|b| number(b) as u8).collect()
}

/// A netlist and its program for STD128, which must agree.
struct Both {
    netlist: Netlist,
    circuit: Circuit,
}

impl Both {
    fn new(name: &str, netlist: Netlist) -> Self {
        // A bound that admits every form.
        let circuit = Circuit::with_log2_failure(&netlist, &ParameterSet::default(), -64.0)
            .expect("has inputs");
        println!(
            "{name}: {} gates, {} bootstrappings, depth {}, {} slots, failure 2^{:.1}",
            netlist.gate_count(),
            circuit.bootstraps(),
            circuit.depth(),
            circuit.peak_slots(),
            circuit.log2_failure()
        );
        assert!(circuit.bootstraps() <= netlist.gate_count());
        Self { netlist, circuit }
    }

    fn run(&self, inputs: &[bool]) -> Vec<bool> {
        let outputs = self.netlist.evaluate(inputs).expect("as many bits as inputs");
        assert_eq!(self.circuit.simulate(inputs).expect("as many bits as inputs"), outputs);
        outputs
    }
}

static ADDERS: LazyLock<[Both; 2]> = LazyLock::new(|| {
    [
        Both::new("adder 32", generate::adder(32, false)),
        Both::new("fast adder 32", generate::adder(32, true)),
    ]
});
static COMPARATOR: LazyLock<Both> =
    LazyLock::new(|| Both::new("comparator 32", generate::comparator(32)));
static MULTIPLIER: LazyLock<Both> =
    LazyLock::new(|| Both::new("multiplier 32", generate::multiplier(32)));
static SORT: LazyLock<Both> =
    LazyLock::new(|| Both::new("sort 8 of 8 bits", generate::sorting_network(8, 8)));

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    })]

    #[test]
    fn arithmetic_of_32_bits(a: u32, b in prop_oneof![any::<u32>(), 0u32..4], equal: bool) {
        let b = if equal { a } else { b };
        let inputs = [bits(a.into(), 32), bits(b.into(), 32)].concat();
        for adder in ADDERS.iter() {
            prop_assert_eq!(number(&adder.run(&inputs)), u64::from(a) + u64::from(b));
        }
        prop_assert_eq!(COMPARATOR.run(&inputs), [a < b, a == b]);
        prop_assert_eq!(number(&MULTIPLIER.run(&inputs)), u64::from(a) * u64::from(b));
    }

    #[test]
    fn sorting(mut words: [u8; 8]) {
        let sorted = bit_bytes(&SORT.run(&byte_bits(&words)));
        words.sort_unstable();
        prop_assert_eq!(sorted, words);
    }
}

#[test]
fn every_small_width() {
    for width in 1..=4 {
        let circuits = [
            Both::new("adder", generate::adder(width, false)),
            Both::new("fast adder", generate::adder(width, true)),
            Both::new("comparator", generate::comparator(width)),
            Both::new("multiplier", generate::multiplier(width)),
        ];
        for input in 0..1u64 << (2 * width) {
            let (a, b) = (input & ((1 << width) - 1), input >> width);
            let [sum, fast, compared, product] =
                circuits.each_ref().map(|c| number(&c.run(&bits(input, 2 * width))));
            assert_eq!((sum, fast, product), (a + b, a + b, a * b));
            assert_eq!(compared, u64::from(a < b) | u64::from(a == b) << 1);
        }
    }
}

#[test]
fn sorting_networks_of_any_size_sort_every_pattern() {
    // A network that sorts all sequences of bits sorts everything.
    for count in 1..=9 {
        let network = Both::new("sort", generate::sorting_network(count, 1));
        for pattern in 0..1u64 << count {
            let ones = pattern.count_ones() as usize;
            assert_eq!(
                number(&network.run(&bits(pattern, count))),
                ((1 << ones) - 1) << (count - ones)
            );
        }
    }
}

/// Product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
fn field_product(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        product ^= if b & 1 == 1 { a } else { 0 };
        a = a << 1 ^ if a & 0x80 != 0 { 0x1B } else { 0 };
        b >>= 1;
    }
    product
}

#[test]
fn the_s_box_is_inversion_and_an_affine_map() {
    let mut builder = Builder::new();
    let x = builder.input("x", 8);
    let y = generate::s_box(&mut builder, &x);
    builder.output("y", &y);
    let s_box = Both::new("s-box", builder.finish().expect("an output"));
    assert_eq!(s_box.netlist.gate_count(), 115);
    for x in 0..=255u8 {
        // FIPS 197, section 5.1.1; zero is its own inverse.
        let inverse = (0..=255).find(|&y| field_product(x, y) == 1).unwrap_or(0);
        let affine = (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn));
        assert_eq!(bit_bytes(&s_box.run(&bits(x.into(), 8))), [affine], "S({x})");
    }
}

fn block(hex: &str) -> Vec<bool> {
    let bytes: Vec<u8> =
        (0..16).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex")).collect();
    byte_bits(&bytes)
}

#[test]
fn aes_128_gives_the_vectors_of_fips_197() {
    let appendix_b = ("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734");
    let appendix_c = ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff");
    // Rounds run, inputs, and the state after them: the start of the next round, or the ciphertext.
    let cases = [
        (1, appendix_b, "a49c7ff2689f352b6b5bea43026a5049"),
        (2, appendix_b, "aa8f5f0361dde3ef82d24ad26832469a"),
        (10, appendix_b, "3925841d02dc09fbdc118597196a0b32"),
        (1, appendix_c, "89d810e8855ace682d1843d8cb128fe4"),
        (10, appendix_c, "69c4e0d86a7b0430d8cdb78070b4c55a"),
    ];
    for (rounds, (key, plaintext), state) in cases {
        let whole = Both::new(&format!("aes {rounds}"), generate::aes128(rounds));
        assert_eq!(
            whole.run(&[block(key), block(plaintext)].concat()),
            block(state),
            "{rounds} rounds"
        );
        let schedule = Both::new("key schedule", generate::aes128_key_schedule(rounds));
        let expanded = Both::new("expanded", generate::aes128_expanded(rounds));
        assert_eq!(
            expanded.run(&[schedule.run(&block(key)), block(plaintext)].concat()),
            block(state),
            "{rounds} rounds"
        );
    }
}

#[test]
fn aes_128_survives_bristol_fashion() {
    let netlist = generate::aes128(10);
    assert!(netlist.gate_count() <= 36_000, "{} gates", netlist.gate_count());
    let read = Netlist::from_bristol(&netlist.to_bristol()).expect("own output");
    assert_eq!((read.input_bits(), read.output_bits()), (256, 128));
    let inputs =
        [block("000102030405060708090a0b0c0d0e0f"), block("00112233445566778899aabbccddeeff")]
            .concat();
    assert_eq!(
        read.evaluate(&inputs).expect("256 bits"),
        block("69c4e0d86a7b0430d8cdb78070b4c55a")
    );
    // The same functions, so the same bootstrappings.
    let set = ParameterSet::default();
    let count = |netlist| Circuit::new(netlist, &set).expect("has inputs").bootstraps();
    assert_eq!(count(&read), count(&netlist));
}
