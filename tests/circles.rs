//! Which file of a crate imports which, read off its sources, and the circles among them.
//!
//! Paths are followed as the compiler does: through `use` with groups, renames and globs, through
//! modules that were imported (`use crate::ckks;` and then `ckks::tune::run`), and through what a
//! file exports again, to the file that defines a name. A name that a file exports and does not use
//! itself ties it to nothing. A file below another is a part of it, so what it takes from there is
//! no import either; and tests, which may import anything, are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The path of a module below its crate's root, which has none.
pub type Module = Vec<String>;

/// The sources of a crate.
pub type Crate = BTreeMap<Module, Source>;

/// What each module imports.
pub type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// One name that a `use` statement brings, and the path that it stands for. A glob is called `*`.
#[derive(Clone, Debug)]
struct Import {
    name: String,
    path: Vec<String>,
    is_exported: bool,
}

/// A source file.
#[derive(Debug, Default)]
pub struct Source {
    imports: Vec<Import>,
    /// What it defines, but for what lies in braces.
    defines: BTreeSet<String>,
    /// The paths in its code, of one name or more.
    paths: BTreeSet<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Path,
    Sign(char),
}

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }

    /// How much deeper in brackets the text behind it is.
    fn depth(&self) -> i32 {
        match self {
            Self::Sign('{' | '(' | '[') => 1,
            Self::Sign('}' | ')' | ']') => -1,
            _ => 0,
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The tokens of a text without comments, literals and lifetimes.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let until = |from: usize, end: &[char]| {
        (from..chars.len()).find(|&i| chars[i..].starts_with(end)).unwrap_or(chars.len())
    };
    let mut all = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        match (chars[i], at(i + 1)) {
            ('/', '/') => i = until(i, &['\n']),
            ('/', '*') => i = until(i + 2, &['*', '/']) + 2,
            ('"', _) => i = behind_string(&chars, i),
            ('\'', '\\') => i = until(i + 3, &['\'']) + 1,
            ('\'', _) if at(i + 2) == '\'' => i += 3,
            ('\'', _) => i += 1 + chars[i + 1..].iter().take_while(|c| is_word(**c)).count(),
            (':', ':') => {
                all.push(Token::Path);
                i += 2;
            }
            (c, _) if is_word(c) => {
                let word: String = chars[i..].iter().take_while(|c| is_word(**c)).collect();
                i += word.chars().count();
                let hashes = chars[i..].iter().take_while(|c| **c == '#').count();
                let prefix = ["r", "b", "c", "br", "cr"].contains(&word.as_str());
                match at(i + hashes) {
                    '"' if prefix && word.contains('r') => {
                        let end: Vec<char> = "\"".chars().chain(vec!['#'; hashes]).collect();
                        i = until(i + hashes + 1, &end) + end.len();
                    }
                    '"' if prefix && hashes == 0 => i = behind_string(&chars, i),
                    _ => all.push(Token::Word(word)),
                }
            }
            (c, _) => {
                if !c.is_whitespace() {
                    all.push(Token::Sign(c));
                }
                i += 1;
            }
        }
    }
    all
}

/// Behind the string that begins at `start`.
fn behind_string(chars: &[char], start: usize) -> usize {
    let mut i = start + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

/// Behind the bracket that closes the one at `open`.
fn behind_bracket(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        depth += token.depth();
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// The tokens without attributes, and without the items that only tests have.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let open = match &tokens[i..] {
            [Token::Sign('#'), Token::Sign('['), ..] => i + 1,
            [Token::Sign('#'), Token::Sign('!'), Token::Sign('['), ..] => i + 2,
            _ => {
                kept.push(tokens[i].clone());
                i += 1;
                continue;
            }
        };
        i = behind_bracket(tokens, open);
        let has = |word: &str| tokens[open..i].iter().any(|token| token.is(word));
        if has("cfg") && has("test") && !has("not") && !has("any") {
            i = behind_item(tokens, i);
        }
    }
    kept
}

