//! Random netlists through the optimiser, and circuits on encrypted bits on the CPU.

use girih_backend::{LoadOptions, NoProgress, Progress};
use girih_circuit::{Builder, Circuit, EncryptedBits, GateKind, Netlist, generate};
use girih_cpu::CpuBackend;
use girih_tfhe::{ClientKey, EvaluationKeys, LweCiphertexts, ParameterSet, ServerKey};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

const KINDS: [GateKind; 14] = [
    GateKind::Zero,
    GateKind::One,
    GateKind::Buf,
    GateKind::Not,
    GateKind::And,
    GateKind::Nand,
    GateKind::Or,
    GateKind::Nor,
    GateKind::Xor,
    GateKind::Xnor,
    GateKind::AndNot,
    GateKind::OrNot,
    GateKind::Mux,
    GateKind::Majority,
];

/// Six inputs, gates of every kind on recent wires, so that cones are deep and share much.
fn netlist(gates: &[(u8, [u8; 3])], outputs: usize) -> Netlist {
    let mut builder = Builder::new();
    let mut wires = builder.input("x", 6);
    for &(kind, operands) in gates {
        let kind = KINDS[kind as usize % KINDS.len()];
        let operands =
            operands.map(|back| wires[wires.len() - 1 - back as usize % wires.len().min(12)]);
        wires.push(builder.gate(kind, &operands[..kind.arity()]));
    }
    builder.output("y", &wires[wires.len() - outputs.min(wires.len())..]);
    builder.finish().expect("an output")
}

fn gates() -> impl Strategy<Value = Vec<(u8, [u8; 3])>> {
    prop::collection::vec((any::<u8>(), any::<[u8; 3]>()), 1..120)
}

fn all_inputs() -> impl Iterator<Item = Vec<bool>> {
    (0..64u8).map(|pattern| (0..6).map(|i| pattern >> i & 1 == 1).collect())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    })]

    /// Every noise budget gives a program of the same function, and so does the exchange format;
    /// never with more bootstrappings than two-input gates need.
    #[test]
    fn programs_compute_what_netlists_say(
        gates in gates(),
        outputs in 1usize..5,
        log2_failure in prop_oneof![Just(-1.0), Just(-64.0), Just(-1e9)],
    ) {
        let netlist = netlist(&gates, outputs);
        let set = ParameterSet::default();
        let circuit =
            Circuit::with_log2_failure(&netlist, &set, log2_failure).expect("has inputs");
        let again = Netlist::from_bristol(&netlist.to_bristol()).expect("own output");
        for inputs in all_inputs() {
            let outputs = netlist.evaluate(&inputs).expect("six bits");
            prop_assert_eq!(&circuit.simulate(&inputs).expect("six bits"), &outputs);
            prop_assert_eq!(&again.evaluate(&inputs).expect("six bits"), &outputs);
        }
        let cost = |k| match k { GateKind::Mux => 3, GateKind::Majority => 4, _ => 1 };
        prop_assert!(circuit.bootstraps() <= netlist.gates().iter().map(|g| cost(g.kind)).sum());
        prop_assert!(circuit.peak_slots() <= circuit.bootstraps());
    }
}

