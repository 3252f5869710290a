//! Netlists that are damaged or lie are refused, each with its place, and none by a panic.

use girih_circuit::{Error, Netlist, generate};
use proptest::prelude::*;

const FULL_ADDER: &str = "5 8\n3 1 1 1\n2 1 1\n\n2 1 0 1 3 XOR\n2 1 0 1 4 AND\n2 1 3 2 5 AND\n2 1 \
                          3 2 6 XOR\n2 1 4 5 7 XOR\n";

/// The line and the reason.
fn refused(text: &str) -> (usize, String) {
    match Netlist::from_bristol(text) {
        Err(Error::Bristol { line, why }) => (line, why),
        other => panic!("{text:?} gave {other:?}"),
    }
}

#[test]
fn the_formats_own_gates_are_read() {
    let adder = Netlist::from_bristol(FULL_ADDER).expect("well formed");
    for ones in 0..8u8 {
        let inputs = [0, 1, 2].map(|i| ones >> i & 1 == 1);
        assert_eq!(
            adder.evaluate(&inputs).expect("three bits"),
            [ones.count_ones() % 2 == 1, ones.count_ones() >= 2]
        );
    }
    // EQ, EQW, INV and a MAND of two pairs.
    let all = "4 9\n1 4\n2 2 3\n1 1 1 5 EQ\n1 1 0 4 EQW\n4 2 0 1 2 3 6 7 MAND\n1 1 6 8 INV\n"
        .replace("2 2 3", "1 5");
    let netlist = Netlist::from_bristol(&all).expect("well formed");
    assert_eq!(
        netlist.evaluate(&[true, true, true, false]).expect("four bits"),
        [true, true, true, false, false]
    );
    // Copies and constants are no gates.
    assert_eq!(netlist.gate_count(), 3);
}

#[test]
fn the_older_format_and_a_byte_order_mark_are_read() {
    let newer = Netlist::from_bristol(FULL_ADDER).expect("well formed");
    let older = |widths: &str| FULL_ADDER.replace("3 1 1 1\n2 1 1\n", widths);
    for (text, inputs) in [
        (older("2 1   2\n"), vec![2, 1]),
        (older("3 0 2\r\n"), vec![3]),
        (format!("\u{feff}{}", older("2 1   2\n\n\n")), vec![2, 1]),
        (format!("\u{feff}{FULL_ADDER}"), vec![1, 1, 1]),
    ] {
        let netlist = Netlist::from_bristol(&text).expect("well formed");
        let widths: Vec<_> = netlist.inputs().iter().map(|bus| bus.wires.len()).collect();
        assert_eq!(widths, inputs);
        for ones in 0..8u8 {
            let bits = [0, 1, 2].map(|i| ones >> i & 1 == 1);
            let want = newer.evaluate(&bits).expect("three bits");
            assert_eq!(netlist.evaluate(&bits).expect("three bits"), want, "{text}");
        }
    }
    let marked = format!("\u{feff}{YOSYS}");
    assert_eq!(Netlist::from_yosys(&marked).ok(), Netlist::from_yosys(YOSYS).ok());
}

