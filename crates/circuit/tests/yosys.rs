//! A file that Yosys 0.23 wrote, made by
//! `yosys -p "read_verilog saturating.v; synth -top saturating; abc -g
//! AND,NAND,OR,NOR,XOR,XNOR,ANDNOT,ORNOT,MUX; opt_clean; setattr -unset src; setattr -mod -unset
//! src; write_json saturating.json"`.

use girih_circuit::{Circuit, Netlist};
use girih_tfhe::ParameterSet;

#[test]
fn a_synthesized_circuit_computes_what_its_source_says() {
    let netlist =
        Netlist::from_yosys(include_str!("yosys/saturating.json")).expect("Yosys wrote it");
    let names: Vec<_> = netlist
        .inputs()
        .iter()
        .chain(netlist.outputs())
        .map(|b| (b.name.as_str(), b.wires.len()))
        .collect();
    assert_eq!(names, [("a", 4), ("b", 4), ("subtract", 1), ("y", 4), ("clipped", 1)]);
    let circuit =
        Circuit::with_log2_failure(&netlist, &ParameterSet::default(), -64.0).expect("has inputs");
    assert!(circuit.bootstraps() < netlist.gate_count());
    for input in 0..1 << 9 {
        let (a, b, subtract) = (input & 15, input >> 4 & 15, input >> 8 == 1);
        let exact: i32 = if subtract { a - b } else { a + b };
        let (y, clipped) = (exact.clamp(0, 15), !(0..16).contains(&exact));
        let bits: Vec<bool> = (0..9).map(|i| input >> i & 1 == 1).collect();
        let mut want: Vec<bool> = (0..4).map(|i| y >> i & 1 == 1).collect();
        want.push(clipped);
        assert_eq!(netlist.evaluate(&bits).expect("nine bits"), want, "{a} {b} {subtract}");
        assert_eq!(circuit.simulate(&bits).expect("nine bits"), want, "{a} {b} {subtract}");
    }
}

/// Yosys 0.70 wrote it of a full adder of two half adders that prints a word: beside its gates
/// there are cells of the types `$scopeinfo` and `$print`.
#[test]
fn a_design_of_several_modules_computes_what_its_source_says() {
    let text = include_str!("yosys/full_adder.json");
    assert!(text.contains("$scopeinfo") && text.contains("$print"));
    let netlist = Netlist::from_yosys(text).expect("Yosys wrote it");
    for ones in 0..8u32 {
        let bits = [0, 1, 2].map(|i| ones >> i & 1 == 1);
        let sum = ones.count_ones();
        assert_eq!(netlist.evaluate(&bits).expect("three bits"), [sum & 1 == 1, sum >= 2]);
    }
}
