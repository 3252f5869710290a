//! Plain values that a function may give instead of what it computes.

/// Expressions of a return type; none where nothing plain is of it.
pub fn values(output: &syn::ReturnType) -> Vec<String> {
    match output {
        syn::ReturnType::Default => vec!["()".into()],
        syn::ReturnType::Type(_, ty) => of(ty),
    }
}

fn of(ty: &syn::Type) -> Vec<String> {
    let texts = |all: &[&str]| all.iter().map(|v| (*v).to_owned()).collect();
    match ty {
        syn::Type::Path(path) if path.qself.is_none() => of_path(&path.path),
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => texts(&["()"]),
        syn::Type::Tuple(tuple) => {
            let parts: Vec<Vec<String>> = tuple.elems.iter().map(of).collect();
            let most = parts.iter().map(Vec::len).max().unwrap_or(0);
            if parts.iter().any(Vec::is_empty) {
                return Vec::new();
            }
            // Not every combination: each value once.
            let row = |i: usize| {
                let values: Vec<&str> = parts.iter().map(|p| p[i % p.len()].as_str()).collect();
                format!("({},)", values.join(", "))
            };
            (0..most).map(row).collect()
        }
        syn::Type::Array(array) => of(&array.elem).iter().map(|v| format!("[{v}; _]")).collect(),
        syn::Type::Reference(reference) if reference.mutability.is_none() => {
            match &*reference.elem {
                syn::Type::Slice(_) => texts(&["&[]"]),
                syn::Type::Path(path) if path.path.is_ident("str") => texts(&["\"\"", "\"girih\""]),
                _ => Vec::new(),
            }
        }
        syn::Type::Paren(inner) => of(&inner.elem),
        _ => Vec::new(),
    }
}

fn of_path(path: &syn::Path) -> Vec<String> {
    let Some(last) = path.segments.last() else { return Vec::new() };
    let inner = || match &last.arguments {
        syn::PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(syn::GenericArgument::Type(ty)) => of(ty),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let wrapped = |open: &str, close: &str| -> Vec<String> {
        inner().iter().map(|value| format!("{open}{value}{close}")).collect()
    };
    let texts = |all: &[&str]| all.iter().map(|v| (*v).to_owned()).collect();
    match last.ident.to_string().as_str() {
        "bool" => texts(&["true", "false"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => texts(&["0", "1"]),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => texts(&["0", "1", "-1"]),
        "f32" | "f64" => texts(&["0.0", "1.0", "-1.0"]),
        "String" => texts(&["String::new()", "\"girih\".into()"]),
        "Option" => [vec!["None".into()], wrapped("Some(", ")")].concat(),
        "Result" => wrapped("Ok(", ")"),
        "Vec" => [vec!["Vec::new()".into()], wrapped("vec![", "]")].concat(),
        "Box" => wrapped("Box::new(", ")"),
        // Where the type has one; where not, the compiler says so.
        _ => texts(&["Default::default()"]),
    }
}