#[test]
fn each_lie_is_refused_on_its_line() {
    let cases: &[(&str, &str, usize, &str)] = &[
        ("5 8", "5", 1, "two numbers"),
        ("5 8", "five 8", 1, "`five`, not a number"),
        ("5 8", "5 99999999999", 1, "not a number below 2^32"),
        ("5 8", "4 8", 9, "one more line"),
        ("5 8", "6 8", 9, "ends after 5 of 6"),
        ("5 8", "4294967295 8", 9, "ends after 5 of 4294967295"),
        ("5 8", "5 9", 1, "9 wires are announced, inputs and gates drive 8"),
        ("5 8", "5 4294967295", 1, "4294967295 wires are announced"),
        ("5 8", "5 7", 9, "wire 7 is driven and there are 7 wires"),
        ("3 1 1 1", "3 1 1", 2, "3 inputs are announced and 2 widths given"),
        ("3 1 1 1", "3 1 1 9", 2, "the inputs have 11 wires, the circuit only 8"),
        ("3 1 1 1", "4294967295 1 1 1", 2, "4294967295 inputs are announced"),
        ("2 1 1\n", "2 1\n", 3, "2 outputs are announced and 1 widths given"),
        ("2 1 1\n", "2 5 4\n", 3, "the outputs have 9 wires"),
        (
            "3 1 1 1\n2 1 1\n",
            "3 1 1 1\n",
            2,
            "gates follow `3 1 1 1`: either the widths of outputs",
        ),
        ("3 1 1 1\n2 1 1\n", "8 1 2\n", 2, "the inputs have 9 wires, the circuit only 8"),
        ("3 1 1 1\n2 1 1\n", "2 1 9\n", 2, "the outputs have 9 wires, the circuit only 8"),
        ("3 1 1 1\n2 1 1\n", "2 x 1\n", 2, "a width is `x`, not a number"),
        ("2 1 1\n", "0\n", 1, "no output"),
        ("0 1 3 XOR", "0 1 3 NAND", 5, "no gate `NAND`"),
        ("0 1 3 XOR", "0 1 3", 5, "no gate `3`"),
        ("0 1 3 XOR", "0 -1 3 XOR", 5, "`-1`, not a number"),
        ("0 1 3 XOR", "0 +1 3 XOR", 5, "`+1`, not a number"),
        ("2 1 0 1 3 XOR", "2 1 0 1 XOR", 5, "2 + 1 wires are announced and 2 given"),
        ("2 1 0 1 3 XOR", "3 1 0 1 2 3 XOR", 5, "XOR cannot read 3 wires and drive 1"),
        ("2 1 0 1 3 XOR", "4294967295 1 0 1 3 MAND", 5, "MAND cannot"),
        ("2 1 0 1 3 XOR", "2 0 0 1 MAND", 5, "MAND cannot"),
        ("2 1 0 1 3 XOR", "0 0 MAND", 5, "MAND cannot"),
        ("2 1 0 1 3 XOR", "1 1 2 3 EQ", 5, "EQ takes the constant 0 or 1"),
        ("2 1 0 1 3 XOR", "XOR", 5, "`XOR` is no gate"),
        ("0 1 4 AND", "0 8 4 AND", 6, "operand 8: there are 8 wires"),
        ("0 1 4 AND", "0 1 3 AND", 6, "wire 3 is driven here and on line 5"),
        ("0 1 4 AND", "0 1 2 AND", 6, "wire 2 is an input"),
        ("0 1 4 AND", "0 4 4 AND", 6, "wire 4 is driven only on line 6: a cycle"),
        (
            "0 1 4 AND",
            "0 7 4 AND",
            6,
            "wire 7 is driven only on line 9: a cycle, or gates out of order",
        ),
    ];
    for (from, to, line, why) in cases {
        assert!(FULL_ADDER.contains(from), "{from}");
        let (at, message) = refused(&FULL_ADDER.replacen(from, to, 1));
        assert!(at == *line && message.contains(why), "{from} -> {to}: line {at}: {message}");
    }
    assert_eq!(refused("").0, 1);
    assert_eq!(refused("0 1\n\n1 1\n"), (4, "the file ends before the widths of outputs".into()));
    let huge = format!("0 {0}\n1 {0}\n1 {0}\n", u32::MAX);
    assert!(refused(&huge).1.contains("at most 1048576 can be read"));
}

#[test]
fn every_truncation_is_refused() {
    for end in 0..FULL_ADDER.trim_end().len() {
        // Cut inside the last name or just before it.
        refused(&FULL_ADDER[..end]);
    }
}

const YOSYS: &str = r#"{"creator": "Yosys", "modules": {"mux": {"attributes": {"top": "1"},
 "ports": {"s": {"direction": "input", "bits": [2]}, "ab": {"direction": "input", "bits": [3, 4]},
  "y": {"direction": "output", "bits": [9, "1"]}},
 "cells": {
  "$last": {"type": "$_OR_", "connections": {"A": [7], "B": [8], "Y": [9]}},
  "$one": {"type": "$_AND_", "connections": {"A": [2], "B": [3], "Y": [7]}},
  "$two": {"type": "$_ANDNOT_", "connections": {"A": [4], "B": [2], "Y": [8]}}},
 "netnames": {"$hidden": {"bits": [9]}, "wide": {"bits": ["x", 9]}}}}}"#;

#[test]
fn yosys_cells_are_read_in_any_order() {
    let netlist = Netlist::from_yosys(YOSYS).expect("well formed");
    let names: Vec<_> = netlist.inputs().iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["s", "ab"]);
    for input in 0..8u8 {
        let [s, a, b] = [0, 1, 2].map(|i| input >> i & 1 == 1);
        assert_eq!(
            netlist.evaluate(&[s, a, b]).expect("three bits"),
            [if s { a } else { b }, true]
        );
    }
}

