//! Amounts of memory on the command line.

/// Bytes, from `24G`, `512M`, `64K` or a plain number; a G is 2^30.
///
/// # Errors
/// For anything else, zero, and more than 2^64.
pub fn parse(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err(no_amount(text)),
    };
    let bytes = number.parse::<f64>().ok().map(|n| (n * f64::from(1u32 << shift)).floor());
    match bytes {
        Some(bytes) if (1.0..u64::MAX as f64).contains(&bytes) => Ok(bytes as u64),
        _ => Err(no_amount(text)),
    }
}

fn no_amount(text: &str) -> String {
    format!("`{text}` is no amount of memory; give it as 24G or 512M")
}

/// In units of 2^30 bytes.
pub fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / f64::from(1u32 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        for (text, bytes) in [
            ("24G", 24 << 30),
            ("24GiB", 24 << 30),
            ("1.5g", 3 << 29),
            ("512M", 512 << 20),
            ("64k", 64 << 10),
            ("4096", 4096),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in
            ["", "G", "-1G", "0", "24T", "many", "nanG", "infG", "1e3", "24iB", "24GBB", "24Gb2"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(gib(3 << 29), "1.50 GiB");
    }
}
