//! Integer expressions of templates: the operators of Rust on 128-bit integers, `min`, `max`,
//! names, and `@x` for the bound of a variable.

type Result<T> = std::result::Result<T, String>;

/// What names in an expression stand for.
pub(crate) trait Names {
    /// The constant called `name`.
    fn constant(&self, name: &str) -> Result<i128>;
    /// The bound of the variable `name`.
    fn bound(&self, name: &str) -> Result<i128>;
    /// A call of the function `name`, if there is one that takes these arguments.
    fn function(&self, name: &str, arguments: &[i128]) -> Option<i128>;
}

/// An operator, how strongly it binds, and what it does.
type Operator = (&'static str, u8, fn(i128, i128) -> i128);

/// Those of two characters come before those that they begin with.
const OPERATORS: [Operator; 17] = [
    ("||", 1, |a, b| i128::from(a != 0 || b != 0)),
    ("&&", 2, |a, b| i128::from(a != 0 && b != 0)),
    ("==", 3, |a, b| i128::from(a == b)),
    ("!=", 3, |a, b| i128::from(a != b)),
    ("<=", 3, |a, b| i128::from(a <= b)),
    (">=", 3, |a, b| i128::from(a >= b)),
    ("<<", 6, |a, b| a << b),
    (">>", 6, |a, b| a >> b),
    ("<", 3, |a, b| i128::from(a < b)),
    (">", 3, |a, b| i128::from(a > b)),
    ("|", 4, |a, b| a | b),
    ("&", 5, |a, b| a & b),
    ("+", 7, |a, b| a + b),
    ("-", 7, |a, b| a - b),
    ("*", 8, |a, b| a * b),
    ("/", 8, i128::div_euclid),
    ("%", 8, i128::rem_euclid),
];

/// The value of `expression`.
///
/// # Errors
/// What is wrong, with the expression.
pub(crate) fn evaluate(expression: &str, names: &dyn Names) -> Result<i128> {
    let mut reader = Reader { rest: expression.trim(), names };
    let value = reader.binary(0).map_err(|e| format!("{e} in `{expression}`"))?;
    match reader.rest {
        "" => Ok(value),
        rest => Err(format!("unexpected `{rest}` in `{expression}`")),
    }
}

struct Reader<'a> {
    rest: &'a str,
    names: &'a dyn Names,
}

impl<'a> Reader<'a> {
    fn binary(&mut self, least: u8) -> Result<i128> {
        let mut left = self.unary()?;
        while let Some((sign, strength, apply)) =
            OPERATORS.iter().find(|(sign, ..)| self.rest.starts_with(sign))
            && *strength >= least
        {
            self.take(sign);
            let right = self.binary(strength + 1)?;
            if right == 0 && ["/", "%"].contains(sign) {
                return Err("division by zero".into());
            }
            left = apply(left, right);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i128> {
        if self.take("-") {
            return Ok(-self.unary()?);
        }
        if self.take("!") {
            return Ok(i128::from(self.unary()? == 0));
        }
        if self.take("(") {
            let value = self.binary(0)?;
            return self.take(")").then_some(value).ok_or("expected `)`".into());
        }
        if self.take("@") {
            let name = self.word()?;
            return self.names.bound(name);
        }
        let word = self.word()?;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.parse().map_err(|_| format!("bad number {word}"));
        }
        if !self.take("(") {
            return self.names.constant(word);
        }
        let mut arguments = Vec::new();
        while !self.take(")") {
            arguments.push(self.binary(0)?);
            if !self.take(",") && !self.rest.starts_with(')') {
                return Err("expected `)`".into());
            }
        }
        match (word, &arguments[..]) {
            ("min", &[a, b]) => Ok(a.min(b)),
            ("max", &[a, b]) => Ok(a.max(b)),
            _ => self
                .names
                .function(word, &arguments)
                .ok_or(format!("no function {word}{arguments:?}")),
        }
    }

    /// Whether `sign` comes next; it is read.
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign).map(str::trim_start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A number or a name.
    fn word(&mut self) -> Result<&'a str> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        match (word, self.rest.chars().next()) {
            ("", None) => Err("unexpected end".into()),
            ("", Some(c)) => Err(format!("unexpected `{c}`")),
            _ => Ok(word),
        }
    }
}
