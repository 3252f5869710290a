//! Programs that HEIR (`heir_py` 2026.10.1) wrote of `heir/source.mlir`, by
//! `heir-opt --mlir-to-cggi="data-type=Bool mode=Boolean"` and the modes `LUT3` and `LUT4`; then by
//! `--boolean-vectorize=parallelism=4` (`packed_`) and `--straight-line-vectorize` (`straight_`).

use girih_circuit::{Circuit, Error, Netlist};
use girih_tfhe::ParameterSet;

/// What the source says, on a, b, c and negate, lowest bits first.
fn balance(input: u32) -> Vec<bool> {
    let [a, b, c] = [0, 4, 8].map(|place| input >> place & 15);
    let left = (a + b).wrapping_sub(c);
    let signed = if input >> 12 == 1 { left.wrapping_neg() } else { left };
    let bit = |value: u32, i: u32| value >> i & 1 == 1;
    let mut out: Vec<bool> = (0..4).map(|i| bit(signed, i)).collect();
    // With signs: the highest bit of four weighs -8.
    out.push(a ^ 8 < c ^ 8);
    out.extend((0..4).map(|i| bit(a & 6, i)));
    out
}

#[test]
fn programs_of_heir_compute_what_their_source_says() {
    let modes = [
        ("Boolean", include_str!("heir/boolean.mlir")),
        ("LUT3", include_str!("heir/lut3.mlir")),
        ("LUT4", include_str!("heir/lut4.mlir")),
        ("Boolean, packed", include_str!("heir/packed_boolean.mlir")),
        ("LUT3, packed", include_str!("heir/packed_lut3.mlir")),
        ("Boolean, straight", include_str!("heir/straight_boolean.mlir")),
        ("LUT3, straight", include_str!("heir/straight_lut3.mlir")),
    ];
    for (mode, text) in modes {
        let netlist = Netlist::from_heir(text, None).expect("HEIR wrote it");
        assert_eq!(netlist, Netlist::from_heir(text, Some("balance")).expect("its name"));
        let buses = netlist.inputs().iter().chain(netlist.outputs());
        let names: Vec<_> = buses.map(|b| (b.name.as_str(), b.wires.len())).collect();
        assert_eq!(names, [("in0", 12), ("in1", 1), ("out0", 4), ("out1", 1), ("out2", 4)]);
        let circuit = Circuit::with_log2_failure(&netlist, &ParameterSet::default(), -64.0)
            .expect("has inputs");
        // Three-input tables are not worth more bootstrappings than gates of two inputs.
        assert!(circuit.bootstraps() <= 40, "{mode}: {} bootstrappings", circuit.bootstraps());
        for input in 0..1 << 13 {
            let bits: Vec<bool> = (0..13).map(|i| input >> i & 1 == 1).collect();
            let want = balance(input);
            assert_eq!(netlist.evaluate(&bits).expect("13 bits"), want, "{mode} {input:013b}");
            assert_eq!(circuit.simulate(&bits).expect("13 bits"), want, "{mode} {input:013b}");
        }
    }
}

#[test]
fn every_table_is_read_highest_operand_first() {
    for table in 0..256u32 {
        let text = format!(
            "!ct = !lwe.lwe_ciphertext<key = #k>\n\
             func.func @f(%a: !ct, %b: !ct, %c: !ct) -> !ct {{\n\
             %0 = cggi.lut3 %a, %b, %c {{lookup_table = {table} : ui8}} : !ct\n\
             return %0 : !ct\n}}\n"
        );
        let netlist = Netlist::from_heir(&text, None).expect("well formed");
        for index in 0..8u32 {
            let bits = [2, 1, 0].map(|i| index >> i & 1 == 1);
            let want = table >> index & 1 == 1;
            assert_eq!(netlist.evaluate(&bits).expect("three bits"), [want], "{table} {index}");
        }
    }
}

