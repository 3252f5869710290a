//! Where a source text can be changed, and to what.

use super::values::values;
use anyhow::{Context, Result};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A part of what stands in the place of a [`Site`].
pub enum Piece {
    Text(String),
    /// This range of the source, with the sites inside it.
    Source(Range<usize>),
    /// What carries out the change of this number; left out once the change is dropped.
    Arm(usize, String),
}

/// A place in a source text with one change or several, chosen when the program runs.
pub struct Site {
    pub range: Range<usize>,
    pub line: usize,
    pub pieces: Vec<Piece>,
    /// What each change is, in words.
    pub changes: Vec<String>,
    /// Which of them take part; of a `const fn` without changes of its own, whether it does.
    pub alive: Vec<bool>,
    /// The number of the first change among all of a crate's.
    pub first: usize,
    /// The first site behind it that is not inside it.
    pub end: usize,
    /// The name of a `const fn` that no longer is `const`, so that it can ask for a change.
    pub unconst: Option<String>,
}

/// The sites of a file, outer ones before those inside them.
pub struct Sites<'t> {
    text: &'t str,
    pub all: Vec<Site>,
    /// Modules in files of their own that this compilation takes.
    pub modules: Vec<String>,
    next: usize,
}

/// The sites of `text`, whose changes are numbered from `first` on.
///
/// # Errors
/// If `text` is no Rust.
pub fn find(text: &str, first: usize) -> Result<Sites<'_>> {
    let file = syn::parse_file(text).context("cannot be parsed")?;
    let mut sites = Sites { text, all: Vec::new(), modules: Vec::new(), next: first };
    sites.visit_file(&file);
    Ok(sites)
}

