use super::*;

fn expand(text: &str) -> Result<String> {
    let constants = HashMap::from([
        ("N".to_string(), Value::Int(3)),
        ("NAME".to_string(), Value::Text("x".into())),
    ]);
    let functions = |name: &str, arguments: &[i128]| (name == "twice").then(|| 2 * arguments[0]);
    let sources = [("main", text), ("other", "other ${N}")];
    Expander::new(
        &sources,
        constants,
        &functions,
        Lazy::new(&[97], crate::runtime::numbers::Numbers::Unsigned { coarse: false }),
    )
    .expand("main")
    .map(|(text, constants)| text + &constants)
}

#[test]
fn directives_do_what_the_readme_says() {
    for (text, want) in [
        ("a ${N * 2 + 1} ${NAME}", "a 7 x\n"),
        ("for i in 0..N {\nv_{i}\n}", "v_0\nv_1\nv_2\n"),
        ("for i in 0..2, j in i..2: v_{i}_{j};", "v_0_0;\nv_0_1;\nv_1_1;\n"),
        ("  for i in 0..max(1, 2): v_{i} =\n    ${i};", "v_0 =\n    0;\nv_1 =\n    1;\n"),
        ("inline fn f(a) {\nif (x) {\n${a}\n}\n}\nfor i in 0..1: f(i);", "if (x) {\n0\n}\n"),
        ("for i in 0..5 step 2: v_{i};", "v_0;\nv_2;\nv_4;\n"),
        ("for i in 0..5 if i % 3 == 1: v_{i};", "v_1;\nv_4;\n"),
        ("g(a,\n    b_{N});\nc", "g(a,\n    b_3);\nc\n"),
        ("#if N == 3 && !0\nyes\n#else\nno\n#end", "yes\n"),
        ("#if N < 3\na\n#elif N % 2 == 1\nb\n#end", "b\n"),
        ("#include other", "other 3\n"),
        ("inline fn f(a, b) {\n${a}:${b + 1}\n}\nf(y, 4);", "y:5\n"),
        ("K := 1\nfor i in 0..4 {\nK := 9\n}\n${K}", "1\n"),
        ("${twice(1 << 5)} ${(7 - 9) / 2} ${-N}", "64 -1 -3\n"),
        ("let x: lane<200> = 1;\n${@x}", "let x = 1;\n200\n"),
        ("bound(x_0, 3);\nbound(x_1, 5);\njoin(x);\n${@x_0} ${@x}", "5 5\n"),
        ("bound(x, 3);\nmay_hold(all, x);\n${@all}", "3\n"),
        ("let x: sum<1 << 40> = 1;\n${@x}", "let x = 1;\n1099511627776\n"),
        ("x = N; // M", "x = N; // M\nconst N = 3u;\n"),
        ("// x_{i} of ${N}", "// x_{i} of 3\n"),
        ("const C = ${N + 1}u;\nC", "C\nconst C = 4u;\n"),
        ("const W = ${twiddle(0, N + 1)};\nW", "W\nconst W = vec2<u32>(4u, 177112053u);\n"),
        ("const W = ${words(1 << 33)};", "const W = vec2<u32>(0u, 2u);\n"),
        ("${V_{N - 3}}\n", ""),
    ] {
        let got = expand(text);
        match want {
            "" => assert!(got.is_err(), "{text}"),
            _ => assert_eq!(got.as_deref(), Ok(want), "{text}"),
        }
    }
}

#[test]
fn mistakes_are_named() {
    for (text, what) in [
        ("${M}", "no constant called M"),
        ("${1 +}", "unexpected end"),
        ("${1 / 0}", "division by zero"),
        ("for i in 0..2 {\nx", "missing }"),
        ("for i in 0..2 step 0: x;", "step of i must be positive"),
        ("for i in 0..2, j: x;", "for NAME in from..to"),
        ("inline fn f(a) {\n}\nf(1, 2);", "takes 1 arguments"),
        ("#if N\nx", "missing #elif, #else or #end"),
        ("#nothing", "unexpected directive #nothing"),
        ("#include missing", "no shader source called missing"),
        ("reduce(0, x, 97);", "no bound is known of x"),
        ("reduce(0, x);", "wrong arguments"),
        ("let x: lane<4 = 1;", "lane<bound> = .."),
        ("${unclosed", "unclosed"),
    ] {
        let error = expand(text).expect_err(text);
        assert!(error.contains(what), "{text}: {error}");
    }
}