#[test]
fn redundant_gates_cost_nothing() {
    let count = |make: &dyn Fn(&mut Builder, &[girih_circuit::Wire]) -> girih_circuit::Wire| {
        let mut builder = Builder::new();
        let x = builder.input("x", 4);
        let y = make(&mut builder, &x);
        builder.output("y", &[y]);
        let netlist = builder.finish().expect("an output");
        Circuit::with_log2_failure(&netlist, &ParameterSet::default(), -64.0)
            .expect("has inputs")
            .bootstraps()
    };
    // A chain of inverters, a constant, a wire that cancels, and a dead gate.
    assert_eq!(count(&|b, x| (0..9).fold(x[0], |w, _| b.not(w))), 0);
    assert_eq!(
        count(&|b, x| {
            let one = b.constant(true);
            let y = b.and(x[0], one);
            let n = b.not(y);
            b.and(y, n)
        }),
        0
    );
    assert_eq!(
        count(&|b, x| {
            let y = b.xor(x[0], x[1]);
            b.xor(y, x[1])
        }),
        0
    );
    assert_eq!(
        count(&|b, x| {
            b.and(x[2], x[3]);
            b.or(x[0], x[1])
        }),
        1
    );
    // Negated operands and results are free; four XORs and a majority are one bootstrapping each.
    assert_eq!(
        count(&|b, x| {
            let n = b.not(x[0]);
            let o = b.or(n, x[1]);
            b.not(o)
        }),
        1
    );
    assert_eq!(
        count(&|b, x| {
            let y = b.xor(x[0], x[1]);
            let z = b.xor(x[2], x[3]);
            b.xor(y, z)
        }),
        1
    );
    assert_eq!(
        count(&|b, x| {
            let y = b.xor(x[0], x[1]);
            let z = b.and(x[0], x[1]);
            let c = b.and(y, x[2]);
            b.or(z, c)
        }),
        1
    );
}

fn keys(set: &ParameterSet) -> (ClientKey, ServerKey) {
    let client = ClientKey::generate_seeded_for_tests(set, [21; 32]).expect("a set on prime words");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a set on prime words");
    let server = ServerKey::load(&CpuBackend::new(), &keys, &LoadOptions::default(), &NoProgress)
        .expect("the CPU runs every set");
    (client, server)
}

struct Count(AtomicUsize);

impl Progress for Count {
    fn report(&self, _: &str, done: usize, total: usize) {
        assert!(self.0.swap(done, Ordering::SeqCst) < done && done <= total);
    }
}

/// Every instance of a batch gets its own answer,
/// also where the batch does not fill its last ciphertext.
fn check(set: &ParameterSet, netlist: &Netlist, instances: usize, max_log2_failure: f64) {
    let (client, server) = keys(set);
    let circuit = Circuit::with_log2_failure(netlist, set, max_log2_failure).expect("has inputs");
    let bit = |instance: usize, bit: usize| ((instance * 2_654_435_761) >> (bit % 29)) & 1 == 1;
    let inputs: Vec<Vec<bool>> = (0..instances)
        .map(|i| (0..netlist.input_bits()).map(|b| bit(i + 1, b)).collect())
        .collect();
    let want: Vec<_> = inputs.iter().map(|i| netlist.evaluate(i).expect("enough bits")).collect();
    let encrypted = EncryptedBits::encrypt(&client, &inputs).expect("equal lengths");
    let progress = Count(AtomicUsize::new(0));
    let (outputs, report) = circuit.evaluate(&server, &encrypted, &progress).expect("runs");
    assert_eq!(outputs.decrypt(&client).expect("bits"), want, "{set}");
    assert_eq!(report.bootstraps, circuit.bootstraps() * instances.div_ceil(set.packing()));
    assert_eq!(report.bootstraps, report.levels.iter().map(|l| l.bootstraps).sum::<usize>());
    assert_eq!((report.bootstraps, report.depth), (progress.0.into_inner(), circuit.depth()));
    // Again on the device, from ciphertexts that stay there and are still whole.
    let resident = server.upload(encrypted.ciphertexts()).expect("fits");
    let (outputs, _) = circuit.evaluate_resident(&server, &resident, &NoProgress).expect("runs");
    let outputs =
        EncryptedBits::new(server.download(&outputs).expect("alive"), instances).expect("whole");
    assert_eq!(outputs.decrypt(&client).expect("bits"), want, "{set}");
    assert_eq!(server.download(&resident).expect("alive"), *encrypted.ciphertexts());
}

#[test]
fn encrypted_circuits_on_every_kind_of_set() {
    for (set, packing) in ParameterSet::insecure().iter().zip([1, 3, 2, 2, 1, 5, 1, 2]) {
        let set = set.with_packing(packing).expect("1 to 16");
        // Toys are noisy: two-input gates alone.
        check(&set, &generate::comparator(3), 7, -1000.0);
    }
}