impl Sites<'_> {
    /// The number of the change that follows the last one.
    pub fn end(&self) -> usize {
        self.next
    }

    /// Adds a site, whose `pieces` come of the place of its numbers; the sites that `inside` visits
    /// lie in it.
    fn add(
        &mut self,
        range: Range<usize>,
        line: usize,
        changes: Vec<String>,
        pieces: impl FnOnce(&str) -> Vec<Piece>,
        inside: impl FnOnce(&mut Self),
    ) {
        if changes.is_empty() {
            return inside(self);
        }
        let (index, first) = (self.all.len(), self.next);
        self.next += changes.len();
        let pieces = pieces(&format!("crate::girih_mutant::pick({first}, {})", changes.len()));
        let alive = vec![true; changes.len()];
        let site =
            Site { range, line, pieces, changes, alive, first, end: index + 1, unconst: None };
        self.all.push(site);
        inside(self);
        self.all[index].end = self.all.len();
    }

    /// Replaces the operator of two operands that are computed in any case.
    fn binary(&mut self, e: &syn::ExprBinary, own: &str, by_reference: bool) {
        let (range, line) = place(e);
        let (left, right) = (place(&*e.left).0, place(&*e.right).0);
        // Comparisons borrow what they compare.
        let (borrow, star) = if by_reference { ("&", "*") } else { ("", "") };
        let form = |op: &str| format!("{star}girih_x {op} {star}girih_y");
        let others = others(own);
        let changes = others.iter().map(|op| format!("{own} to {op}")).collect();
        let pieces = |pick: &str| {
            let mut pieces = vec![
                Piece::Text(format!("(match ({borrow}(")),
                Piece::Source(left),
                Piece::Text(format!("), {borrow}(")),
                Piece::Source(right),
                Piece::Text(format!(")) {{ (girih_x, girih_y) => match {pick} {{ ")),
            ];
            pieces.extend(arms(others.iter().map(|op| form(op))));
            pieces.push(Piece::Text(format!("_ => {} }} }})", form(own))));
            pieces
        };
        self.add(range, line, changes, pieces, |s| visit::visit_expr_binary(s, e));
    }

    /// `a += b`: the right side comes first, as it does for numbers.
    fn assignment(&mut self, e: &syn::ExprBinary, own: &str) {
        let (range, line) = place(e);
        let (left, right) = (place(&*e.left).0, place(&*e.right).0);
        let form = |op: &str| format!("*girih_x {op}= girih_y");
        let others = others(own);
        let changes = others.iter().map(|op| format!("{own}= to {op}=")).collect();
        let pieces = |pick: &str| {
            let mut pieces = vec![
                Piece::Text("(match (".into()),
                Piece::Source(right),
                Piece::Text(") { girih_y => match &mut (".into()),
                Piece::Source(left),
                Piece::Text(format!(") {{ girih_x => match {pick} {{ ")),
            ];
            pieces.extend(arms(others.iter().map(|op| form(op))));
            pieces.push(Piece::Text(format!("_ => {} }} }} }})", form(own))));
            pieces
        };
        self.add(range, line, changes, pieces, |s| visit::visit_expr_binary(s, e));
    }

    /// `&&` and `||`, whose right side is computed only where the left one does not decide.
    fn lazy(&mut self, e: &syn::ExprBinary, and: bool) {
        let (range, line) = place(e);
        let (left, right) = (place(&*e.left).0, place(&*e.right).0);
        let change = if and { "&& to ||" } else { "|| to &&" };
        // Whether the right side is asked where the left one holds.
        let pieces = |pick: &str| {
            vec![
                Piece::Text("({ let girih_x = (".into()),
                Piece::Source(left),
                Piece::Text(format!(
                    "); if girih_x == ({pick} == {}) {{ ",
                    if and { "!0" } else { "0" }
                )),
                Piece::Source(right),
                Piece::Text(" } else { girih_x } })".into()),
            ]
        };
        self.add(range, line, vec![change.into()], pieces, |s| visit::visit_expr_binary(s, e));
    }

    /// A condition that is true or false whatever stands there.
    fn condition(&mut self, cond: &syn::Expr, what: &str) {
        if has_let(cond) {
            return self.visit_expr(cond);
        }
        let (range, line) = place(cond);
        let own = range.clone();
        let changes = vec![format!("{what} to true"), format!("{what} to false")];
        let pieces = |pick: &str| {
            let mut pieces = vec![Piece::Text(format!("(match {pick} {{ "))];
            pieces.extend(arms(["true", "false"].map(String::from)));
            pieces.push(Piece::Text("_ => ".into()));
            pieces.push(Piece::Source(own));
            pieces.push(Piece::Text(" })".into()));
            pieces
        };
        self.add(range, line, changes, pieces, |s| s.visit_expr(cond));
    }

    /// A function whose body gives a plain value at once, and the rest of its body.
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if signature.unsafety.is_some() {
            return;
        }
        let outer = self.all.len();
        let inside = |s: &mut Self| {
            let open = block.brace_token.span.open().byte_range().end;
            let values = values(&signature.output);
            let changes = values.iter().map(|v| format!("{} to {v}", signature.ident)).collect();
            let pieces = |pick: &str| {
                let mut pieces = vec![Piece::Text(format!(" match {pick} {{ "))];
                pieces.extend(arms(values.iter().map(|v| format!("return {v}"))));
                pieces.push(Piece::Text("_ => {} }".into()));
                pieces
            };
            s.add(open..open, signature.ident.span().start().line, changes, pieces, |_| ());
            s.visit_block(block);
        };
        let Some(word) = &signature.constness else { return inside(self) };
        // No change of its own; it goes with those inside.
        let (range, line) = (word.span.byte_range().start..place(block).0.end, place(word).1);
        let rest = Piece::Source(word.span.byte_range().end..range.end);
        let site = Site {
            range,
            line,
            pieces: vec![rest],
            changes: Vec::new(),
            alive: vec![true],
            first: self.next,
            end: outer,
            unconst: Some(signature.ident.to_string()),
        };
        self.all.push(site);
        inside(self);
        self.all[outer].end = self.all.len();
    }

    /// The arms of a `match` that ends with one for all: without one of them, and their guards.
    fn arms_of(&mut self, e: &syn::ExprMatch) {
        let arms: Vec<&syn::Arm> = e.arms.iter().filter(|arm| active(&arm.attrs)).collect();
        let last_takes_all =
            arms.last().is_some_and(|a| matches!(a.pat, syn::Pat::Wild(_)) && a.guard.is_none());
        for (index, arm) in arms.iter().enumerate() {
            let (pattern, line) = place(&arm.pat);
            match &arm.guard {
                Some((_, guard)) => self.condition(guard, "guard"),
                None if last_takes_all && index + 1 < arms.len() => {
                    let pieces = |pick: &str| vec![Piece::Text(format!(" if {pick} != 0"))];
                    let changes = vec!["arm left out".into()];
                    self.add(pattern.end..pattern.end, line, changes, pieces, |_| ());
                }
                None => (),
            }
            self.visit_expr(&arm.body);
        }
    }
}

