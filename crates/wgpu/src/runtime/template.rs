//! The preprocessor of `shaders/`: unrolling, conditions, macros and tracked bounds for WGSL, which
//! has no templates.
//!
//! A line whose first character other than space is `#` is a directive; every other line is WGSL,
//! in which `${...}` is replaced by the value of an integer expression or of a text constant.
//! `shaders/README.md` lists the directives.

use crate::runtime::expression::{self, Names};
use crate::runtime::lazy::Lazy;
use crate::runtime::syntax::{Node, parse_block};
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
    macros: HashMap<String, (Vec<String>, Vec<Node>)>,
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
            macros: HashMap::new(),
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
        let lines: Vec<&str> = text.lines().collect();
        let mut at = 0;
        let nodes = parse_block(&lines, &mut at, &[]).map_err(|e| format!("{name}: {e}"))?.0;
        self.run(&nodes).map_err(|e| format!("{name}: {e}"))
    }

    fn run(&mut self, nodes: &[Node]) -> Result<()> {
        for node in nodes {
            match node {
                Node::Line(text) => {
                    let line =
                        self.substitute(text).map_err(|e| format!("{e}, at `{}`", text.trim()))?;
                    self.out.push_str(&line);
                    self.out.push('\n');
                }
                Node::Include(name) => self.include(name)?,
                Node::Set(name, expression) => {
                    let value = self.value(expression)?;
                    self.scopes.last_mut().expect("a scope").insert(name.clone(), value);
                }
                Node::Update(name, expression) => {
                    let value = self.value(expression)?;
                    let scope = self
                        .scopes
                        .iter_mut()
                        .rev()
                        .find(|s| s.contains_key(name))
                        .ok_or(format!("no constant called {name}"))?;
                    scope.insert(name.clone(), value);
                }
                Node::If(branches) => {
                    for (condition, body) in branches {
                        if self.evaluate(condition)? != 0 {
                            self.run(body)?;
                            break;
                        }
                    }
                }
                Node::For { variable, from, to, body } => {
                    for i in self.evaluate(from)?..self.evaluate(to)? {
                        self.scoped(HashMap::from([(variable.clone(), Value::Int(i))]), body)?;
                    }
                }
                Node::Def { name, parameters, body } => {
                    self.macros.insert(name.clone(), (parameters.clone(), body.clone()));
                }
                Node::Call { name, arguments } => self.call(name, arguments)?,
                Node::Lazy { name, arguments } => {
                    let arguments = self.substitute(arguments)?;
                    let text = self
                        .lazy_directive(name, &arguments)
                        .map_err(|e| format!("#{name} {arguments}: {e}"))?;
                    self.out.push_str(&text);
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

    fn call(&mut self, name: &str, arguments: &str) -> Result<()> {
        let (parameters, body) =
            self.macros.get(name).cloned().ok_or(format!("no macro called {name}"))?;
        let arguments = self.substitute(arguments)?;
        let given: Vec<&str> =
            arguments.split(',').map(str::trim).filter(|a| !a.is_empty()).collect();
        if given.len() != parameters.len() {
            return Err(format!(
                "macro {name} takes {} arguments, got {}",
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

    fn lazy_directive(&mut self, name: &str, arguments: &str) -> Result<String> {
        let given: Vec<&str> = arguments.split_whitespace().collect();
        match (name, &given[..]) {
            ("bound", [variable, ..]) => {
                let bound = self.evaluate(&given[1..].join(" "))?;
                self.lazy.set(variable, bound)?;
                Ok(String::new())
            }
            ("join", names) => {
                self.lazy.join(names)?;
                Ok(String::new())
            }
            ("reduce", [word, variable, ..]) => {
                let limit = self.evaluate(&given[2..].join(" "))?;
                self.lazy.reduce(word.parse().map_err(|_| "a word")?, variable, limit)
            }
            ("canonical", [word, variable]) => {
                self.lazy.canonical(word.parse().map_err(|_| "a word")?, variable)
            }
            ("twiddle", [variable, word, ..]) => {
                let factor = self.evaluate(&given[2..].join(" "))?;
                self.lazy.twiddle(variable, word.parse().map_err(|_| "a word")?, factor)?;
                Ok(String::new())
            }
            ("constant", [name, ..]) => {
                self.lazy.constant(name, given[1..].join(" "))?;
                Ok(String::new())
            }
            ("forward_butterfly", [word, u, v, ..]) => {
                self.lazy.forward(word.parse().map_err(|_| "a word")?, u, v, &given[3..].join(" "))
            }
            ("inverse_butterfly", [word, u, v, ..]) => {
                self.lazy.inverse(word.parse().map_err(|_| "a word")?, u, v, &given[3..].join(" "))
            }
            _ => Err("wrong arguments".into()),
        }
    }

    fn lookup(&self, name: &str) -> Option<&Value> {
        self.scopes.iter().rev().find_map(|s| s.get(name))
    }

    fn value(&self, expression: &str) -> Result<Value> {
        let expression = self.substitute(expression)?;
        match self.lookup(expression.trim()) {
            Some(value) => Ok(value.clone()),
            None => Ok(Value::Int(self.evaluate(&expression)?)),
        }
    }

    /// Replaces each `${...}`, innermost first.
    fn substitute(&self, text: &str) -> Result<String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            out.push_str(&rest[..start]);
            let inner = &rest[start + 2..];
            let mut depth = 1;
            let end = inner
                .char_indices()
                .find_map(|(i, c)| {
                    depth += match c {
                        '{' => 1,
                        '}' => -1,
                        _ => 0,
                    };
                    (depth == 0).then_some(i)
                })
                .ok_or(format!("unclosed ${{ in `{text}`"))?;
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
            ("#for i in 0..N\nv_${i}\n#end", "v_0\nv_1\nv_2\n"),
            ("#for i in 0..2, j in i..2\n${i}${j}\n#end", "00\n01\n11\n"),
            ("  #for i in 0..max(1, 2), j in 0..1: v_${i}: ${j}", "  v_0: 0\n  v_1: 0\n"),
            ("#def m(a)\n${a}\n#end\n#for i in 0..2: #call m(${i})", "0\n1\n"),
            ("#if N == 3 && !0\nyes\n#else\nno\n#end", "yes\n"),
            ("#if N < 3\na\n#elif N % 2 == 1\nb\n#end", "b\n"),
            ("#include other", "other 3\n"),
            ("#def m(a, b)\n${a}:${b + 1}\n#end\n#call m(y, 4)", "y:5\n"),
            ("#set K 1\n#for i in 0..4\n#update K max(K, i)\n#end\n${K}", "3\n"),
            ("#set K 1\n#for i in 0..4\n#set K 9\n#end\n${K}", "1\n"),
            ("${twice(1 << 5)} ${(7 - 9) / 2} ${-N}", "64 -1 -3\n"),
            ("#bound x 200\n${@x}", "200\n"),
            ("#constant C ${N + 1}u\nC", "C\nconst C = 4u;\n"),
            ("#twiddle W 0 N + 1\nW", "W\nconst W = vec2<u32>(4u, 177112053u);\n"),
            ("${V_${N - 3}}\n", ""),
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
            ("#for i in 0..2\nx", "missing #end"),
            ("#for i in 0..2: #if i", "#if takes lines of its own"),
            ("#for i in 0..2, j: x", "#for NAME in from..to"),
            ("#call m(1)", "no macro called m"),
            ("#def m(a)\n#end\n#call m(1, 2)", "takes 1 arguments"),
            ("#nothing", "unknown directive #nothing"),
            ("#include missing", "no shader source called missing"),
            ("#reduce 0 x 97", "no bound is known of x"),
            ("${unclosed", "unclosed"),
        ] {
            let error = expand(text).expect_err(text);
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