/// Behind the item at `start`: its `;`, or the end of its braces.
fn behind_item(tokens: &[Token], start: usize) -> usize {
    let mut i = start;
    while i < tokens.len() {
        match tokens[i] {
            Token::Sign(';') => return i + 1,
            Token::Sign('{') => return behind_bracket(tokens, i),
            Token::Sign('(' | '[') => i = behind_bracket(tokens, i),
            _ => i += 1,
        }
    }
    i
}

/// Reads the tree of a `use` statement below `stem`; behind it.
fn tree(tokens: &[Token], mut at: usize, stem: &[String], found: &mut Vec<Import>) -> usize {
    let mut path = stem.to_vec();
    let mut add = |name: &str, path| {
        found.push(Import { name: name.to_owned(), path, is_exported: false });
    };
    loop {
        match tokens.get(at) {
            Some(Token::Word(word)) if word == "as" => {
                if let Some(Token::Word(name)) = tokens.get(at + 1) {
                    add(name, path);
                }
                return at + 2;
            }
            Some(Token::Word(word)) => path.push(word.clone()),
            Some(Token::Path) => {}
            Some(Token::Sign('*')) => {
                add("*", path);
                return at + 1;
            }
            Some(Token::Sign('{')) => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != Token::Sign('}')) {
                    at = tree(tokens, at, &path, found);
                    at += usize::from(tokens.get(at) == Some(&Token::Sign(',')));
                }
                return at + 1;
            }
            _ => {
                // `a::{self}` is `a`.
                if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                if let Some(name) = path.last().cloned() {
                    add(&name, path);
                }
                return at;
            }
        }
        at += 1;
    }
}

impl Source {
    /// Reads a file.
    pub fn new(text: &str) -> Self {
        let tokens = without_tests(&tokens(text));
        let mut source = Self::default();
        let (mut i, mut depth) = (0, 0);
        while i < tokens.len() {
            depth += tokens[i].depth();
            let Token::Word(word) = &tokens[i] else {
                i += 1;
                continue;
            };
            if word == "use" && tokens.get(i + 1) != Some(&Token::Sign('<')) {
                // `pub`, or `pub(crate)`.
                let is_exported =
                    i > 0 && (tokens[i - 1].is("pub") || tokens[i - 1] == Token::Sign(')'));
                let first = source.imports.len();
                i = tree(&tokens, i + 1, &[], &mut source.imports);
                source.imports[first..].iter_mut().for_each(|one| one.is_exported = is_exported);
                continue;
            }
            let is_definition = [
                "fn",
                "struct",
                "enum",
                "trait",
                "const",
                "static",
                "type",
                "union",
                "macro_rules",
                "mod",
            ]
            .contains(&word.as_str());
            let named = tokens[i + 1..].iter().position(|t| !t.is("mut") && *t != Token::Sign('!'));
            let named = i + 1 + named.unwrap_or(0);
            if let (true, Some(Token::Word(name))) = (is_definition, tokens.get(named)) {
                let is_file = word == "mod" && tokens.get(named + 1) == Some(&Token::Sign(';'));
                if depth == 0 && !is_file {
                    source.defines.insert(name.clone());
                }
                i = named + 1;
                continue;
            }
            let mut path = vec![word.clone()];
            while let [Token::Path, Token::Word(next), ..] = &tokens[i + 1..] {
                path.push(next.clone());
                i += 2;
            }
            source.paths.insert(path);
            i += 1;
        }
        source
    }
}

/// The sources below a crate's `src`, but for files of tests.
pub fn read(src: &Path) -> Crate {
    let mut all = Crate::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let module = module_of(path.strip_prefix(src).expect("inside"));
                let is_test = |name: &String| name.starts_with("test_") || name.ends_with("tests");
                if !module.last().is_some_and(is_test) {
                    let text = std::fs::read_to_string(&path).expect("a readable source");
                    all.insert(module, Source::new(&text));
                }
            }
        }
    }
    all
}

