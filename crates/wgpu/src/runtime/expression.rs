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

/// The value of `expression`.
///
/// # Errors
/// What is wrong, with the expression.
pub(crate) fn evaluate(expression: &str, names: &dyn Names) -> Result<i128> {
    let tokens = tokenize(expression)?;
    let mut at = 0;
    let value = binary(names, &tokens, &mut at, 0).map_err(|e| format!("{e} in `{expression}`"))?;
    match tokens.get(at) {
        None => Ok(value),
        Some(token) => Err(format!("unexpected `{token}` in `{expression}`")),
    }
}

fn binary(names: &dyn Names, tokens: &[String], at: &mut usize, least: u8) -> Result<i128> {
    let mut left = unary(names, tokens, at)?;
    while let Some(operator) = tokens.get(*at) {
        let Some(strength) = strength(operator) else { break };
        if strength < least {
            break;
        }
        *at += 1;
        let right = binary(names, tokens, at, strength + 1)?;
        left = apply(operator, left, right)?;
    }
    Ok(left)
}

fn unary(names: &dyn Names, tokens: &[String], at: &mut usize) -> Result<i128> {
    let token = tokens.get(*at).ok_or("unexpected end")?;
    *at += 1;
    match token.as_str() {
        "-" => Ok(-unary(names, tokens, at)?),
        "!" => Ok(i128::from(unary(names, tokens, at)? == 0)),
        "(" => {
            let value = binary(names, tokens, at, 0)?;
            expect(tokens, at, ")")?;
            Ok(value)
        }
        "@" => {
            let name = tokens.get(*at).ok_or("a name must follow @")?;
            *at += 1;
            names.bound(name)
        }
        t if t.starts_with(|c: char| c.is_ascii_digit()) => {
            t.parse().map_err(|_| format!("bad number {t}"))
        }
        name if tokens.get(*at).is_some_and(|t| t == "(") => {
            *at += 1;
            let mut arguments = Vec::new();
            while tokens.get(*at).is_some_and(|t| t != ")") {
                arguments.push(binary(names, tokens, at, 0)?);
                if tokens.get(*at).is_some_and(|t| t == ",") {
                    *at += 1;
                }
            }
            expect(tokens, at, ")")?;
            match (name, &arguments[..]) {
                ("min", &[a, b]) => Ok(a.min(b)),
                ("max", &[a, b]) => Ok(a.max(b)),
                _ => names
                    .function(name, &arguments)
                    .ok_or(format!("no function {name}{arguments:?}")),
            }
        }
        name => names.constant(name),
    }
}

fn expect(tokens: &[String], at: &mut usize, token: &str) -> Result<()> {
    if tokens.get(*at).is_some_and(|t| t == token) {
        *at += 1;
        Ok(())
    } else {
        Err(format!("expected `{token}`"))
    }
}

fn strength(operator: &str) -> Option<u8> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 3,
        "|" => 4,
        "&" => 5,
        "<<" | ">>" => 6,
        "+" | "-" => 7,
        "*" | "/" | "%" => 8,
        _ => return None,
    })
}

fn apply(operator: &str, a: i128, b: i128) -> Result<i128> {
    Ok(match operator {
        "||" => i128::from(a != 0 || b != 0),
        "&&" => i128::from(a != 0 && b != 0),
        "==" => i128::from(a == b),
        "!=" => i128::from(a != b),
        "<" => i128::from(a < b),
        "<=" => i128::from(a <= b),
        ">" => i128::from(a > b),
        ">=" => i128::from(a >= b),
        "|" => a | b,
        "&" => a & b,
        "<<" => a << b,
        ">>" => a >> b,
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" | "%" if b == 0 => return Err("division by zero".into()),
        "/" => a.div_euclid(b),
        _ => a.rem_euclid(b),
    })
}

fn tokenize(text: &str) -> Result<Vec<String>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let c = bytes[i] as char;
        let start = i;
        if c.is_whitespace() {
            i += 1;
            continue;
        } else if c.is_ascii_alphanumeric() || c == '_' {
            while i < bytes.len() && (bytes[i].is_ascii_alphanumeric() || bytes[i] == b'_') {
                i += 1;
            }
        } else if ["||", "&&", "==", "!=", "<=", ">=", "<<", ">>"]
            .iter()
            .any(|o| text[i..].starts_with(o))
        {
            i += 2;
        } else if "+-*/%&|<>()!,@".contains(c) {
            i += 1;
        } else {
            return Err(format!("unexpected `{c}` in `{text}`"));
        }
        tokens.push(text[start..i].to_string());
    }
    Ok(tokens)
}
