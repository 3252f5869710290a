//! Reads the machine code of what is computed of secrets: no division, no call, and no jump but
//! back to a loop's start, as often as public numbers say.

#![cfg(target_arch = "x86_64")]

use std::path::Path;
use std::process::Command;

/// Functions that stand for every use: moduli are arguments, so that nothing is folded away.
const WRAPPERS: &str = r#"
#[no_mangle] pub fn probe_reduce_small(x: i32, p: u32) -> u32 { constant_time::reduce_small(x, p) }
#[no_mangle] pub fn probe_subtract_once(x: u32, p: u32) -> u32 {
    constant_time::subtract_once(x, p)
}
#[no_mangle] pub fn probe_centre(x: u64, p: u64) -> i64 { constant_time::centre(x, p) }
#[no_mangle] pub fn probe_equal_mask(a: i64, b: i64) -> u64 { constant_time::equal_mask(a, b) }
#[no_mangle] pub fn probe_switch_from_power(x: u64, to: u64) -> u64 {
    constant_time::switch_from_power(x, 11, to)
}
#[no_mangle] pub fn probe_switch_from_torus(x: u64, to: u64) -> u64 {
    constant_time::switch_from_power(x, 64, to)
}
#[no_mangle] pub fn probe_switch_to_power(x: u64) -> u64 {
    constant_time::switch_to_power(x, 4, 11)
}
#[no_mangle] pub fn probe_switch_to_power_odd(x: u64) -> u64 {
    constant_time::switch_to_power(x, 5, 11)
}
#[no_mangle] pub fn probe_divide(x: u128, divisor: u64) -> u128 {
    constant_time::divide(x, divisor)
}
#[no_mangle] pub fn probe_multiply(a: u32, b: u32, p: u32, i: u32, r: u32) -> u32 {
    constant_time::multiply(a, b, p, i, r)
}
#[no_mangle] pub fn probe_select(mask: u32, a: u32, b: u32) -> u32 {
    constant_time::select(mask, a, b)
}
#[no_mangle] pub fn probe_push(leading: &mut constant_time::Leading, word: u32) {
    *leading = leading.push(word);
}
#[no_mangle] pub fn probe_to_f64(leading: &constant_time::Leading, negative: u32) -> f64 {
    leading.to_f64(negative)
}
// What must not pass.
#[no_mangle] pub fn probe_bad_remainder(x: i64, p: i64) -> i64 {
    if p > 0 { x.rem_euclid(p) } else { 0 }
}
#[no_mangle] pub fn probe_bad_branch(x: u64, table: &[u64; 64]) -> u64 {
    if x & 1 == 1 { table.iter().fold(0, |s, t| s ^ t.rotate_left(s as u32)) } else { 0 }
}
"#;

/// Instructions of every `probe_*` function, one line each.
fn compiled() -> Vec<(String, Vec<String>)> {
    let folder = std::env::temp_dir().join(format!("girih-constant-time-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/constant_time.rs");
    let source = format!("#[path = {module:?}] pub mod constant_time;\n{WRAPPERS}");
    let (input, output) = (folder.join("probe.rs"), folder.join("probe.s"));
    std::fs::write(&input, source).expect("written");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let arguments = "--edition 2021 --crate-type lib -C opt-level=3 -C debuginfo=0 -C panic=abort \
                     --emit asm -o";
    let status = Command::new(rustc).args(arguments.split(' ')).arg(&output).arg(&input).status();
    assert!(status.expect("rustc runs").success());
    let assembly = std::fs::read_to_string(&output).expect("assembly");
    std::fs::remove_dir_all(&folder).expect("removed");
    let mut functions: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in assembly.lines() {
        let text = line.trim();
        if let Some(name) = line.strip_suffix(':').filter(|name| name.starts_with("probe_")) {
            functions.push((name.into(), Vec::new()));
            inside = true;
        } else if text.starts_with(".size") || text.starts_with(".Lfunc_end") {
            inside = false;
        } else if inside
            && !text.is_empty()
            && (!text.starts_with('.') || text.ends_with(':'))
            && let Some((_, lines)) = functions.last_mut()
        {
            lines.push(text.to_owned());
        }
    }
    functions
}

/// What is wrong with a function's instructions.
fn judge(lines: &[String]) -> Option<String> {
    for (i, line) in lines.iter().enumerate() {
        let mnemonic = line.split_whitespace().next().unwrap_or("");
        if mnemonic.contains("div") || mnemonic.starts_with("call") {
            return Some(format!("`{line}`"));
        }
        if mnemonic.starts_with('j') {
            let target = line.split_whitespace().nth(1).unwrap_or("");
            let is_back = lines[..i].iter().any(|l| l.strip_suffix(':') == Some(target));
            if !is_back {
                return Some(format!("`{line}` jumps ahead"));
            }
        }
    }
    None
}

#[test]
fn machine_code_neither_divides_nor_branches_on_secrets() {
    let functions = compiled();
    assert_eq!(functions.len(), WRAPPERS.matches("no_mangle").count());
    for (name, lines) in functions {
        let found = judge(&lines);
        assert!(lines.len() > 2, "{name}");
        if name.starts_with("probe_bad") {
            assert!(found.is_some(), "{name} must not pass: {lines:#?}");
        } else {
            assert_eq!(found, None, "{name}: {lines:#?}");
        }
    }
}