/// The module of a file below `src`.
fn module_of(file: &Path) -> Module {
    let parts = file.with_extension("");
    let mut module: Module = parts.iter().filter_map(|p| p.to_str()).map(str::to_owned).collect();
    let is_root = module == ["lib"] || module == ["main"];
    if is_root || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

/// The module that a path leads to, and whether it names the module itself.
type Target = (Module, bool);

/// Paths that were followed already: names that are exported in a circle lead nowhere.
type Seen = BTreeSet<(Module, Vec<String>)>;

/// Where a path in `from` leads to.
fn resolve(all: &Crate, from: &[String], path: &[String], seen: &mut Seen) -> Option<Target> {
    let (first, mut rest) = path.split_first()?;
    let mut module = from.to_vec();
    match first.as_str() {
        "crate" => module.clear(),
        "self" => {}
        "super" => {
            module.pop()?;
            while rest.first().is_some_and(|next| next == "super") {
                module.pop()?;
                rest = &rest[1..];
            }
        }
        _ => rest = path,
    }
    walk(all, module, rest, seen)
}

/// Where a path leads to that begins in `module`.
fn walk(all: &Crate, module: Module, path: &[String], seen: &mut Seen) -> Option<Target> {
    let source = all.get(&module)?;
    let Some((first, rest)) = path.split_first() else { return Some((module, true)) };
    if !seen.insert((module.clone(), path.to_vec())) {
        return None;
    }
    let child = [&module[..], std::slice::from_ref(first)].concat();
    if all.contains_key(&child) {
        return walk(all, child, rest, seen);
    }
    if source.defines.contains(first) {
        return Some((module, false));
    }
    for import in source.imports.iter().filter(|import| import.name == *first) {
        if let Some((at, is_module)) = resolve(all, &module, &import.path, seen) {
            return if is_module { walk(all, at, rest, seen) } else { Some((at, false)) };
        }
    }
    source.imports.iter().filter(|import| import.name == "*").find_map(|import| {
        let (at, is_module) = resolve(all, &module, &import.path, seen)?;
        if is_module { walk(all, at, path, seen) } else { None }
    })
}

/// What each module of a crate imports of the others.
pub fn imports(all: &Crate) -> Imports {
    let mut found = Imports::new();
    for (module, source) in all {
        let of = |path: &Vec<String>| resolve(all, module, path, &mut Seen::new());
        let is_used = |import: &&Import| {
            !import.is_exported || source.paths.iter().any(|path| path[0] == import.name)
        };
        // A module that is imported ties by what is taken from it.
        let used = source.imports.iter().filter(is_used).filter_map(|import| of(&import.path));
        let used = used.filter(|(_, is_module)| !is_module);
        let inline = source.paths.iter().filter(|path| path.len() > 1).filter_map(of);
        let others = used.chain(inline).map(|(at, _)| at).filter(|at| !module.starts_with(at));
        found.insert(module.clone(), others.collect());
    }
    found
}

/// Everything that a module imports, and what that imports, and so on.
fn reached<'a>(imports: &'a Imports, from: &'a Module) -> BTreeSet<&'a Module> {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        next.extend(imports.get(module).into_iter().flatten().filter(|m| seen.insert(*m)));
    }
    seen
}

/// The circles: modules that reach each other, together.
pub fn circles(imports: &Imports) -> Vec<BTreeSet<Module>> {
    let reach: BTreeMap<&Module, _> = imports.keys().map(|m| (m, reached(imports, m))).collect();
    let mut found: Vec<BTreeSet<Module>> = Vec::new();
    for (module, own) in &reach {
        if own.contains(module) && !found.iter().any(|circle| circle.contains(*module)) {
            let back = own.iter().filter(|other| reach[*other].contains(module));
            found.push(back.map(|other| (*other).clone()).collect());
        }
    }
    found
}
