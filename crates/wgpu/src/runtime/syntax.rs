//! The directives of templates, parsed (`shaders/README.md` lists them).

type Result<T> = std::result::Result<T, String>;

/// A line of a template, or a directive with what stands inside it.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Line(String),
    Include(String),
    Set(String, String),
    Update(String, String),
    If(Vec<(String, Vec<Node>)>),
    For { variable: String, from: String, to: String, body: Vec<Node> },
    Def { name: String, parameters: Vec<String>, body: Vec<Node> },
    Call { name: String, arguments: String },
    Lazy { name: String, arguments: String },
}

/// Parses until one of `ends`; returns the nodes and the line that ended them.
pub(crate) fn parse_block<'t>(
    lines: &[&'t str],
    at: &mut usize,
    ends: &[&str],
) -> Result<(Vec<Node>, &'t str)> {
    let mut nodes = Vec::new();
    while let Some(&line) = lines.get(*at) {
        *at += 1;
        let Some(directive) = line.trim_start().strip_prefix('#') else {
            nodes.push(Node::Line(line.to_string()));
            continue;
        };
        let (name, rest) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let rest = rest.trim();
        if ends.contains(&name) {
            return Ok((nodes, directive));
        }
        let indentation = &line[..line.len() - line.trim_start().len()];
        nodes.extend(
            parse_directive(lines, at, name, rest, indentation)
                .map_err(|e| format!("line {}: {e}", *at))?,
        );
    }
    if ends.is_empty() { Ok((nodes, "")) } else { Err(format!("missing #{}", ends.join(" or #"))) }
}

/// The one line of a `#for` that ends with it.
fn parse_line(line: &str, indentation: &str) -> Result<Node> {
    let Some(directive) = line.strip_prefix('#') else {
        return Ok(Node::Line(format!("{indentation}{line}")));
    };
    let (name, rest) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
    if ["for", "if", "def"].contains(&name) {
        return Err(format!("#{name} takes lines of its own, up to #end"));
    }
    let mut nodes = parse_directive(&[], &mut 0, name, rest.trim(), indentation)?;
    nodes.pop().ok_or_else(|| format!("#{name} is no line"))
}

/// The parts between the commas of `text` that no parentheses enclose.
fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let split = move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    text.split(split).collect()
}

/// The nodes of one directive; `indentation` is what stands before it.
fn parse_directive(
    lines: &[&str],
    at: &mut usize,
    name: &str,
    rest: &str,
    indentation: &str,
) -> Result<Vec<Node>> {
    let node = match name {
        "include" => Node::Include(rest.to_string()),
        "set" | "update" => {
            let (variable, expression) =
                rest.split_once(char::is_whitespace).ok_or("#set NAME expression")?;
            let make = if name == "set" { Node::Set } else { Node::Update };
            make(variable.to_string(), expression.to_string())
        }
        "if" => {
            let mut branches = Vec::new();
            let mut condition = rest.to_string();
            loop {
                let (body, end) = parse_block(lines, at, &["elif", "else", "end"])?;
                branches.push((condition, body));
                if let Some(next) = end.strip_prefix("elif") {
                    condition = next.trim().to_string();
                } else if end.starts_with("else") {
                    condition = "1".to_string();
                } else {
                    break;
                }
            }
            Node::If(branches)
        }
        "for" => {
            let (ranges, one) = match rest.split_once(": ") {
                Some((ranges, line)) => (ranges, Some(line)),
                None => (rest, None),
            };
            let mut body = match one {
                Some(line) => vec![parse_line(line, indentation)?],
                None => parse_block(lines, at, &["end"])?.0,
            };
            // The last range is the innermost loop.
            for range in split_outside_parentheses(ranges).into_iter().rev() {
                let (variable, range) = range.split_once(" in ").ok_or("#for NAME in from..to")?;
                let (from, to) = range.split_once("..").ok_or("#for NAME in from..to")?;
                let (variable, from, to) = (variable.trim().into(), from.into(), to.into());
                body = vec![Node::For { variable, from, to, body }];
            }
            return Ok(body);
        }
        "def" => {
            let (name, parameters) =
                rest.trim_end_matches(')').split_once('(').ok_or("#def NAME(parameters)")?;
            let parameters = parameters
                .split(',')
                .map(|p| p.trim().to_string())
                .filter(|p| !p.is_empty())
                .collect();
            Node::Def {
                name: name.trim().to_string(),
                parameters,
                body: parse_block(lines, at, &["end"])?.0,
            }
        }
        "call" => {
            let (name, arguments) = rest.split_once('(').ok_or("#call NAME(arguments)")?;
            let arguments = arguments.strip_suffix(')').ok_or("#call NAME(arguments)")?;
            Node::Call { name: name.trim().to_string(), arguments: arguments.to_string() }
        }
        "bound" | "join" | "reduce" | "canonical" | "constant" | "twiddle"
        | "forward_butterfly" | "inverse_butterfly" => {
            Node::Lazy { name: name.to_string(), arguments: rest.to_string() }
        }
        _ => return Err(format!("unknown directive #{name}")),
    };
    Ok(vec![node])
}
