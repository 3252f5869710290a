//! How long files and functions of device crates may be, and how much of a WGSL file may say how
//! its text is generated.

/// Lines of a file.
const FILE_LINES: usize = 400;
/// Lines of a function.
const FUNCTION_LINES: usize = 80;
/// Percent of a template's lines.
const DIRECTIVE_PERCENT: usize = 15;

/// Files and functions that may be longer, as `file` or `file function`, and why.
const LONGER: &[(&str, &str)] = &[];

fn is_excepted(name: &str) -> bool {
    LONGER.iter().any(|(excepted, _)| *excepted == name)
}

/// What is too long in the file called `name`.
pub fn faults(name: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut wrong = Vec::new();
    if lines.len() > FILE_LINES && !is_excepted(name) {
        wrong.push(format!("{name} has {} lines, at most {FILE_LINES}", lines.len()));
    }
    for (function, len) in functions(&lines) {
        if len > FUNCTION_LINES && !is_excepted(&format!("{name} {function}")) {
            wrong.push(format!("{name}: {function} has {len} lines, at most {FUNCTION_LINES}"));
        }
    }
    wrong
}

/// Functions of a formatted source, with their lines.
fn functions(lines: &[&str]) -> Vec<(String, usize)> {
    let mut all = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indentation = &line[..line.len() - code.len()];
        let Some((before, rest)) = code.split_once("fn ") else { continue };
        let qualified = before.split_whitespace().all(|word| {
            word.starts_with("pub")
                || ["const", "async", "unsafe", "extern", "\"C\""].contains(&word)
        });
        if !qualified || code.starts_with("//") {
            continue;
        }
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let ends =
            |line: &&str| line.strip_prefix(indentation).is_some_and(|rest| rest.starts_with('}'));
        // Where nothing but a declaration stands, another function's end is found, and is near.
        if let Some(len) = lines[first..].iter().position(ends).filter(|_| !code.ends_with(';')) {
            all.push((name, len + 1));
        }
    }
    all
}

/// Lines of a template that say how its text is generated: directives, and the first and last
/// lines of blocks that are unrolled.
fn directives(text: &str) -> usize {
    let lines = text.lines().map(str::trim);
    let count = |line: &str| {
        let unrolled = line.starts_with("for ") && !line.starts_with("for (");
        usize::from(line.starts_with('#')) + 2 * usize::from(unrolled && line.ends_with('{'))
    };
    lines.map(count).sum()
}

/// What is wrong with the template called `name`.
pub fn template_faults(name: &str, text: &str) -> Option<String> {
    let (found, lines) = (directives(text), text.lines().count());
    (100 * found > DIRECTIVE_PERCENT * lines).then(|| {
        format!("{found} of {lines} lines of {name} are directives, at most {DIRECTIVE_PERCENT} %")
    })
}

#[test]
fn long_functions_and_many_directives_are_found() {
    let body = "    let x = 1;\n".repeat(FUNCTION_LINES - 2);
    let source = |body: &str| format!("pub(crate) async fn f(\n) {{\n{body}}}\n");
    assert_eq!(faults("a.rs", &source(&body[15..])), Vec::<String>::new());
    assert_eq!(faults("a.rs", &source(&body)).len(), 1);
    assert_eq!(faults("a.rs", &"\n".repeat(FILE_LINES + 1)).len(), 1);
    assert_eq!(functions(&["    fn f();", "    fn g() {", "    }"]), [("g".to_owned(), 2)]);
    let text = "#if A\nx\n#end\nfor i in 0..2 {\n  for (;;) {\n  }\n}\nfor i in 0..2: x;\n";
    assert_eq!(directives(text), 4);
    assert!(template_faults("a.wgsl", text).is_some());
    assert!(template_faults("a.wgsl", &"x\n".repeat(7)).is_none());
}