#[test]
fn yosys_cells_that_drive_nothing_are_left_out() {
    let without = Netlist::from_yosys(YOSYS).expect("well formed");
    for cell in [
        // As `flatten` of Yosys 0.49 and above leaves one for each module.
        r#"{"type": "$scopeinfo", "port_directions": {}, "connections": {}}"#,
        r#"{"type": "$print", "connections": {"ARGS": [2, "x"], "EN": ["1"], "TRG": []}}"#,
        r#"{"type": "$check", "connections": {"A": [9], "EN": ["1"], "ARGS": [], "TRG": []}}"#,
        r#"{"type": "$assert", "connections": {"A": [99], "EN": ["1"]}}"#,
        r#"{"type": "logger", "port_directions": {"a": "input"}, "connections": {"a": [2, 3]}}"#,
    ] {
        let text = YOSYS.replacen(r#""$one":"#, &format!(r#""extra": {cell}, "$one":"#), 1);
        assert_eq!(Netlist::from_yosys(&text).expect(cell), without, "{cell}");
        // What it drives may matter.
        let driving = r#"{"type": "logger", "port_directions": {"a": "input", "y": "output"},
            "connections": {"a": [2], "y": []}}"#;
        let text = text.replacen(cell, driving, 1);
        let refused = Netlist::from_yosys(&text).expect_err("it has an output").to_string();
        assert!(refused.contains("`logger`: an instance of another module"), "{refused}");
    }
}

#[test]
fn every_yosys_cell_computes_what_yosys_says() {
    type Function = fn(bool, bool, bool) -> bool;
    let cells: [(&str, Function); 11] = [
        ("$_BUF_", |a, _, _| a),
        ("$_NOT_", |a, _, _| !a),
        ("$_AND_", |a, b, _| a && b),
        ("$_NAND_", |a, b, _| !(a && b)),
        ("$_OR_", |a, b, _| a || b),
        ("$_NOR_", |a, b, _| !(a || b)),
        ("$_XOR_", |a, b, _| a ^ b),
        ("$_XNOR_", |a, b, _| !(a ^ b)),
        ("$_ANDNOT_", |a, b, _| a && !b),
        ("$_ORNOT_", |a, b, _| a || !b),
        ("$_MUX_", |a, b, s| if s { b } else { a }),
    ];
    for (cell, function) in cells {
        let ports = match cell {
            "$_BUF_" | "$_NOT_" => r#""A": [2]"#,
            "$_MUX_" => r#""A": [2], "B": [3], "S": [4]"#,
            _ => r#""A": [2], "B": [3]"#,
        };
        let text = format!(
            r#"{{"modules": {{"m": {{"ports": {{
                "x": {{"direction": "input", "bits": [2, 3, 4]}},
                "y": {{"direction": "output", "bits": [5]}}}},
            "cells": {{"c": {{"type": "{cell}", "connections": {{{ports}, "Y": [5]}}}}}}}}}}}}"#
        );
        let netlist = Netlist::from_yosys(&text).expect("well formed");
        let again = Netlist::from_bristol(&netlist.to_bristol()).expect("own output");
        for input in 0..8u8 {
            let bits = [0, 1, 2].map(|i| input >> i & 1 == 1);
            let want = [function(bits[0], bits[1], bits[2])];
            assert_eq!(netlist.evaluate(&bits).expect("three bits"), want, "{cell}");
            assert_eq!(
                again.evaluate(&bits).expect("three bits"),
                want,
                "{cell} in Bristol Fashion"
            );
        }
    }
}