/// Arms of a `match` over the number of a change.
fn arms(forms: impl IntoIterator<Item = String>) -> Vec<Piece> {
    let arm = |(i, form)| Piece::Arm(i, format!("{i} => {form}, "));
    forms.into_iter().enumerate().map(arm).collect()
}

fn place(node: &impl Spanned) -> (Range<usize>, usize) {
    let span = node.span();
    (span.byte_range(), span.start().line)
}

/// What an operator is changed to.
fn others(operator: &str) -> &'static [&'static str] {
    match operator {
        "+" => &["-", "*"],
        "-" | "*" => &["+", "/"],
        "/" => &["%", "*"],
        "%" => &["/", "+"],
        "<<" => &[">>"],
        ">>" => &["<<"],
        "&" => &["|", "^"],
        "|" => &["&", "^"],
        "^" => &["|", "&"],
        "==" => &["!="],
        "!=" => &["=="],
        "<" => &["==", ">", "<="],
        ">" => &["==", "<", ">="],
        "<=" => &[">", "<"],
        ">=" => &["<", ">"],
        _ => &[],
    }
}

/// Whether a condition binds names, which only `if` and `while` can.
fn has_let(e: &syn::Expr) -> bool {
    match e {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(b) => has_let(&b.left) || has_let(&b.right),
        syn::Expr::Paren(p) => has_let(&p.expr),
        _ => false,
    }
}

/// Whether this compilation takes what stands below these attributes. Of tests it takes none, and
/// of what it does not know, all.
fn active(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().all(|attribute| {
        if attribute.path().is_ident("test") {
            return false;
        }
        let syn::Meta::List(list) = &attribute.meta else { return true };
        !list.path.is_ident("cfg")
            || list.parse_args().is_ok_and(|meta| holds(&meta) != Some(false))
    })
}

fn holds(meta: &syn::Meta) -> Option<bool> {
    let is = |name: &str| meta.path().is_ident(name);
    match meta {
        syn::Meta::Path(_) if is("test") => Some(false),
        syn::Meta::Path(_) if is("unix") => Some(cfg!(unix)),
        syn::Meta::NameValue(pair) => {
            let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(value), .. }) = &pair.value else {
                return None;
            };
            match () {
                () if is("target_arch") => Some(value.value() == std::env::consts::ARCH),
                () if is("target_os") => Some(value.value() == std::env::consts::OS),
                // WebAssembly's vectors, for which whole files stand.
                () if is("target_feature") && value.value() == "simd128" => {
                    Some(cfg!(target_feature = "simd128"))
                }
                () => None,
            }
        }
        syn::Meta::List(list) => {
            type Metas = syn::punctuated::Punctuated<syn::Meta, syn::Token![,]>;
            let inner: Vec<Option<bool>> =
                list.parse_args_with(Metas::parse_terminated).ok()?.iter().map(holds).collect();
            let any = |value| inner.contains(&Some(value));
            let all = |value| inner.iter().all(|i| *i == Some(value));
            match () {
                () if is("not") => inner.first().copied().flatten().map(|i| !i),
                () if is("any") => any(true).then_some(true).or(all(false).then_some(false)),
                () if is("all") => any(false).then_some(false).or(all(true).then_some(true)),
                () => None,
            }
        }
        _ => None,
    }
}