/// A function of three bits, with that operation on them.
fn of_three_bits(operation: &str) -> girih_circuit::Result<Netlist> {
    let text = format!(
        "\u{feff}!ct = !lwe.lwe_ciphertext<key = #k>\n\
         func.func @f(%a: !ct, %b: !ct, %c: !ct) -> !ct {{\n\
         %0 = {operation} : !ct\n\
         return %0 : !ct\n}}\n"
    );
    Netlist::from_heir(&text, None)
}

/// What a circuit of three bits gives for 0 to 7, the first bit the lowest, as bits of a number.
fn outputs(netlist: &Netlist) -> u32 {
    let bits = |index: u32| [0, 1, 2].map(|i| index >> i & 1 == 1);
    (0..8).map(|i| u32::from(netlist.evaluate(&bits(i)).expect("three bits")[0]) << i).sum()
}

#[test]
fn numbers_are_read_to_their_end() {
    let spellings = ["232 : ui8", "0xE8 : ui8", "0x00e8", "232", "-24 : i8", "232 : i8"];
    for spelling in spellings {
        let text = format!("cggi.lut3 %a, %b, %c {{x = [1, 2], lookup_table = {spelling}}}");
        let netlist = of_three_bits(&text).expect(spelling);
        // A majority, whatever the order of its bits.
        assert_eq!(outputs(&netlist), 232, "{spelling}");
    }
    for (spelling, value) in [("0x1 : i1", 255), ("true", 255), ("-1 : i1", 255), ("0x0", 0)] {
        let text = format!("cggi.create_trivial {{value = {spelling}}}");
        assert_eq!(outputs(&of_three_bits(&text).expect(spelling)), value, "{spelling}");
    }
    for (spelling, why) in [
        ("2e1", "lookup_table is `2e1`, not a whole number"),
        ("0xG8 : ui8", "lookup_table is `0xG8 : ui8`, not a whole number"),
        ("0x", "lookup_table is `0x`, not a whole number"),
        ("23_2", "lookup_table is `23_2`, not a whole number"),
        ("1.5e-3 : f32", "lookup_table is `1.5e-3 : f32`, not a whole number"),
        ("2 3 2", "lookup_table is `2 3 2`, not one whole number"),
        ("232 : i8 : i8", "not one whole number"),
        ("-true", "lookup_table is `- true`, not a whole number"),
        ("-24 : ui8", "which ui8 does not have"),
        ("-24", "a table of 8 bits cannot be -24"),
        ("232 : si8", "which si8 does not have"),
        ("1 : i65", "whole numbers have the types"),
        ("1 : tensor<1xi8>", "not one whole number"),
        ("[232]", "not one whole number"),
        ("1, lookup_table = 2", "attribute lookup_table is given twice"),
        ("", "lookup_table is ``, not one whole number"),
    ] {
        let text = format!("cggi.lut3 %a, %b, %c {{lookup_table = {spelling}}}");
        let message = of_three_bits(&text).expect_err(spelling).to_string();
        assert!(message.contains(why), "{spelling}: {message}");
    }
    let unnamed = "cggi.lut3 %a, %b, %c {lookup_table : 5 = 232}";
    let message = of_three_bits(unnamed).expect_err("not a name alone").to_string();
    assert!(message.contains("`:` behind the name of an attribute"), "{message}");
}

