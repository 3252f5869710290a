//! Templates, parsed (`shaders/README.md` has the language).

type Result<T> = std::result::Result<T, String>;

/// A line or a statement of a template, or what generates lines, with what stands inside it.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Line(String),
    /// `name(arguments);`, a statement that may be a function of the template's.
    Call(String, String),
    Include(String),
    Define(String, String),
    If(Vec<(String, Vec<Node>)>),
    For {
        variable: String,
        from: String,
        to: String,
        step: String,
        body: Vec<Node>,
    },
    Function {
        name: String,
        parameters: Vec<String>,
        body: Vec<Node>,
    },
}

/// The nodes of a whole text.
///
/// # Errors
/// What is wrong, with the line.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>> {
    let mut lines = Lines { lines: text.lines().collect(), at: 0 };
    let nodes = lines.block(End::Text);
    let line = || lines.lines[lines.at.saturating_sub(1)].trim();
    nodes.map(|nodes| nodes.0).map_err(|e| format!("{e}, at `{}`", line()))
}

/// The parts between the commas of `text` that no parentheses enclose.
pub(crate) fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let split = move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    text.split(split).map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// What ends a block.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Text,
    Brace,
    Directive,
}

struct Lines<'t> {
    lines: Vec<&'t str>,
    at: usize,
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl<'t> Lines<'t> {
    /// The nodes up to `end`, and the directive that ended them.
    fn block(&mut self, end: End) -> Result<(Vec<Node>, &'t str)> {
        let mut nodes = Vec::new();
        // Braces of WGSL that are open.
        let mut depth = 0;
        while let Some(&line) = self.lines.get(self.at) {
            self.at += 1;
            let code = line.trim();
            if code == "}" && depth == 0 && end == End::Brace {
                return Ok((nodes, ""));
            }
            let Some(directive) = code.strip_prefix('#') else {
                let node = self.node(line)?;
                if let Node::Line(text) = &node {
                    let code = text.split("//").next().unwrap_or_default();
                    depth += code.matches('{').count() as i32 - code.matches('}').count() as i32;
                }
                nodes.push(node);
                continue;
            };
            nodes.push(match directive.split_once(' ').unwrap_or((directive, "")) {
                ("elif" | "else" | "end", _) if end == End::Directive => {
                    return Ok((nodes, directive));
                }
                ("include", name) => Node::Include(name.into()),
                ("if", condition) => self.condition(condition)?,
                (name, _) => return Err(format!("unexpected directive #{name}")),
            });
        }
        match end {
            End::Text => Ok((nodes, "")),
            End::Brace => Err("missing }".into()),
            End::Directive => Err("missing #elif, #else or #end".into()),
        }
    }

    /// What `line` begins, which has been read.
    fn node(&mut self, line: &str) -> Result<Node> {
        let code = line.trim_start();
        if let Some(rest) = code.strip_prefix("for ").filter(|rest| !rest.starts_with('(')) {
            return self.repeated(rest);
        }
        if let Some(rest) = code.strip_prefix("inline fn ") {
            let head = rest.strip_suffix(") {").and_then(|head| head.split_once('('));
            let (name, parameters) = head.ok_or("inline fn NAME(parameters) {")?;
            let parameters = split_outside_parentheses(parameters);
            let parameters = parameters.into_iter().map(str::to_owned).collect();
            let body = self.block(End::Brace)?.0;
            return Ok(Node::Function { name: name.into(), parameters, body });
        }
        if let Some((name, value)) = code.split_once(" := ").filter(|(name, _)| is_name(name)) {
            return Ok(Node::Define(name.into(), value.into()));
        }
        match code.split_once('(').filter(|(name, _)| is_name(name)) {
            Some((name, _)) => Ok(Node::Call(name.into(), self.statement(line))),
            None => Ok(Node::Line(line.to_owned())),
        }
    }

    /// `text` and the lines after it up to the end of a statement or the next directive.
    fn statement(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        while !text.ends_with(';')
            && !text.ends_with("; }")
            && let Some(next) = self.lines.get(self.at).filter(|next| !next.starts_with('#'))
        {
            self.at += 1;
            text.push('\n');
            text.push_str(next);
        }
        text
    }

    /// The branches of `#if condition`.
    fn condition(&mut self, condition: &str) -> Result<Node> {
        let mut branches = Vec::new();
        let mut condition = condition.to_owned();
        loop {
            let (body, end) = self.block(End::Directive)?;
            branches.push((condition, body));
            condition = match end.split_once(' ').unwrap_or((end, "")) {
                ("elif", next) => next.to_owned(),
                ("else", _) => "1".to_owned(),
                _ => return Ok(Node::If(branches)),
            };
        }
    }

    /// What a `for` repeats: a block, or a statement that may go on in the lines below.
    fn repeated(&mut self, rest: &str) -> Result<Node> {
        const SHAPE: &str = "for NAME in from..to step by, .. if condition {, or : statement;";
        let (ranges, mut body) = if let Some(ranges) = rest.strip_suffix(" {") {
            (ranges.to_owned(), self.block(End::Brace)?.0)
        } else {
            let text = self.statement(rest);
            let (ranges, statement) = text.split_once(':').ok_or(SHAPE)?;
            (ranges.to_owned(), parse(statement.trim_start())?)
        };
        let (ranges, condition) = ranges.split_once(" if ").unwrap_or((&ranges, "1"));
        body = vec![Node::If(vec![(condition.into(), body)])];
        // The last range is the innermost loop.
        for range in split_outside_parentheses(ranges).into_iter().rev() {
            let (variable, range) = range.split_once(" in ").ok_or(SHAPE)?;
            let (from, to) = range.split_once("..").ok_or(SHAPE)?;
            let (to, step) = to.split_once(" step ").unwrap_or((to, "1"));
            let [variable, from, to, step] = [variable, from, to, step].map(str::to_owned);
            body = vec![Node::For { variable, from, to, step, body }];
        }
        body.pop().ok_or_else(|| SHAPE.to_owned())
    }
}
