//! Circuits on numbers in slots: against the netlists that they were made of, without keys and on
//! a CPU.

use girih_backend::NoProgress;
use girih_circuit::{
    Builder, GateKind, Netlist, WideBits, WideCircuit, WideOptions, Wire, generate,
};
use girih_cpu::CpuBackend;
use girih_discrete::{ClientKey, DiscreteParameters, EvaluationKeys, ServerKey};

const SETS: [&str; 3] = ["DISCRETE_1", "DISCRETE_4", "DISCRETE_4_FINE"];

fn set(name: &str) -> DiscreteParameters {
    DiscreteParameters::by_name(name).expect("built in")
}

/// Reproducible bits.
fn bits(count: usize, seed: u64) -> Vec<bool> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 33 & 1 == 1
    };
    (0..count).map(|_| next()).collect()
}

/// Compiles for a set and compares the look-ups with the netlist on plain bits.
fn check(name: &str, netlist: &Netlist) -> WideCircuit {
    let circuit = WideCircuit::new(netlist, &set(name)).expect("has inputs");
    for seed in 0..20 {
        let inputs = match seed {
            0 => vec![false; netlist.input_bits()],
            1 => vec![true; netlist.input_bits()],
            _ => bits(netlist.input_bits(), seed),
        };
        let want = netlist.evaluate(&inputs).expect("as many bits as inputs");
        assert_eq!(circuit.simulate(&inputs).expect("as many bits as inputs"), want, "{name}");
    }
    assert!(circuit.log2_failure() < -115.0, "{name}: {}", circuit.log2_failure());
    circuit
}

/// A random netlist of every kind of gate.
fn random(inputs: usize, gates: usize, seed: u64) -> Netlist {
    use GateKind::{
        And, AndNot, Buf, Majority, Mux, Nand, Nor, Not, One, Or, OrNot, Xnor, Xor, Zero,
    };
    const KINDS: [GateKind; 16] = [
        And, AndNot, Buf, Majority, Mux, Nand, Nor, Not, One, Or, OrNot, Xnor, Xor, Zero, Xor, Xor,
    ];
    let choices = bits(64 * gates, seed);
    let at = choices.chunks(64).map(|bits| bits.iter().fold(0u64, |n, &b| n << 1 | u64::from(b)));
    let mut builder = Builder::new();
    let mut wires = builder.input("x", inputs);
    for word in at {
        let kind = KINDS[word as usize % 16];
        let pick = |i: u64| {
            // Mostly what was made last.
            let back = (word >> (8 + 16 * i)) as usize % (2 * inputs);
            wires[wires.len() - 1 - back.min(wires.len() - 1)]
        };
        let operands: Vec<Wire> = (0..kind.arity() as u64).map(pick).collect();
        wires.push(builder.gate(kind, &operands));
    }
    let from = wires.len() - inputs.min(wires.len());
    builder.output("y", &wires[from..]);
    builder.finish().expect("an output")
}

#[test]
fn look_ups_compute_what_netlists_say() {
    for name in SETS {
        for seed in 0..12 {
            check(name, &random(4 + seed as usize, 200, seed));
        }
        for netlist in [
            generate::adder(16, true),
            generate::comparator(16),
            generate::multiplier(6),
            generate::sorting_network(4, 4),
            Netlist::from_yosys(include_str!("yosys/saturating.json")).expect("Yosys wrote it"),
            Netlist::from_yosys(include_str!("yosys/full_adder.json")).expect("Yosys wrote it"),
        ] {
            let circuit = check(name, &netlist);
            println!(
                "{name}: {} gates, {} look-ups of {} tables, {} kinds, {} levels",
                circuit.gates(),
                circuit.lookups(),
                circuit.tables(),
                circuit.kinds(),
                circuit.depth()
            );
            assert!(circuit.lookups() <= 2 * netlist.gate_count(), "{name}");
        }
    }
}

/// A block of FIPS 197, appendix C.1, bytes lowest bit first.
fn block(bytes: u128) -> Vec<bool> {
    bytes.to_be_bytes().iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1)).collect()
}