/// All forms a bootstrapping can have, on a set with room for their noise.
#[test]
fn wide_forms_on_encrypted_bits() {
    let set = ParameterSet::by_name("INSECURE_TOY_WORDS2_R2").expect("built in");
    let mut builder = Builder::new();
    let x = builder.input("x", 4);
    let pairs = [builder.xor(x[0], x[1]), builder.xor(x[2], x[3])];
    let xor = builder.xor(pairs[0], pairs[1]);
    let majority = builder.majority(x[0], x[1], x[2]);
    let and = builder.gate(GateKind::AndNot, &[x[0], x[1]]);
    let fused = [builder.xor(and, x[2]), builder.xor(and, pairs[1]), builder.xor(majority, x[3])];
    let nots = [builder.not(x[3]), builder.not(majority)];
    let constants = [builder.constant(true), builder.constant(false)];
    builder.output("y", &[&[xor, majority, x[2], x[2]], &fused[..], &nots, &constants].concat());
    let netlist = builder.finish().expect("an output");
    let circuit = Circuit::with_log2_failure(&netlist, &set, -20.0).expect("has inputs");
    // Each of five functions is one bootstrapping on inputs.
    assert_eq!((circuit.bootstraps(), circuit.depth()), (5, 1));
    check(&set, &netlist, 8, -20.0);
    // What a set is held to unless told otherwise leaves fewer of them.
    let by_default = Circuit::new(&netlist, &set).expect("has inputs");
    let bound = Circuit::default_log2_failure(&set);
    assert!(by_default.bootstraps() >= 5 && by_default.log2_failure() <= bound + 4.0);
    check(&set, &netlist, 8, bound);
}

