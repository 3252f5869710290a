//! Large numbers as people read them.

/// 12345.6 as 12,346.
pub fn thousands(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let mut text = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(super::thousands(308_691.6), "308,692");
        assert_eq!(super::thousands(999.4), "999");
    }
}
