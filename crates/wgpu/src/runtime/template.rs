//! What makes WGSL of the texts of `shaders/`: loops are unrolled, functions inlined, and bounds of
//! words tracked. `shaders/README.md` has the language.

use crate::runtime::expression::{self, Names};
use crate::runtime::lazy::Lazy;
use crate::runtime::syntax::{Node, parse, split_outside_parentheses};
use std::collections::HashMap;

/// A constant known while a shader is generated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i128),
    Text(String),
}

/// Integer functions that templates may call, such as `root(word, index)`.
pub(crate) type Functions<'a> = dyn Fn(&str, &[i128]) -> Option<i128> + 'a;

type Result<T> = std::result::Result<T, String>;

/// Expands templates into WGSL.
pub(crate) struct Expander<'a> {
    sources: &'a [(&'a str, &'a str)],
    functions: &'a Functions<'a>,
    scopes: Vec<HashMap<String, Value>>,
    inlined: HashMap<String, (Vec<String>, Vec<Node>)>,
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

    /// The WGSL of the source called `name`.
    ///
    /// # Errors
    /// A sentence with the offending line, for a template that does not parse or a bound that
    /// cannot be kept.
    pub fn expand(self, name: &str) -> Result<String> {
        let (text, constants) = self.expand_apart(name)?;
        Ok(text + &constants)
    }

    /// The same as the text and the declarations of constants that follow it.
    ///
    /// # Errors
    /// As [`Expander::expand`].
    pub fn expand_apart(mut self, name: &str) -> Result<(String, String)> {
        self.include(name)?;
        Ok((self.out, self.lazy.constants()))
    }

    fn include(&mut self, name: &str) -> Result<()> {
        let (_, text) = self
            .sources
            .iter()
            .find(|(n, _)| *n == name)
            .ok_or(format!("no shader source called {name}"))?;
        let nodes = parse(text).map_err(|e| format!("{name}: {e}"))?;
        self.run(&nodes).map_err(|e| format!("{name}: {e}"))
    }

    fn run(&mut self, nodes: &[Node]) -> Result<()> {
        for node in nodes {
            match node {
                Node::Line(text) => self.line(text)?,
                Node::Call(name, text) => {
                    self.call(name, text).map_err(|e| format!("{e}, at `{}`", text.trim()))?;
                }
                Node::Include(name) => self.include(name)?,
                Node::Define(name, expression) => {
                    let value = self.value(expression)?;
                    self.scopes.last_mut().expect("a scope").insert(name.clone(), value);
                }
                Node::If(branches) => {
                    for (condition, body) in branches {
                        if self.evaluate(condition)? != 0 {
                            self.run(body)?;
                            break;
                        }
                    }
                }
                Node::For { variable, from, to, step, body } => {
                    let step = usize::try_from(self.evaluate(step)?).unwrap_or(0);
                    if step == 0 {
                        return Err(format!("the step of {variable} must be positive"));
                    }
                    for i in (self.evaluate(from)?..self.evaluate(to)?).step_by(step) {
                        self.scoped(HashMap::from([(variable.clone(), Value::Int(i))]), body)?;
                    }
                }
                Node::Function { name, parameters, body } => {
                    self.inlined.insert(name.clone(), (parameters.clone(), body.clone()));
                }
            }
        }
        Ok(())
    }

    fn scoped(&mut self, scope: HashMap<String, Value>, body: &[Node]) -> Result<()> {
        self.scopes.push(scope);
        let result = self.run(body);
        self.scopes.pop();
        result
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
        let lazily = matches!(
            name,
            "reduce"
                | "canonical"
                | "bound"
                | "join"
                | "may_hold"
                | "forward_butterfly"
                | "inverse_butterfly"
        );
        let inlined = self.inlined.get(name).cloned();
        if !lazily && inlined.is_none() {
            return self.line(text);
        }
        let text = self.substitute(text)?;
        let arguments = text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(");"));
        let given = split_outside_parentheses(arguments.unwrap_or_default());
        let Some((parameters, body)) = inlined else {
            let text = self.lazy_call(name, &given)?;
            self.out.push_str(&text);
            return Ok(());
        };
        if given.len() != parameters.len() {
            return Err(format!(
                "{name} takes {} arguments, got {}",
                parameters.len(),
                given.len()
            ));
        }
        let mut scope = HashMap::new();
        for (parameter, argument) in parameters.iter().zip(given) {
            let value = self.value(argument).unwrap_or_else(|_| Value::Text(argument.to_string()));
            scope.insert(parameter.clone(), value);
        }
        self.scoped(scope, &body)
    }

    fn lazy_call(&mut self, name: &str, given: &[&str]) -> Result<String> {
        let word = |text: &str| {
            let word = self.evaluate(text)?;
            usize::try_from(word).map_err(|_| format!("no word {word}"))
        };
        let nothing = |()| String::new();
        match (name, given) {
            ("bound", [variable, bound]) => {
                self.lazy.set(variable, self.evaluate(bound)?).map(nothing)
            }
            ("join", [registers]) => self.lazy.join(registers).map(nothing),
            ("may_hold", [array, variable]) => self.lazy.may_hold(array, variable).map(nothing),
            ("reduce", [w, variable, limit]) => {
                self.lazy.reduce(word(w)?, variable, self.evaluate(limit)?)
            }
            ("canonical", [w, variable]) => self.lazy.canonical(word(w)?, variable),
            ("forward_butterfly", [w, u, v, factor]) => self.lazy.forward(word(w)?, u, v, factor),
            ("inverse_butterfly", [w, u, v, factor]) => self.lazy.inverse(word(w)?, u, v, factor),
            _ => Err("wrong arguments".into()),
        }
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
mod tests {
    use super::*;

    fn expand(text: &str) -> Result<String> {
        let constants = HashMap::from([
            ("N".to_string(), Value::Int(3)),
            ("NAME".to_string(), Value::Text("x".into())),
        ]);
        let functions =
            |name: &str, arguments: &[i128]| (name == "twice").then(|| 2 * arguments[0]);
        let sources = [("main", text), ("other", "other ${N}")];
        Expander::new(
            &sources,
            constants,
            &functions,
            Lazy::new(&[97], crate::runtime::numbers::Numbers::Unsigned { coarse: false }),
        )
        .expand("main")
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
}
