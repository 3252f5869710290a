//! Citations of pages in comments: a page of docs, a comma, and a heading in quotes that exists.

use std::path::Path;

/// Comments as running text: what ends one line goes on in the next.
fn running(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start().trim_start_matches(['/', '!', '#', '*']));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Headings of a page without their marks and numbers.
fn headings(page: &str) -> Vec<&str> {
    let marked = page.lines().filter(|line| line.starts_with('#'));
    marked
        .map(|line| {
            let title = line.trim_start_matches('#').trim();
            match title.split_once(". ") {
                Some((number, rest)) if number.chars().all(|c| c.is_ascii_digit()) => rest,
                _ => title,
            }
        })
        .collect()
}

/// What is cited in a source and does not exist, or is cited by a number that the next edit of the
/// page may change.
pub fn faults(root: &Path, name: &str, text: &str) -> Vec<String> {
    let text = running(text);
    let mut wrong = Vec::new();
    for (end, _) in text.match_indices(".md") {
        let start = text[..end].rfind([' ', '(', '`', '"']).map_or(0, |i| i + 1);
        let (page, after) = (&text[start..end + 3], &text[end + 3..]);
        let after = after.trim_start_matches("'s").trim_start_matches(',').trim_start();
        let word = after.split_once(' ').map(|(word, rest)| (word, rest.chars().next()));
        if let Some(("section" | "sections", Some('0'..='9'))) = word {
            wrong.push(format!("{name}: {page} is cited by a number, and not by a heading"));
        }
        let Some(title) = after.strip_prefix('"').and_then(|t| t.split_once('"')) else { continue };
        if !page.starts_with("docs/") || !text[end + 3..].starts_with(", ") {
            continue;
        }
        match std::fs::read_to_string(root.join(page)) {
            Ok(content) if headings(&content).contains(&title.0) => {}
            Ok(_) => wrong.push(format!("{name}: {page} has no heading \"{}\"", title.0)),
            Err(error) => wrong.push(format!("{name}: {page}: {error}")),
        }
    }
    wrong
}
