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
        ("<0 : i32", "<-1 : i32", 3, "without gates = a list of numbers"),
        ("<0 : i32", "<\"and\"", 3, "without gates = a list of numbers"),
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
        ("cggi.and %a, %b", "cggi.lut2 %a, %b <lookup_table = 1.5>", 11, "without lookup_table"),
        ("%g = cggi", "%b = cggi", 11, "%b is defined twice"),
        ("cggi.and %a, %b :", "cggi.and %a, %b", 11, "`!ct` where `:` should be"),
        ("[%c-1, %i]", "[%i, %i]", 10, "index 1 of %p where there are 1"),
        ("[%c-1, %i]", "[%a, %i]", 10, "%a is encrypted here"),
        ("[%c-1, %i]", "[%i]", 10, "index 1 of %p"),
        ("[%c-1, %i]", "[%c-1]", 10, "`]` where `,` should be"),
        ("extract %p[%c-1, %i]", "extract %a[%i]", 10, "%a is no tensor of bits"),
        ("constant 1 : index", "constant dense<1> : index", 8, "is `dense`"),
        ("constant 1 : index", "constant 99999999999999999999 : index", 8, "is `9999"),
        ("{value = 1 : i1}", "{value = 2 : i1}", 13, "cggi.create_trivial of 2, not of a bit"),
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
