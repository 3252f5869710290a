//! Lines of a template: where blocks, branches and statements end.

type Result<T> = std::result::Result<T, String>;

/// Whether `text` is a name.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Lines, or parts of one, as what is kept.
pub(super) fn owned<'t>(all: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    all.into_iter().map(str::to_owned).collect()
}

/// The lines up to the brace that closes a block, and those behind it.
pub(super) fn block(lines: &[String]) -> Result<(&[String], &[String])> {
    let mut open = 0;
    let closes = |line: &String| {
        let code = line.split("//").next().unwrap_or_default();
        open += code.matches('{').count() as i32 - code.matches('}').count() as i32;
        open < 0
    };
    let end = lines.iter().position(closes).ok_or("missing }")?;
    Ok((&lines[..end], &lines[end + 1..]))
}

/// The lines up to the directive that ends a branch, that directive, and the lines behind it.
pub(super) fn branch(lines: &[String]) -> Result<(&[String], &str, &[String])> {
    let mut open = 0;
    let ends = |line: &String| {
        let code = line.trim_start();
        let ends = open == 0 && code.starts_with("#e");
        open += i32::from(code.starts_with("#if ")) - i32::from(code.starts_with("#end"));
        ends
    };
    let end = lines.iter().position(ends).ok_or("missing #elif, #else or #end")?;
    Ok((&lines[..end], lines[end].trim(), &lines[end + 1..]))
}

/// `first` and the lines after it up to the end of a statement or the next directive; what comes
/// behind them.
pub(super) fn statement<'l>(first: &str, mut after: &'l [String]) -> (String, &'l [String]) {
    let mut text = first.to_owned();
    while !text.ends_with(';')
        && !text.ends_with("; }")
        && let Some((next, rest)) = after.split_first()
        && !next.starts_with('#')
    {
        text.push('\n');
        text.push_str(next);
        after = rest;
    }
    (text, after)
}

/// The parts between the commas of `text` that no parentheses enclose.
pub(super) fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let split = move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    text.split(split).map(str::trim).filter(|part| !part.is_empty()).collect()
}
