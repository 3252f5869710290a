//! Amounts of memory on the command line.

/// Bytes, from `24G`, `512M`, `64K` or a plain number; a G is 2^30.
///
/// # Errors
/// For anything else, zero, and more than 2^64.
pub fn parse(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.trim_end_matches(['B', 'b']).trim_end_matches('i') {
        t if t.ends_with(['K', 'k']) => (&t[..t.len() - 1], 10),
        t if t.ends_with(['M', 'm']) => (&t[..t.len() - 1], 20),
        t if t.ends_with(['G', 'g']) => (&t[..t.len() - 1], 30),
        t => (t, 0),
    };
    let bytes = number.parse::<f64>().ok().map(|n| (n * f64::from(1u32 << shift)).floor());
    match bytes {
        Some(bytes) if (1.0..u64::MAX as f64).contains(&bytes) => Ok(bytes as u64),
        _ => Err(format!("`{text}` is no amount of memory; give it as 24G or 512M")),
    }
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
        for text in ["", "G", "-1G", "0", "24T", "many", "nanG", "infG"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(gib(3 << 29), "1.50 GiB");
    }
}
