//! What makes WGSL of the texts of `shaders/`: loops are unrolled, functions inlined, and bounds of
//! words tracked. `shaders/README.md` has the language.

mod lines;

use crate::runtime::expression::{self, Names};
use crate::runtime::lazy::Lazy;
use lines::{block, branch, is_name, owned, split_outside_parentheses, statement};
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

/// A constant known while a shader is generated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i128),
    Text(String),
}

/// Integer functions that templates may call, such as `root(word, index)`.
pub(crate) type Functions<'a> = dyn Fn(&str, &[i128]) -> Option<i128> + 'a;

type Result<T> = std::result::Result<T, String>;

/// A function of templates.
struct Function {
    parameters: Vec<String>,
    body: Vec<String>,
}

/// Expands templates into WGSL.
pub(crate) struct Expander<'a> {
    sources: &'a [(&'a str, &'a str)],
    functions: &'a Functions<'a>,
    scopes: Vec<HashMap<String, Value>>,
    inlined: HashMap<String, Rc<Function>>,
    lazy: Lazy,
    out: String,
}

impl<'a> Expander<'a> {
    /// An expander over named `sources` with `constants` in scope.
    pub fn new(
        sources: &'a [(&'a str, &'a str)],
        constants: HashMap<String, Value>,
        functions: &'a Functions<'a>,
        lazy: Lazy,
    ) -> Self {
        Self {
            sources,
            functions,
            scopes: vec![constants],
            inlined: HashMap::new(),
            lazy,
            out: String::new(),
        }
    }

    /// The WGSL of the source called `name`, and the declarations of constants that follow it.
    ///
    /// # Errors
    /// A sentence with the offending line, for a template that does not parse or a bound that
    /// cannot be kept.
    pub fn expand(mut self, name: &str) -> Result<(String, String)> {
        self.include(name)?;
        Ok((self.out, self.lazy.constants()))
    }

    fn include(&mut self, name: &str) -> Result<()> {
        let (_, text) = self
            .sources
            .iter()
            .find(|(n, _)| *n == name)
            .ok_or(format!("no shader source called {name}"))?;
        self.run(&owned(text.lines())).map_err(|e| format!("{name}: {e}"))
    }

    fn run(&mut self, mut lines: &[String]) -> Result<()> {
        while let Some((line, after)) = lines.split_first() {
            lines = self.next(line, after)?;
        }
        Ok(())
    }

    /// Runs what `line` begins; what comes behind that.
    fn next<'l>(&mut self, line: &'l str, after: &'l [String]) -> Result<&'l [String]> {
        let code = line.trim();
        if let Some(rest) = code.strip_prefix("for ").filter(|rest| !rest.starts_with('(')) {
            return self.repeated(rest, after);
        }
        if let Some(condition) = code.strip_prefix("#if ") {
            return self.condition(condition, after);
        }
        if let Some(name) = code.strip_prefix("#include ") {
            self.include(name)?;
        } else if code.starts_with('#') {
            return Err(format!("unexpected directive {code}"));
        } else if let Some(rest) = code.strip_prefix("inline fn ") {
            let head = rest.strip_suffix(") {").and_then(|head| head.split_once('('));
            let (name, parameters) = head.ok_or("inline fn NAME(parameters) {")?;
            let (body, after) = block(after)?;
            let parameters = owned(split_outside_parentheses(parameters));
            let function = Function { parameters, body: body.to_vec() };
            self.inlined.insert(name.to_owned(), Rc::new(function));
            return Ok(after);
        } else if let Some((name, value)) = code.split_once(" := ").filter(|(n, _)| is_name(n)) {
            let value = self.value(value)?;
            self.scopes.last_mut().expect("a scope").insert(name.to_owned(), value);
        } else if let Some((name, _)) = code.split_once('(').filter(|(name, _)| is_name(name)) {
            let (text, after) = statement(line, after);
            self.call(name, &text).map_err(|e| format!("{e}, at `{}`", text.trim()))?;
            return Ok(after);
        } else {
            self.line(line)?;
        }
        Ok(after)
    }