#[test]
fn tables_of_sums_of_bits() {
    // What HEIR 2026 makes of a full adder, and coefficients that are no powers of two.
    type Sum = fn([u32; 3]) -> u32;
    let cases: [(&str, &str, Sum); 4] = [
        ("array<i32: 1, 2, 4>", "150 : index", |[a, b, c]| 150 >> (a + 2 * b + 4 * c)),
        ("array<i32: 1, 1, 1>", "0xC : ui8", |[a, b, c]| 0xC >> (a + b + c)),
        ("[3 : i32, 0, 6]", "66", |[a, _, c]| 66 >> (3 * a + 6 * c)),
        ("array<i32: 3, -1, 2>", "-86 : i8", |[a, b, c]| 0xAA >> (3 * a + 2 * c - b)),
    ];
    for (coefficients, table, sum) in cases {
        let text = format!(
            "cggi.lut_lincomb %a, %b, %c \
             {{coefficients = {coefficients}, lookup_table = {table}}}"
        );
        let netlist = match of_three_bits(&text) {
            Ok(netlist) => netlist,
            // b alone would make the sum negative.
            Err(error) if coefficients.contains('-') => {
                assert!(error.to_string().contains("add up to -1, where"), "{error}");
                continue;
            }
            Err(error) => panic!("{text}: {error}"),
        };
        for index in 0..8 {
            let bits = [0, 1, 2].map(|i| index >> i & 1);
            let got = netlist.evaluate(&bits.map(|bit| bit == 1)).expect("three bits");
            assert_eq!(got, [sum(bits) & 1 == 1], "{text} {index}");
        }
    }
    let one = of_three_bits("cggi.lut_lincomb %b {coefficients = [1], lookup_table = 1}");
    assert_eq!(outputs(&one.expect("NOT of one bit")), 0b0011_0011);
    let nine = ["%a"; 9].join(", ");
    for (text, why) in [
        ("%a, %b {coefficients = [1, 8], lookup_table = 3 : i8}", "add up to 8, where the table"),
        ("%a, %b {coefficients = [1], lookup_table = 3}", "of 2 bits has 1 coefficients"),
        ("%a, %b {coefficients = 1, lookup_table = 3}", "coefficients is `1`, not a list"),
        ("%a, %b {coefficients = array<i32: 1 : i8, 2>, lookup_table = 3}", "not one whole"),
        ("%a, %b {lookup_table = 3}", "without coefficients = a list of numbers"),
        ("%a, %b {coefficients = [1, 2]}", "without lookup_table = a number"),
        (&format!("{nine} {{coefficients = [], lookup_table = 3}}"), "of 9 bits; at most 8"),
    ] {
        let message = of_three_bits(&format!("cggi.lut_lincomb {text}")).expect_err(text);
        assert!(message.to_string().contains(why), "{text}: {message}");
    }
}

/// Modules in each other, a function that is declared only and one in the clear, a comment, a
/// constant, tensors in and out.
const EVERYTHING: &str = r#"!ct = !lwe.lwe_ciphertext<a = 1 -> 2>
module {
  module @inner attributes {x = "}"} {
    func.func private @declared(tensor<2x!lwe.lwe_ciphertext<a = <b>>>) -> i8
    func.func @plain(%x: i8) -> (i8 {y = 1 : i8}) { return %x : i8 }
    func.func @f(%p: tensor<1x2x!ct> {z = 2 : i8}) -> (!ct, tensor<2x!ct>) { // %q
      %c-1 = arith.constant 0 : index
      %i = arith.constant 1 : index
      %a = tensor.extract %p[%c-1, %c-1] : tensor<1x2x!ct>
      %b = tensor.extract %p[%c-1, %i] : tensor<1x2x!ct>
      %g = cggi.GATE %a, %b : !ct
      %m = cggi.cmux %a, %g, %b : (!ct, !ct, !ct) -> !ct
      %t = cggi.create_trivial {value = 1 : i1} : () -> !ct
      %o = tensor.from_elements %m, %t : tensor<2x!ct>
      return %g, %o : !ct, tensor<2x!ct>
    }
  }
}
"#;

#[test]
fn every_gate_computes_what_its_name_says() {
    type Function = fn(bool, bool) -> bool;
    let gates: [(&str, Function); 6] = [
        ("and", |a, b| a && b),
        ("nand", |a, b| !(a && b)),
        ("or", |a, b| a || b),
        ("nor", |a, b| !(a || b)),
        ("xor", |a, b| a ^ b),
        ("xnor", |a, b| a == b),
    ];
    for (name, function) in gates {
        let text = EVERYTHING.replace("GATE", name);
        let netlist = Netlist::from_heir(&text, None).expect("well formed");
        for index in 0..4 {
            let [a, b] = [0, 1].map(|i| index >> i & 1 == 1);
            let g = function(a, b);
            let want = [g, if a { g } else { b }, true];
            assert_eq!(netlist.evaluate(&[a, b]).expect("two bits"), want, "{name} {a} {b}");
        }
    }
}