#[test]
fn each_yosys_fault_is_refused_by_name() {
    let cases = [
        ("$_OR_", "$_DFF_P_", "cell `$last`, `wide`", "`$_DFF_P_`: a flip-flop, which a clock"),
        ("$_OR_", "$_SDFFCE_PP0P_", "cell `$last`", "a flip-flop"),
        ("$_OR_", "$_DLATCH_P_", "cell `$last`", "a latch"),
        ("$_OR_", "$_SR_PP_", "cell `$last`", "a latch"),
        ("$_OR_", "$mem_v2", "cell `$last`", "a memory"),
        ("$_OR_", "$_TBUF_", "cell `$last`", "tri-state"),
        ("$_OR_", "$add", "cell `$last`", "abc -g simple; opt_clean"),
        ("$_OR_", "half_adder", "cell `$last`", "an instance of another module"),
        (r#""A": [7]"#, r#""A": [9]"#, "cell `$last`", "part of a cycle"),
        (r#""A": [7]"#, r#""A": [77]"#, "cell `$last`", "net 77 is not driven"),
        (r#""A": [7]"#, r#""A": ["x"]"#, "cell `$last`", "`x`: it has no driver"),
        (r#""A": [7]"#, r#""A": [7, 8]"#, "cell `$last`", "port A has 2 bits"),
        (r#""A": [7], "#, "", "cell `$last`", "port A is not connected"),
        (r#""A": [7]"#, r#""C": [3], "A": [7]"#, "cell `$last`", "no port `C`"),
        (r#""Y": [8]"#, r#""Y": [7]"#, "cell `$two`", "net 7 is driven here and by cell `$one`"),
        (r#""Y": [8]"#, r#""Y": [2]"#, "cell `$two`", "net 2 is driven here and by an input port"),
        (r#""Y": [8]"#, r#""Y": ["0"]"#, "cell `$two`", "drives the constant `0`"),
        ("[3, 4]", "[3, 3]", "port `ab`", "net 3 is driven twice"),
        ("[3, 4]", r#"[3, "0"]"#, "port `ab`", "a constant"),
        (r#"[9, "1"]"#, r#"[9, "x"]"#, "port `y`, bit 1", "it has no driver"),
        (r#"[9, "1"]"#, r#"[9, "z"]"#, "port `y`, bit 1", "a bit is `z`"),
        (r#"[9, "1"]"#, "[9, 99]", "port `y`", "net 99 is not driven"),
        (r#"[9, "1"]"#, "[]", "module `mux`", "no output"),
        (r#""output""#, r#""inout""#, "port `y`", "direction `inout`"),
        (r#""ab":"#, r#""s":"#, "module `mux`", "2 buses with the name `s`"),
        (r#""cells": {"#, r#""cells": ["#, "line 4 column", "expected an object"),
        (
            r#""modules": {"#,
            r#""modules": {"other": {}, "third": {"attributes": {"top": 1}},"#,
            "modules",
            "2 candidates for the top module, third, mux: mark one",
        ),
        (
            r#"{"top": "1"}"#,
            r#"{}}, "other": {"attributes": {"top": "00"}"#,
            "modules",
            "mux, other",
        ),
        (r#"{"mux": {"attributes""#, r#"{}, "m": {"mux": {"attributes""#, "modules", "no module"),
    ];
    for (from, to, place, why) in cases {
        assert!(YOSYS.contains(from), "{from}");
        match Netlist::from_yosys(&YOSYS.replacen(from, to, 1)) {
            Err(Error::Yosys { place: at, why: message }) => {
                assert!(
                    at.starts_with(place) && message.contains(why),
                    "{from} -> {to}: {at}: {message}"
                );
            }
            other => panic!("{from} -> {to} gave {other:?}"),
        }
    }
    assert!(Netlist::from_yosys(&"[".repeat(100_000)).is_err());
}

/// Replaces, removes, doubles or swaps tokens of `text`, or cuts it.
fn damage(text: &str, edits: &[(usize, usize, u8)]) -> String {
    let mut tokens: Vec<&str> = text.split_inclusive([' ', '\n', ',']).collect();
    for &(at, from, what) in edits {
        if tokens.is_empty() {
            break;
        }
        let (at, from) = (at % tokens.len(), from % tokens.len());
        match what % 5 {
            0 => tokens[at] = tokens[from],
            1 => drop(tokens.remove(at)),
            2 => tokens.insert(at, tokens[from]),
            3 => {
                tokens[at] =
                    ["4294967295 ", "0 ", "x ", "\u{3a9} ", "\n", "-7 ", "1e9 ", "\"0\""][from % 8]
            }
            _ => tokens.truncate(at.max(tokens.len() / 2)),
        }
    }
    tokens.concat()
}

fn edits() -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
    prop::collection::vec((any::<usize>(), any::<usize>(), any::<u8>()), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2000)
    })]

    /// What is still read after damage is a netlist: it runs and comes back from its own text.
    #[test]
    fn damaged_bristol_files_never_panic(edits in edits(), large: bool) {
        let text = if large { generate::comparator(4).to_bristol() } else { FULL_ADDER.to_owned() };
        if let Ok(netlist) = Netlist::from_bristol(&damage(&text, &edits)) {
            let inputs = vec![true; netlist.input_bits()];
            let again = Netlist::from_bristol(&netlist.to_bristol()).expect("own output");
            let [one, other] =
                [&netlist, &again].map(|n| n.evaluate(&inputs).expect("enough bits"));
            prop_assert_eq!(one, other);
        }
    }

    #[test]
    fn damaged_yosys_files_never_panic(edits in edits()) {
        if let Ok(netlist) = Netlist::from_yosys(&damage(YOSYS, &edits)) {
            prop_assert!(netlist.evaluate(&vec![true; netlist.input_bits()]).is_ok());
        }
    }

    #[test]
    fn damaged_programs_of_heir_never_panic(edits in edits()) {
        let text = damage(include_str!("heir/lut3.mlir"), &edits);
        if let Ok(netlist) = Netlist::from_heir(&text, None) {
            prop_assert!(netlist.evaluate(&vec![true; netlist.input_bits()]).is_ok());
        }
    }

    #[test]
    fn any_text_is_refused_or_read(
        text in "[0-9 \nANDXORINVEQWM]{0,80}",
        other in any::<String>(),
    ) {
        let _ = (Netlist::from_bristol(&text), Netlist::from_bristol(&other));
        let _ = Netlist::from_yosys(&other);
        let _ = Netlist::from_heir(&other, None);
    }
}
