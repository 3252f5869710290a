//! Which names a mistyped one may have meant.

/// How many names are told.
const TOLD: usize = 3;

/// The names nearest to `name`, the nearest first, joined by commas: those that take the fewest
/// changes of a letter, capitals and small letters alike.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let wanted: Vec<char> = name.to_uppercase().chars().take(64).collect();
    let mut by_distance: Vec<(usize, &str)> =
        names.map(|known| (distance(&wanted, known), known)).collect();
    by_distance.sort_by_key(|&(distance, known)| (distance, known.len()));
    let told: Vec<&str> = by_distance.into_iter().take(TOLD).map(|(_, known)| known).collect();
    told.join(", ")
}

/// The least number of letters inserted, left out or changed that make one of the other
/// (Levenshtein 1966).
fn distance(wanted: &[char], known: &str) -> usize {
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    for (i, letter) in known.to_uppercase().chars().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, &other) in wanted.iter().enumerate() {
            let changed = corner + usize::from(letter != other);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[wanted.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let names = ["CKKS_D40", "CKKS_D45", "CKKS_D40_30BIT", "STD128", "STD128Q", "M1"];
        assert!(nearest("ckks_d4", names.into_iter()).starts_with("CKKS_D40, CKKS_D45"));
        assert!(nearest("STD-128", names.into_iter()).starts_with("STD128, "));
        assert_eq!(nearest("M1", names.into_iter()).split(", ").count(), 3);
        assert_eq!(nearest("x", std::iter::empty()), "");
        let of = |a: &str, b| distance(&a.chars().collect::<Vec<_>>(), b);
        assert_eq!((of("KITTEN", "SITTING"), of("", "ABC"), of("ABC", "ABC")), (3, 3, 0));
    }
}