/// Gates on tensors, both ways in which HEIR has written their lists.
const TENSORS: &str = r#"!ct = !lwe.lwe_ciphertext<a = 1>
func.func @f(%x: tensor<2x3x!ct>, %y: tensor<2x3x!ct>, %z: !ct) -> (tensor<2x3x!ct>, !ct) {
  %p = cggi.packed_gates %x, %y <gates = <0 : i32, 1, 2 : i8, 3, 4, 5>> : (a, a) -> a
  %n = cggi.not %p : tensor<2x3x!ct>
  %l = cggi.packed_lut3 %x, %y, %n {lookup_tables = [150 : ui8, 0, 1, 128 : ui8, 8, 9]} : a
  %i = arith.constant 1 : index
  %e = tensor.extract %l[%i, %i] : tensor<2x3x!ct>
  %o = cggi.and %e, %z : !ct
  return %l, %o : tensor<2x3x!ct>, !ct
}
"#;

#[test]
fn gates_on_tensors_are_those_of_their_places() {
    let netlist = Netlist::from_heir(TENSORS, None).expect("well formed");
    let gates: [fn(bool, bool) -> bool; 6] = [
        |a, b| a && b,
        |a, b| !(a && b),
        |a, b| a || b,
        |a, b| !(a || b),
        |a, b| a ^ b,
        |a, b| a == b,
    ];
    for input in 0..1u32 << 13 {
        let bits: Vec<bool> = (0..13).map(|i| input >> i & 1 == 1).collect();
        let mut want: Vec<bool> = (0..6)
            .map(|i| {
                let (x, y) = (bits[i], bits[6 + i]);
                let index = u32::from(x) << 2 | u32::from(y) << 1 | u32::from(!gates[i](x, y));
                [150u32, 0, 1, 128, 8, 9][i] >> index & 1 == 1
            })
            .collect();
        want.push(want[4] && bits[12]);
        assert_eq!(netlist.evaluate(&bits).expect("13 bits"), want, "{input:013b}");
    }
    for (from, to, line, why) in [
        ("packed_gates %x, %y", "packed_gates %x, %z", 3, "%z is of shape [] beside [2, 3]"),
        ("packed_gates %x, %y", "packed_gates %x", 3, "cggi.packed_gates of 1 bits, not 2"),
        ("packed_gates %x, %y", "packed_gates %x, %y, %x", 3, "of 3 bits, not 2"),
        ("<0 : i32", "<6 : i32", 3, "packed gates are 0 to 5, not 6"),
        ("<0 : i32", "<-1 : i32", 3, "packed gates are 0 to 5, not -1"),
        ("<0 : i32", "<\"and\"", 3, "a number of gates is `\\\"and\\\"`, not a whole number"),
        ("gates = <0", "gates = #g<0", 3, "gates is `#g < 0"),
        ("<0 : i32, 1", "<1", 3, "of 6 bits has 5 gates"),
        ("gates = <0", "gate = <0", 3, "without gates = a list of numbers"),
        ("8, 9]", "8, 256]", 5, "a table of 8 bits cannot be 256"),
        ("8, 9]", "8]", 5, "of 6 bits has 5 lookup_tables"),
        ("cggi.not %p", "cggi.not %i", 4, "%i is not defined above"),
        ("cggi.and %e, %z", "cggi.and %i, %z", 8, "%i is no encrypted bit"),
        ("extract %l[%i, %i]", "extract %l[%i, %e]", 7, "%e is not defined above"),
    ] {
        assert!(TENSORS.contains(from), "{from}");
        match Netlist::from_heir(&TENSORS.replacen(from, to, 1), None) {
            Err(Error::Heir { line: at, why: message }) => {
                assert!(at == line && message.contains(why), "{from} -> {to}: {at}: {message}");
            }
            other => panic!("{from} -> {to} gave {other:?}"),
        }
    }
    // Gates on tensors may be many more than the text has words.
    let text = "!ct = !lwe.lwe_ciphertext<a = 1>\n\
                func.func @f(%x: tensor<1000000x!ct>) -> !ct {\n\
                %y = cggi.not %x : !ct\n%z = cggi.not %y : !ct\nreturn %z : !ct\n}\n";
    let large = Netlist::from_heir(text, None).expect_err("two million gates");
    assert!(large.to_string().contains("more than 1048576 gates on tensors"), "{large}");
    for end in 0..TENSORS.trim_end().len() {
        assert!(Netlist::from_heir(&TENSORS[..end], None).is_err(), "cut at {end}");
    }
}

