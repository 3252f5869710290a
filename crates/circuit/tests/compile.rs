//! Compilation of long chains: levels, and time that grows as the circuit does.

use girih_circuit::{Builder, Circuit, GateKind, Netlist, Wire};
use girih_tfhe::ParameterSet;
use std::time::{Duration, Instant};

fn compile(netlist: &Netlist) -> Circuit {
    Circuit::with_log2_failure(netlist, &ParameterSet::default(), -64.0).expect("has inputs")
}

/// One gate after the other, over all wires.
fn chain(kind: GateKind, width: usize) -> Netlist {
    let mut builder = Builder::new();
    let wires = builder.input("x", width);
    let last = wires[1..].iter().fold(wires[0], |all, &wire| builder.gate(kind, &[all, wire]));
    builder.output("y", &[last]);
    builder.finish().expect("an output")
}

/// Simulates a chain on inputs that are all equal, and all but one, which every input is once.
fn check(circuit: &Circuit, netlist: &Netlist) {
    let width = netlist.input_bits();
    for value in [false, true] {
        for odd in (0..=width).step_by(1.max(width / 20)) {
            let bits: Vec<bool> = (0..width).map(|i| (i == odd) != value).collect();
            let want = netlist.evaluate(&bits).expect("as many bits as inputs");
            assert_eq!(circuit.simulate(&bits).expect("as many bits as inputs"), want, "{odd}");
        }
    }
}

#[test]
fn chains_of_one_operation_become_trees() {
    use GateKind::{And, Nor, Or, Xnor, Xor};
    // NOR of NOR is no chain: an inverter stands between.
    for (kind, width, depth, bootstraps) in [
        (And, 64, 6, 63),
        (Or, 64, 6, 63),
        (And, 100, 7, 99),
        (Xor, 64, 3, 21),
        (Xnor, 64, 3, 21),
        (And, 3, 2, 2),
        (Nor, 9, 8, 8),
    ] {
        let netlist = chain(kind, width);
        let circuit = compile(&netlist);
        let got = (circuit.depth(), circuit.bootstraps());
        assert_eq!(got, (depth, bootstraps), "{kind:?} of {width}");
        check(&circuit, &netlist);
    }
    // What is ready late comes in last: a tree over all would be deeper.
    let mut builder = Builder::new();
    let (x, y) = (builder.input("x", 8), builder.input("y", 16));
    let late = x[1..].iter().fold(x[0], |all, &wire| builder.gate(Nor, &[all, wire]));
    let all = y.iter().fold(late, |all, &wire| builder.and(all, wire));
    builder.output("z", &[all]);
    let netlist = builder.finish().expect("an output");
    let circuit = compile(&netlist);
    assert_eq!((circuit.depth(), circuit.bootstraps()), (7, 23));
    check(&circuit, &netlist);
}

#[test]
fn parts_of_chains_that_others_read_stay() {
    let mut builder = Builder::new();
    let x = builder.input("x", 32);
    let mut parts: Vec<Wire> = vec![x[0]];
    for &wire in &x[1..] {
        parts.push(builder.and(parts[parts.len() - 1], wire));
    }
    builder.output("all", &parts);
    let netlist = builder.finish().expect("an output");
    let circuit = compile(&netlist);
    assert_eq!(circuit.bootstraps(), 31);
    check(&circuit, &netlist);
    // An operand twice, and one with its inverse.
    let mut builder = Builder::new();
    let x = builder.input("x", 12);
    let off = builder.not(x[3]);
    let all = x.iter().chain([&x[5]]).fold(x[0], |all, &wire| builder.and(all, wire));
    let none = x.iter().fold(off, |all, &wire| builder.and(all, wire));
    let pairs = x.iter().chain(&x[2..]).fold(off, |all, &wire| builder.xor(all, wire));
    let same = [x[4], x[6], x[6]].iter().fold(x[4], |all, &wire| builder.xor(all, wire));
    builder.output("y", &[all, none, pairs, same]);
    let netlist = builder.finish().expect("an output");
    let circuit = compile(&netlist);
    // Eleven ANDs, and the XOR of x0, x1 and x3.
    assert_eq!((circuit.depth(), circuit.bootstraps()), (4, 12));
    check(&circuit, &netlist);
}

/// The times of 2000 and of 16000 bits.
fn times(make: impl Fn(usize) -> Netlist) -> [Duration; 2] {
    [2_000, 16_000].map(|width| {
        let netlist = make(width);
        let start = Instant::now();
        let circuit = compile(&netlist);
        let time = start.elapsed();
        check(&circuit, &netlist);
        println!("{width}: {time:.2?}, {} levels", circuit.depth());
        time
    })
}

#[test]
fn compilation_takes_as_long_as_the_circuit_is() {
    // Trees, and a chain that cannot be one: majorities, as carries of a sum are.
    let carries = |width| {
        let mut builder = Builder::new();
        let (x, y) = (builder.input("x", width), builder.input("y", width));
        let start = builder.constant(false);
        let last = x.iter().zip(&y).fold(start, |c, (&x, &y)| builder.majority(x, y, c));
        builder.output("c", &[last]);
        builder.finish().expect("an output")
    };
    for [short, long] in [
        times(|width| chain(GateKind::And, width)),
        times(|width| chain(GateKind::Nor, width)),
        times(carries),
    ] {
        // Eight times as long, and more on a busy machine; what is quadratic takes 64 times as
        // long.
        let most = 30 * short.max(Duration::from_millis(20));
        assert!(long < most, "{long:?} for 16000 gates, {short:?} for 2000");
    }
}

/// `cargo test --release -p girih-circuit --test compile -- --ignored --nocapture`
#[test]
#[ignore = "prints times"]
fn times_of_long_chains() {
    for width in [16_000, 100_000] {
        for kind in [GateKind::And, GateKind::Xor, GateKind::Nor] {
            let netlist = chain(kind, width);
            let start = Instant::now();
            let circuit = compile(&netlist);
            let (time, depth, count) = (start.elapsed(), circuit.depth(), circuit.bootstraps());
            println!("{kind:?} of {width}: {time:.2?}, {count} bootstrappings, {depth} levels");
        }
    }
}