    /// Runs the first branch whose condition holds; what comes behind `#end`.
    fn condition<'l>(
        &mut self,
        mut condition: &'l str,
        mut lines: &'l [String],
    ) -> Result<&'l [String]> {
        let mut taken = false;
        loop {
            let (branch, end, after) = branch(lines)?;
            if !taken && self.evaluate(condition)? != 0 {
                taken = true;
                self.run(branch)?;
            }
            lines = after;
            condition = match end.strip_prefix("#elif ") {
                Some(next) => next,
                None if end == "#else" => "1",
                None => return Ok(lines),
            };
        }
    }

    /// Runs what a `for` repeats: a block, or a statement that may go on in the lines below.
    fn repeated<'l>(&mut self, head: &str, after: &'l [String]) -> Result<&'l [String]> {
        let (text, body, after) = match head.strip_suffix(" {") {
            Some(_) => {
                let (body, after) = block(after)?;
                (head.to_owned(), Cow::Borrowed(body), after)
            }
            None => {
                let (text, after) = statement(head, after);
                let (_, body) = text.split_once(':').ok_or(FOR)?;
                let body = owned(body.trim_start().lines());
                (text, Cow::Owned(body), after)
            }
        };
        let ranges = text.split([':', '{']).next().unwrap_or_default();
        let (ranges, condition) = ranges.split_once(" if ").unwrap_or((ranges, "1"));
        self.repeat(&split_outside_parentheses(ranges), condition, &body)?;
        Ok(after)
    }

    /// Runs `body` for all values of the ranges, the last of which is the innermost loop.
    fn repeat(&mut self, ranges: &[&str], condition: &str, body: &[String]) -> Result<()> {
        let Some((range, inner)) = ranges.split_first() else {
            return if self.evaluate(condition)? == 0 { Ok(()) } else { self.run(body) };
        };
        let (variable, range) = range.split_once(" in ").ok_or(FOR)?;
        let (from, to) = range.split_once("..").ok_or(FOR)?;
        let (to, step) = to.split_once(" step ").unwrap_or((to, "1"));
        let step = usize::try_from(self.evaluate(step)?).unwrap_or(0);
        if step == 0 {
            return Err(format!("the step of {variable} must be positive"));
        }
        for i in (self.evaluate(from)?..self.evaluate(to)?).step_by(step) {
            self.scopes.push(HashMap::from([(variable.to_owned(), Value::Int(i))]));
            self.repeat(inner, condition, body)?;
            self.scopes.pop();
        }
        Ok(())
    }

    /// Emits a line or a statement of several.
    fn line(&mut self, text: &str) -> Result<()> {
        let mut line = self.substitute(text).map_err(|e| format!("{e}, at `{}`", text.trim()))?;
        for (kind, capped) in [("lane", true), ("sum", false)] {
            let Some((declared, rest)) = line.split_once(&format!(": {kind}<")) else { continue };
            let (bound, rest) =
                rest.split_once("> =").ok_or(format!("{kind}<bound> = .. in `{line}`"))?;
            let name = declared.split_whitespace().next_back().unwrap_or_default();
            let bound = self.evaluate(bound)?;
            if capped {
                self.lazy.set(name, bound)?
            } else {
                self.lazy.set_total(name, bound)
            }
            line = format!("{declared} ={rest}");
        }
        let without_comment = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
        let code: Vec<String> = line.lines().map(without_comment).collect();
        let code = code.join("\n");
        self.declare_used(&code)?;
        let constant = code.trim().strip_prefix("const ").filter(|c| c.starts_with(is_capital));
        if let Some((name, value)) = constant.and_then(|c| c.split_once(" = ")) {
            return self.lazy.constant(name, value.trim_end_matches(';').to_owned());
        }
        self.out.push_str(&line);
        self.out.push('\n');
        Ok(())
    }

    /// Declares each number in capitals that `code` names.
    fn declare_used(&mut self, code: &str) -> Result<()> {
        let words = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for word in words.filter(|word| word.starts_with(is_capital)) {
            if let Some(Value::Int(x)) = self.scopes[0].get(word)
                && let Ok(x) = u32::try_from(*x)
            {
                self.lazy.constant(word, format!("{x}u"))?;
            }
        }
        Ok(())
    }

    /// A call of what is inlined or emits words with bounds; or else a call in WGSL.
    fn call(&mut self, name: &str, text: &str) -> Result<()> {
        let text = self.substitute(text)?;
        let arguments = text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(");"));
        let given = split_outside_parentheses(arguments.unwrap_or_default());
        let Some(function) = self.inlined.get(name).cloned() else {
            return match self.lazy_call(name, &given)? {
                Some(emitted) => {
                    self.out.push_str(&emitted);
                    Ok(())
                }
                None => self.line(&text),
            };
        };
        let Function { parameters, body } = &*function;
        let (takes, got) = (parameters.len(), given.len());
        if got != takes {
            return Err(format!("{name} takes {takes} arguments, got {got}"));
        }
        let value = |text: &str| self.value(text).unwrap_or_else(|_| Value::Text(text.to_owned()));
        let scope = parameters.iter().cloned().zip(given.into_iter().map(value)).collect();
        self.scopes.push(scope);
        self.run(body)?;
        self.scopes.pop();
        Ok(())
    }

    /// What a call emits that knows bounds; nothing for other calls.
    fn lazy_call(&mut self, name: &str, given: &[&str]) -> Result<Option<String>> {
        let word = |text: &str| {
            let word = self.evaluate(text)?;
            usize::try_from(word).map_err(|_| format!("no word {word}"))
        };
        let nothing = |()| String::new();
        let emitted = match (name, given) {
            ("bound", [variable, bound]) => {
                self.lazy.set(variable, self.evaluate(bound)?).map(nothing)
            }
            ("join", [registers]) => self.lazy.join(registers).map(nothing),
            ("may_hold", [array, variable]) => self.lazy.may_hold(array, variable).map(nothing),
            ("reduce", [w, variable, limit]) => {
                self.lazy.reduce(word(w)?, variable, self.evaluate(limit)?)
            }
            ("canonical", [w, variable]) => self.lazy.canonical(word(w)?, variable),
            ("forward_butterfly", [w, u, v, by]) => self.lazy.forward(word(w)?, u, v, by),
            ("inverse_butterfly", [w, u, v, by]) => self.lazy.inverse(word(w)?, u, v, by),
            _ if LAZY.contains(&name) => Err("wrong arguments".into()),
            _ => return Ok(None),
        };
        emitted.map(Some)
    }

    fn lookup(&self, name: &str) -> Option<&Value> {
        self.scopes.iter().rev().find_map(|s| s.get(name))
    }

    fn value(&self, expression: &str) -> Result<Value> {
        let expression = self.substitute(expression)?;
        let expression = expression.trim();
        if let Some(value) = self.lookup(expression) {
            return Ok(value.clone());
        }
        let of = |name: &str| {
            let arguments = expression.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
            Some(split_outside_parentheses(arguments))
        };
        if let Some([word, factor]) = of("twiddle").as_deref() {
            let (word, factor) = (self.evaluate(word)?, self.evaluate(factor)?);
            return Ok(Value::Text(self.lazy.twiddle(word as usize, factor)?));
        }
        if let Some([number]) = of("words").as_deref() {
            let number = self.evaluate(number)?;
            let [low, high] = [number as u32, (number >> 32) as u32];
            return Ok(Value::Text(format!("vec2<u32>({low}u, {high}u)")));
        }
        Ok(Value::Int(self.evaluate(expression)?))
    }

    /// Replaces each `${expression}` and each subscript `_{expression}` of a name, innermost first;
    /// in comments the former alone.
    fn substitute(&self, text: &str) -> Result<String> {
        let comment = text.trim_start().starts_with("//");
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest
            .match_indices('{')
            .map(|(at, _)| at)
            .find(|&at| rest[..at].ends_with('$') || rest[..at].ends_with('_') && !comment)
        {
            out.push_str(rest[..start].trim_end_matches('$'));
            let inner = &rest[start + 1..];
            let mut depth = 1;
            let end = inner
                .char_indices()
                .find_map(|(i, c)| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    (depth == 0).then_some(i)
                })
                .ok_or(format!("unclosed {{ in `{text}`"))?;
            match self.value(&inner[..end])? {
                Value::Int(i) => out.push_str(&i.to_string()),
                Value::Text(t) => out.push_str(&t),
            }
            rest = &inner[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn evaluate(&self, expression: &str) -> Result<i128> {
        expression::evaluate(&self.substitute(expression)?, self)
    }
}

/// Calls that know bounds.
const LAZY: [&str; 7] =
    ["bound", "join", "may_hold", "reduce", "canonical", "forward_butterfly", "inverse_butterfly"];
/// What a `for` looks like.
const FOR: &str = "for NAME in from..to step by, .. if condition {, or : statement;";

fn is_capital(c: char) -> bool {
    c.is_ascii_uppercase()
}

impl Names for Expander<'_> {
    fn constant(&self, name: &str) -> Result<i128> {
        match self.lookup(name) {
            Some(Value::Int(i)) => Ok(*i),
            Some(Value::Text(_)) => Err(format!("{name} is text, not a number")),
            None => Err(format!("no constant called {name}")),
        }
    }

    fn bound(&self, name: &str) -> Result<i128> {
        self.lazy.get(name)
    }

    fn function(&self, name: &str, arguments: &[i128]) -> Option<i128> {
        (self.functions)(name, arguments)
    }
}

#[cfg(test)]
mod tests;