#[test]
fn each_fault_of_a_program_is_refused_on_its_line() {
    let good = EVERYTHING.replace("GATE", "and");
    let cases = [
        ("cggi.and %a", "cggi.add %a", 11, "operation `cggi.add`: there are cggi.and"),
        ("cggi.and %a, %b", "scf.for %a", 11, "loops and branches are not read"),
        ("cggi.and %a, %b", "func.call @f(%a)", 11, "calls are not read"),
        ("cggi.and %a, %b", "memref.load %a", 11, "memory is not read"),
        ("cggi.and %a, %b", "tfhe_rust.add %a", 11, "already one of another library"),
        ("%g = cggi.and %a, %b", "affine.yield", 11, "operation `affine.yield`: loops"),
        ("%g = cggi.and", "%g:2 = cggi.and", 11, "%g is several values"),
        ("cggi.and %a, %b", "cggi.and %a", 11, "cggi.and of 1 bits, not 2"),
        ("cggi.and %a, %b", "cggi.not %a, %b", 11, "cggi.not of 2 bits, not 1"),
        ("cggi.and %a, %b", "cggi.and %a, %h", 11, "%h is not defined above"),
        ("cggi.and %a, %b", "cggi.and %a, %i", 11, "%i is no encrypted bit"),
        ("cggi.and %a, %b", "cggi.and %a, %p", 11, "%p is of shape [1, 2] beside []"),
        ("cggi.and %a, %b", "cggi.lut2 %a, %b", 11, "without lookup_table = a number"),
        ("cggi.and %a, %b", "cggi.lut2 %a, %b <lookup_table = 16 : ui8>", 11, "cannot be 16"),
        ("cggi.and %a, %b", "cggi.lut2 %a, %b <lookup_table = 1.5>", 11, "is `1.5`, not a"),
        ("%g = cggi", "%b = cggi", 11, "%b is defined twice"),
        ("cggi.and %a, %b :", "cggi.and %a, %b", 11, "`!ct` where `:` should be"),
        ("[%c-1, %i]", "[%i, %i]", 10, "index 1 of %p where there are 1"),
        ("[%c-1, %i]", "[%a, %i]", 10, "%a is encrypted here"),
        ("[%c-1, %i]", "[%i]", 10, "index 1 of %p"),
        ("[%c-1, %i]", "[%c-1]", 10, "`]` where `,` should be"),
        ("extract %p[%c-1, %i]", "extract %a[%i]", 10, "%a is no tensor of bits"),
        ("constant 1 : index", "constant dense<1> : index", 8, "is `dense`"),
        ("constant 1 : index", "constant 2e1 : index", 8, "is `2e1 : index`, not a whole number"),
        ("constant 1 : index", "constant 1.0 : f32", 8, "is `1.0 : f32`, not a whole number"),
        ("constant 1 : index", "constant 1 : f32", 8, "is `1 : f32`: whole numbers have the types"),
        ("constant 1 : index", "constant 256 : i8", 8, "is `256 : i8`, which i8 does not have"),
        ("constant 1 : index", "constant -1 : ui8", 8, "is `- 1 : ui8`, which ui8 does not have"),
        ("constant 1 : index", "constant +1 : index", 8, "is `+`"),
        ("(!ct, tensor<2x!ct>) {", "(!ct, tensor<2x!ct)> {", 6, "`<` of line 6 is closed by `)`"),
        ("!ct = !lwe.lwe_ciphertext<", "!ct = !lwe.lwe_ciphertexts<", 18, "no function on"),
        ("constant 1 : index", "constant 99999999999999999999 : index", 8, "is `9999"),
        ("{value = 1 : i1}", "{value = 2 : i1}", 13, "value is `2 : i1`, which i1 does not have"),
        ("{value = 1 : i1}", "{value = 2 : i2}", 13, "cggi.create_trivial of 2, not of a bit"),
        ("from_elements %m, %t", "from_elements %m", 14, "1 bits for a tensor of [2]"),
        ("%t : tensor<2x!ct>", "%t : tensor<2xi8>", 14, "`tensor<2xi8>` is no tensor of bits"),
        ("return %g, %o", "return %g, %i", 15, "result 1, %i, is not encrypted"),
        ("return %g, %o : !ct, tensor<2x!ct>", "return", 15, "nothing is returned"),
        ("      return %g, %o : !ct, tensor<2x!ct>\n", "", 15, "ends without `return`"),
        ("(%p: tensor<1x2x!ct>", "(%k: i8, %p: tensor<1x2x!ct>", 6, "mark it {secret.secret}"),
        ("%p: tensor<1x2x!ct>", "%p: tensor<0x2x!ct>", 6, "no or more than 1048576 bits"),
        ("%p: tensor<1x2x!ct>", "%p: tensor<4294967296x4294967296x!ct>", 6, "no or more than"),
        ("%p: tensor<1x2x!ct>", "%p: memref<1x2x!ct>", 18, "no function on ciphertexts"),
        ("func.func @plain(%x: i8)", "func.func @plain(%x: !ct)", 18, "say which of plain, f"),
        ("  module @inner", "  \"builtin.module\"() @inner", 3, "generic form"),
        ("  module @inner", "  gpu.module @inner", 3, "`gpu.module` where a function"),
        ("  }\n}\n", "  }\n", 17, "the text ends inside a module"),
        ("    }\n  }\n}\n", "", 6, "`{` is never closed"),
        ("x = \"}\"", "x = \"}", 3, "a string without an end"),
    ];
    for (from, to, line, why) in cases {
        assert!(good.contains(from), "{from}");
        match Netlist::from_heir(&good.replacen(from, to, 1), None) {
            Err(Error::Heir { line: at, why: message }) => {
                assert!(at == line && message.contains(why), "{from} -> {to}: {at}: {message}");
            }
            other => panic!("{from} -> {to} gave {other:?}"),
        }
    }
    let absent = Netlist::from_heir(&good, Some("g")).expect_err("there is none");
    assert!(absent.to_string().contains("no function `g`; there are plain, f"), "{absent}");
    for text in ["", "module", "module {", "func.func", "!ct", "!ct =", "%a = ", "<<<<", "@\""] {
        assert!(Netlist::from_heir(text, None).is_err(), "{text}");
    }
    for end in 0..good.trim_end().len() {
        assert!(Netlist::from_heir(&good[..end], None).is_err(), "cut at {end}");
    }
    assert!(Netlist::from_heir(&"<".repeat(100_000), None).is_err());
    // A tensor that is returned again and again takes more memory than the text.
    let again = format!("return {} : !ct", ["%p"; 3].join(", "));
    let text = good.replace("1x2x", "1x1000000x").replace("return %g, %o : !ct", &again);
    let large = Netlist::from_heir(&text, None).expect_err("two million bits");
    assert!(large.to_string().contains("more than 1048576 output bits"), "{large}");
}