/// Attributes of the expressions that carry any here.
fn attributes(e: &syn::Expr) -> &[syn::Attribute] {
    match e {
        syn::Expr::Block(e) => &e.attrs,
        syn::Expr::If(e) => &e.attrs,
        syn::Expr::Call(e) => &e.attrs,
        syn::Expr::MethodCall(e) => &e.attrs,
        syn::Expr::Return(e) => &e.attrs,
        syn::Expr::Match(e) => &e.attrs,
        _ => &[],
    }
}

fn item_attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Fn(i) => &i.attrs,
        syn::Item::Impl(i) => &i.attrs,
        syn::Item::Mod(i) => &i.attrs,
        syn::Item::Trait(i) => &i.attrs,
        _ => &[],
    }
}

impl<'a> Visit<'a> for Sites<'_> {
    fn visit_item(&mut self, item: &'a syn::Item) {
        // What stands in constants, types and macros is computed before there is a choice.
        if !active(item_attributes(item)) {
            return;
        }
        match item {
            syn::Item::Fn(i) => self.function(&i.sig, &i.block),
            syn::Item::Impl(_) | syn::Item::Trait(_) => visit::visit_item(self, item),
            syn::Item::Mod(i) if i.content.is_none() => self.modules.push(i.ident.to_string()),
            syn::Item::Mod(_) => visit::visit_item(self, item),
            _ => (),
        }
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        if let syn::ImplItem::Fn(i) = item
            && active(&i.attrs)
        {
            self.function(&i.sig, &i.block);
        }
    }

    fn visit_trait_item(&mut self, item: &'a syn::TraitItem) {
        if let syn::TraitItem::Fn(i) = item
            && active(&i.attrs)
            && let Some(block) = &i.default
        {
            self.function(&i.sig, block);
        }
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        if active(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_pat(&mut self, _: &'a syn::Pat) {}
    fn visit_type(&mut self, _: &'a syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'a syn::GenericArgument) {}
    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}
    fn visit_expr_unsafe(&mut self, _: &'a syn::ExprUnsafe) {}
    fn visit_expr_const(&mut self, _: &'a syn::ExprConst) {}

    fn visit_expr_repeat(&mut self, e: &'a syn::ExprRepeat) {
        self.visit_expr(&e.expr);
    }

    fn visit_expr_if(&mut self, e: &'a syn::ExprIf) {
        self.condition(&e.cond, "if");
        self.visit_block(&e.then_branch);
        if let Some((_, other)) = &e.else_branch {
            self.visit_expr(other);
        }
    }

    fn visit_expr_match(&mut self, e: &'a syn::ExprMatch) {
        self.visit_expr(&e.expr);
        self.arms_of(e);
    }

    fn visit_expr_unary(&mut self, e: &'a syn::ExprUnary) {
        let sign = match e.op {
            syn::UnOp::Not(_) => "!",
            syn::UnOp::Neg(_) => "-",
            _ => return visit::visit_expr_unary(self, e),
        };
        let ((range, line), operand) = (place(e), place(&*e.expr).0);
        let pieces = |pick: &str| {
            vec![
                Piece::Text("(match (".into()),
                Piece::Source(operand),
                Piece::Text(format!(
                    ") {{ girih_x => if {pick} == 0 {{ girih_x }} else {{ {sign}girih_x }} }})"
                )),
            ]
        };
        let changes = vec![format!("{sign} left out")];
        self.add(range, line, changes, pieces, |s| visit::visit_expr_unary(s, e));
    }

    fn visit_expr_binary(&mut self, e: &'a syn::ExprBinary) {
        let own = &self.text[place(&e.op).0];
        match own {
            "&&" | "||" if has_let(&e.left) || has_let(&e.right) => {
                visit::visit_expr_binary(self, e);
            }
            "&&" | "||" => self.lazy(e, own == "&&"),
            "==" | "!=" | "<" | ">" | "<=" | ">=" => self.binary(e, own, true),
            _ if own.ends_with('=') => self.assignment(e, own.trim_end_matches('=')),
            _ => self.binary(e, own, false),
        }
    }

    fn visit_expr(&mut self, e: &'a syn::Expr) {
        if active(attributes(e)) {
            visit::visit_expr(self, e);
        }
    }
}