#[test]
fn aes_takes_as_few_look_ups_as_was_counted() {
    let key = block(0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f);
    let plain = block(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    let keys = generate::aes128_key_schedule(10).evaluate(&key).expect("a key");
    for (name, netlist, most) in [
        ("DISCRETE_4", generate::aes128_expanded(10), 14_000),
        ("DISCRETE_4_FINE", generate::aes128_expanded(10), 8_000),
        ("DISCRETE_1", generate::aes128_expanded(10), 28_000),
    ] {
        let start = std::time::Instant::now();
        let circuit = WideCircuit::new(&netlist, &set(name)).expect("has inputs");
        println!(
            "{name}: {:?}, {} look-ups of {} tables, {} kinds, {} levels, {} ciphertexts, 2^{:.1}",
            start.elapsed(),
            circuit.lookups(),
            circuit.tables(),
            circuit.kinds(),
            circuit.depth(),
            circuit.peak_ciphertexts(&WideOptions::default()).expect("no limit"),
            circuit.log2_failure()
        );
        assert!(circuit.lookups() <= most, "{name}: {}", circuit.lookups());
        let found = circuit.simulate(&[keys.clone(), plain.clone()].concat()).expect("bits");
        assert_eq!(found, block(0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a), "{name}");
    }
}

#[test]
fn long_xors_are_sums() {
    let mut builder = Builder::new();
    let x = builder.input("x", 200);
    let all = x[1..].iter().fold(x[0], |all, &wire| builder.xor(all, wire));
    let not = builder.not(all);
    // What is there twice is gone, and what is left is one input.
    let back = x[1..].iter().fold(all, |all, &wire| builder.xor(all, wire));
    builder.output("y", &[all, not, back]);
    let netlist = builder.finish().expect("outputs");
    let counts = SETS.map(|name| check(name, &netlist).lookups());
    assert!(counts[0] <= 400 && counts[1] <= 30, "{counts:?}");
}

struct Place {
    client: ClientKey,
    server: ServerKey,
}

fn place(name: &str) -> Place {
    let client = ClientKey::generate_seeded_for_tests(&set(name), [3; 32]).expect("a key");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("keys");
    let server =
        ServerKey::load(&CpuBackend::new(), &keys, &Default::default(), &NoProgress).expect("fits");
    Place { client, server }
}

impl Place {
    /// Runs a netlist on random instances, encrypted.
    fn check(&self, netlist: &Netlist, options: &WideOptions) -> usize {
        let circuit = WideCircuit::new(netlist, self.server.set()).expect("has inputs");
        let instances: Vec<Vec<bool>> =
            (0..300).map(|i| bits(netlist.input_bits(), 1000 + i)).collect();
        let inputs = WideBits::encrypt(&self.client, &instances).expect("bits");
        let (outputs, report) =
            circuit.evaluate(&self.server, &inputs, options, &NoProgress).expect("within limits");
        let found = outputs.decrypt(&self.client).expect("this client's");
        for (input, found) in instances.iter().zip(&found) {
            assert_eq!(netlist.evaluate(input).expect("bits"), *found);
        }
        let levels: usize = report.levels.iter().map(|level| level.lookups).sum();
        assert_eq!((levels, report.instances), (circuit.lookups(), 300));
        report.peak_ciphertexts
    }
}

#[test]
fn encrypted_circuits_are_right() {
    for name in ["INSECURE_DISCRETE_1_N10", "INSECURE_DISCRETE_4_N10"] {
        let place = place(name);
        let most = place.check(&generate::comparator(4), &WideOptions::default());
        // Constants, copies and inverted outputs.
        let mut builder = Builder::new();
        let x = builder.input("x", 3);
        let (one, not) = (builder.constant(true), builder.not(x[0]));
        let nand = builder.gate(GateKind::Nand, &[x[1], x[2]]);
        builder.output("y", &[one, not, x[2], nand]);
        let netlist = builder.finish().expect("outputs");
        place.check(&netlist, &WideOptions::default());
        let yosys = Netlist::from_yosys(include_str!("yosys/full_adder.json")).expect("Yosys");
        place.check(&yosys, &WideOptions::default().with_batch(1));
        assert!(most > 8);
    }
}

#[test]
fn memory_is_kept_to() {
    let netlist = generate::multiplier(8);
    let set = set("DISCRETE_4");
    let circuit = WideCircuit::new(&netlist, &set).expect("has inputs");
    let bytes = 8 * 3 * 32_768;
    let peak = |most: Option<u64>| {
        let options = WideOptions::default();
        circuit.peak_ciphertexts(&most.map_or(options, |most| options.with_most_bytes(most)))
    };
    let free = peak(None).expect("no limit");
    assert_eq!(peak(Some(free as u64 * bytes)).expect("as much as it takes"), free);
    let less = peak(Some((free as u64 - 1) * bytes)).expect("another order");
    assert!(less < free, "{less} of {free}");
    let none = peak(Some(20 * bytes)).expect_err("16 inputs and 16 outputs").to_string();
    assert!(none.contains("20 wires of this set") && none.contains("16 of them inputs"), "{none}");
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let place = place("INSECURE_DISCRETE_1_N10");
    let of = place.server.set();
    let circuit = WideCircuit::new(&generate::adder(2, false), of).expect("has inputs");
    let run = |circuit: &WideCircuit, inputs: &WideBits, batch: usize| {
        let options = WideOptions::default().with_batch(batch);
        circuit.evaluate(&place.server, inputs, &options, &NoProgress).expect_err("").to_string()
    };
    let three = WideBits::encrypt(&place.client, &[[true; 3]]).expect("bits");
    assert!(run(&circuit, &three, 8).contains("3 encrypted bits for a circuit of 4"));
    let four = WideBits::encrypt(&place.client, &[[true; 4]]).expect("bits");
    assert!(run(&circuit, &four, 0).contains("no look-ups of a batch"));
    let other = WideCircuit::new(&generate::adder(2, false), &set("DISCRETE_4")).expect("inputs");
    assert!(run(&other, &four, 8).contains("and the circuit is for DISCRETE_4"));
    let refused = |instances: &[Vec<bool>]| {
        WideBits::encrypt(&place.client, instances).expect_err("refused").to_string()
    };
    assert!(refused(&[]).contains("no instances"));
    assert!(refused(&[vec![]]).contains("at least one bit"));
    assert!(refused(&[vec![true], vec![]]).contains("no bits of instance 1"));
    assert!(refused(&vec![vec![true]; 1025]).contains("there must be 1 to 1024"));
    let digits = place.client.encrypt_batch(&[[3u32], [2]], 4).expect("numbers");
    let digits = WideBits::new(digits).expect_err("no bits").to_string();
    assert!(digits.contains("numbers from 0 to 3"), "{digits}");
    let netlist = generate::multiplier(4);
    for log2 in [1.0, 0.0, f64::NAN, -300.0] {
        assert!(WideCircuit::with_log2_failure(&netlist, of, log2).is_err(), "{log2}");
    }
}
