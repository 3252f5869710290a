//! Primes that admit a negacyclic NTT.

/// Whether `n` is prime; deterministic for every 64-bit number.
///
/// Miller-Rabin with the first twelve primes as bases has no false positive below 3.3e24 (Sorenson and Webster, 2015).
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    for p in BASES {
        if n.is_multiple_of(p) {
            return n == p;
        }
    }
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    let s = (n - 1).trailing_zeros();
    let d = (n - 1) >> s;
    BASES.iter().all(|&a| {
        let (mut x, mut base, mut e) = (1, a, d);
        while e > 0 {
            if e & 1 == 1 {
                x = mul(x, base);
            }
            base = mul(base, base);
            e >>= 1;
        }
        if x == 1 || x == n - 1 {
            return true;
        }
        (1..s).any(|_| {
            x = mul(x, x);
            x == n - 1
        })
    })
}

/// The largest prime below `2^bits` that is `1 mod order`, if there is one above `2^(bits-1)`.
pub fn largest_ntt_prime(bits: u32, order: u32) -> Option<u32> {
    if !(2..=31).contains(&bits) {
        return None;
    }
    candidates_below(1 << bits, u64::from(order))
        .take_while(|&c| c > 1 << (bits - 1))
        .find(|&c| is_prime(c))
        .map(|c| c as u32)
}

/// Candidates `1 mod order` below `limit`, descending.
fn candidates_below(limit: u64, order: u64) -> impl Iterator<Item = u64> {
    let first = (limit - 2) / order * order + 1;
    (0..=first / order).map(move |i| first - i * order)
}

/// Two distinct primes `1 mod order` of about half the bits each whose product is the largest below `2^bits`
/// among pairs within the first few primes below `2^(bits/2)`; ascending.
///
/// For even `bits` these are the two largest primes of `bits / 2` bits.
pub fn largest_ntt_prime_pair(bits: u32, order: u32) -> Option<[u32; 2]> {
    if !(20..=62).contains(&bits) {
        return None;
    }
    let upper = bits.div_ceil(2);
    let limit = 1u64 << bits;
    // The larger word from the top of its size downwards; the smaller as large as the product allows.
    candidates_below(1 << upper, u64::from(order))
        .take_while(|&c| c > 1 << (upper - 1))
        .filter(|&c| is_prime(c))
        .find_map(|large| {
            let small = candidates_below((limit / large + 1).min(large), u64::from(order))
                .take_while(|&c| c > 1 << (bits / 2 - 1))
                .find(|&c| is_prime(c))?;
            Some([small as u32, large as u32])
        })
}

/// Two distinct primes below 2^31, `1 mod order`, with the smallest product above `2^bits`; ascending.
///
/// Searched over every smaller word between a third of the bits and the square root, so that the larger fits a word.
pub fn ntt_prime_pair_above(bits: u32, order: u32) -> Option<[u32; 2]> {
    if !(20..=61).contains(&bits) {
        return None;
    }
    let order = u64::from(order);
    let target = 1u128 << bits;
    let mut best: Option<(u128, [u32; 2])> = None;
    let smallest = (target >> 31).max(u128::from(order)) as u64;
    let root = 1u64 << bits.div_ceil(2);
    for small in (0..).map(|i| (smallest / order + i) * order + 1).take_while(|&s| s <= root) {
        if u128::from(small) <= target >> 31 || !is_prime(small) {
            continue;
        }
        let from = (target / u128::from(small)) as u64 / order * order + 1;
        for large in (0..).map(|i| from + i * order).take_while(|&l| l < 1 << 31) {
            let product = u128::from(small) * u128::from(large);
            if product <= target || large <= small {
                continue;
            }
            if best.is_some_and(|(b, _)| product >= b) {
                break;
            }
            if is_prime(large) {
                best = Some((product, [small as u32, large as u32]));
                break;
            }
        }
    }
    best.map(|(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_trial_division() {
        let naive =
            |n: u64| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        for n in 0..20_000 {
            assert_eq!(is_prime(n), naive(n), "{n}");
        }
        // Strong pseudoprimes to base 2 and to the first seven prime bases.
        assert!(!is_prime(2047) && !is_prime(341_550_071_728_321));
        assert!(is_prime((1 << 61) - 1) && !is_prime(u64::MAX));
    }

    #[test]
    fn finds_the_published_words() {
        assert_eq!(largest_ntt_prime(27, 2048), Some(134_215_681));
        assert_eq!(largest_ntt_prime(27, 4096), Some(134_176_769));
        assert_eq!(largest_ntt_prime_pair(50, 4096), Some([33_538_049, 33_550_337]));
        assert_eq!(largest_ntt_prime_pair(54, 4096), Some([134_111_233, 134_176_769]));
    }

    #[test]
    fn pairs_above_are_above_and_prime() {
        for (bits, order) in
            [(36, 2048), (50, 4096), (41, 1024), (41, 2048), (44, 2048), (37, 4096)]
        {
            let [a, b] = ntt_prime_pair_above(bits, order).expect("a pair exists");
            let product = u64::from(a) * u64::from(b);
            assert!(
                a < b
                    && a % order == 1
                    && b % order == 1
                    && is_prime(u64::from(a))
                    && is_prime(u64::from(b))
            );
            assert!(
                product > 1 << bits
                    && (product - (1 << bits)) as f64 / (1u64 << bits) as f64 * 1e2 < 1.0,
                "{bits} {order}: {a} * {b}"
            );
        }
    }
}