/// The default bound is 2^-128 where two-input gates reach it, with the error of the f64 transform,
/// and sums over bootstrappings; what has larger errors than a bootstrapping leaves is refused
/// where
/// it would go wrong more often.
#[test]
fn circuits_keep_to_the_bound_of_their_set() {
    let set = ParameterSet::default();
    assert_eq!(Circuit::default_log2_failure(&set), -128.0);
    let netlist = generate::adder(8, false);
    let [by_default, wider] = [-128.0, -64.0]
        .map(|bound| Circuit::with_log2_failure(&netlist, &set, bound).expect("has inputs"));
    let new = Circuit::new(&netlist, &set).expect("has inputs");
    assert_eq!(
        (new.bootstraps(), new.log2_failure()),
        (by_default.bootstraps(), by_default.log2_failure())
    );
    // Each of its bootstrappings fails with 2^-130.8.
    assert!(by_default.log2_failure() < -125.0 && by_default.bootstraps() > wider.bootstraps());
    // The f64 transform's error of G4 is in it.
    let g4 = ParameterSet::by_name("G4").expect("built in");
    let circuit = Circuit::with_log2_failure(&netlist, &g4, -200.0).expect("has inputs");
    let exact = girih_tfhe::NoiseModel::new(&g4).log2_failure();
    assert!(circuit.log2_failure() > exact + 10.0, "{} {exact}", circuit.log2_failure());

    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let (client, server) = keys(&set);
    let circuit = Circuit::new(&generate::adder(2, false), &set).expect("has inputs");
    let inputs = EncryptedBits::encrypt(&client, &[[true, false, true, true]]).expect("equal");
    circuit.evaluate(&server, &inputs, &NoProgress).expect("fresh");
    let noisy = inputs.ciphertexts().clone().with_variance(400.0).expect("a number");
    let noisy = EncryptedBits::new(noisy, 1).expect("whole");
    let text = circuit.evaluate(&server, &noisy, &NoProgress).expect_err("noisy").to_string();
    assert!(text.contains("larger errors than fresh or bootstrapped bits"), "{text}");
    // One ciphertext as both numbers' lowest bits; constants may be repeated.
    let [one, other] = [0..1, 1..2].map(|r| inputs.ciphertexts().slice(r).expect("inside"));
    let bits = |bits: [&LweCiphertexts; 4]| {
        EncryptedBits::new(LweCiphertexts::concatenate(&bits).expect("alike"), 1).expect("whole")
    };
    let twice = bits([&one, &other, &one, &other]);
    let text = circuit.evaluate(&server, &twice, &NoProgress).expect_err("twice").to_string();
    assert!(text.contains("two inputs which are one ciphertext"), "{text}");
    let zero = LweCiphertexts::trivial_bits(&set, &[false]).expect("whole");
    let (sum, _) = circuit
        .evaluate(&server, &bits([&one, &zero, &zero, &zero]), &NoProgress)
        .expect("constants have no error");
    assert_eq!(sum.decrypt(&client).expect("bits"), [[true, false, false]]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let set = ParameterSet::by_name("INSECURE_TOY_R2").expect("built in");
    let (client, server) = keys(&set);
    let message = |error: girih_circuit::Error| error.to_string();
    let circuit = Circuit::new(&generate::adder(2, false), &set).expect("has inputs");
    let short = EncryptedBits::encrypt(&client, &[[true; 3]]).expect("equal lengths");
    assert!(
        message(circuit.evaluate(&server, &short, &NoProgress).expect_err("3 bits"))
            .contains("3 encrypted bits for a circuit of 4")
    );
    let fitting = EncryptedBits::encrypt(&client, &[[true; 4]]).expect("equal lengths");
    let other =
        Circuit::new(&generate::adder(2, false), &ParameterSet::default()).expect("has inputs");
    assert!(
        message(other.evaluate(&server, &fitting, &NoProgress).expect_err("another set"))
            .contains("STD128")
    );
    let elsewhere = keys(&set).1.upload(fitting.ciphertexts()).expect("fits");
    assert!(
        message(
            circuit.evaluate_resident(&server, &elsewhere, &NoProgress).expect_err("another key")
        )
        .contains("another server key")
    );
    let stranger =
        ClientKey::generate_seeded_for_tests(&set, [99; 32]).expect("a set on prime words");
    let foreign = EncryptedBits::encrypt(&stranger, &[[true; 4]]).expect("equal lengths");
    let text =
        message(circuit.evaluate(&server, &foreign, &NoProgress).expect_err("another client"));
    assert!(
        [&stranger, &client]
            .iter()
            .all(|key| text.contains(&format!("client key {:.8}", key.key_id()))),
        "{text}"
    );
    let text = message(foreign.decrypt(&client).expect_err("another client"));
    assert!(text.contains(&format!("client key {:.8}", stranger.key_id())), "{text}");
    let unequal = [vec![true; 2], vec![true; 3]];
    assert!(
        message(EncryptedBits::encrypt(&client, &unequal).expect_err("unequal"))
            .contains("3 bits of instance 1: there must be 2")
    );
    assert!(
        message(EncryptedBits::encrypt(&client, &[[false; 0]; 2]).expect_err("no bit"))
            .contains("no instances of at least one bit")
    );
    assert!(
        message(EncryptedBits::new(fitting.ciphertexts().clone(), 5).expect_err("4 of 3 each"))
            .contains("must be a multiple of 3")
    );
    assert!(
        message(EncryptedBits::new(fitting.ciphertexts().clone(), 0).expect_err("none"))
            .contains("0 instances")
    );
    for bound in [0.0, f64::INFINITY, f64::NAN] {
        let refused = Circuit::with_log2_failure(&generate::adder(2, false), &set, bound)
            .expect_err("no log2 of a probability");
        assert!(message(refused).contains("below 0"), "{bound}");
    }
    let mut constant = Builder::new();
    let one = constant.constant(true);
    constant.output("y", &[one]);
    assert!(
        message(Circuit::new(&constant.finish().expect("an output"), &set).expect_err("no input"))
            .contains("no input bits of a circuit")
    );
}
