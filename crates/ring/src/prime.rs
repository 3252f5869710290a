//! Primes that admit a negacyclic NTT.

/// Whether `n` is prime; deterministic for every 64-bit number.
///
/// Miller-Rabin with the first twelve primes as bases has no false positive below 3.3e24 (Sorenson
/// and Webster, 2015).
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

/// The `count` largest primes below `2^bits` that are `1 mod order`, ascending, if there are so
/// many above `2^(bits-1)`.
pub fn largest_ntt_primes(bits: u32, order: u32, count: usize) -> Option<Vec<u32>> {
    if !(2..=31).contains(&bits) {
        return None;
    }
    let mut primes: Vec<u32> = candidates_below(1 << bits, u64::from(order))
        .take_while(|&c| c > 1 << (bits - 1))
        .filter(|&c| is_prime(c))
        .take(count)
        .map(|c| c as u32)
        .collect();
    primes.reverse();
    (primes.len() == count).then_some(primes)
}

/// Candidates `1 mod order` below `limit`, descending.
fn candidates_below(limit: u64, order: u64) -> impl Iterator<Item = u64> {
    let first = (limit - 2) / order * order + 1;
    (0..=first / order).map(move |i| first - i * order)
}

/// Two distinct primes `1 mod order` of about half the bits each whose product is the largest below
/// `2^bits` among pairs within the first few primes below `2^(bits/2)`; ascending.
///
/// For even `bits` these are the two largest primes of `bits / 2` bits.
pub fn largest_ntt_prime_pair(bits: u32, order: u32) -> Option<[u32; 2]> {
    if !(20..=62).contains(&bits) {
        return None;
    }
    let upper = bits.div_ceil(2);
    let limit = 1u64 << bits;
    // The larger word from the top of its size downwards;
    // the smaller as large as the product allows.
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

/// Two distinct primes below 2^31, `1 mod order`, with the smallest product above `2^bits`;
/// ascending.
///
/// Every smaller word is looked at that has a larger one below 2^31, at one division each: numbers
/// are tested for primality only where their product is below the best so far, which is soon close
/// to `2^bits`. Orders below 128 are refused: there are too many words.
pub fn ntt_prime_pair_above(bits: u32, order: u32) -> Option<[u32; 2]> {
    if !(20..=61).contains(&bits) || order < 128 {
        return None;
    }
    let (order, target) = (u64::from(order), 1u64 << bits);
    // Products of two words below 2^31 are below 2^62.
    let (mut best, mut words) = (u64::MAX, None);
    let smallest = (target >> 31).max(order);
    for small in (0..).map(|i| (smallest / order + i) * order + 1) {
        // The larger word is above the smaller: from here on every product is above the best.
        if small >= 1 << 31 || small * small >= best {
            break;
        }
        let mut is_prime_small = None;
        // The first number `1 mod order` whose product is above the target, and that is above the
        // smaller word.
        let first = ((target / small).div_ceil(order) * order + 1).max(small + order);
        for large in (0..).map(|i| first + i * order).take_while(|&large| large < 1 << 31) {
            let product = small * large;
            if product >= best || !*is_prime_small.get_or_insert_with(|| is_prime(small)) {
                break;
            }
            if is_prime(large) {
                (best, words) = (product, Some([small as u32, large as u32]));
                break;
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const EARLIER_PAIRS: &[(u32, u32, [u32; 2])] = &[
        (25, 512, [7681, 10753]),
        (37, 512, [136193, 1009153]),
        (44, 512, [155137, 113397761]),
        (52, 512, [6877697, 654812161]),
        (60, 512, [834966017, 1380800513]),
        (36, 1024, [40961, 1678337]),
        (41, 1024, [18433, 119299073]),
        (50, 1024, [28873729, 38993921]),
        (58, 1024, [416975873, 691239937]),
        (30, 2048, [18433, 59393]),
        (38, 2048, [202753, 1355777]),
        (48, 2048, [184321, 1527091201]),
        (54, 2048, [49883137, 361132033]),
        (39, 2048, [12289, 44740609]),
        (37, 4096, [12289, 11186177]),
        (44, 4096, [12289, 1431576577]),
        (52, 4096, [16293889, 276398081]),
        (60, 4096, [739872769, 1558269953]),
        (51, 4096, [1794049, 1255149569]),
        (38, 8192, [40961, 6725633]),
        (48, 8192, [270337, 1041203201]),
        (54, 8192, [8519681, 2114445313]),
        (39, 8192, [147457, 3735553]),
        (36, 16384, [65537, 1097729]),
        (41, 16384, [147457, 14942209]),
        (50, 16384, [1130497, 995934209]),
        (58, 16384, [263454721, 1094041601]),
        (47, 16384, [8650753, 16269313]),
    ];

    #[test]
    fn agrees_with_trial_division() {
        let naive =
            |n: u64| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        for n in 0..20_000 {
            assert_eq!(is_prime(n), naive(n), "{n}");
        }
        // Strong pseudoprimes to base 2 and to the first seven prime bases.
        assert!(!is_prime(2047) && !is_prime(341_550_071_728_321));
        // 41 61 101 divides a^252600 - 1 for every base that it is coprime to.
        assert!(!is_prime(252_601));
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
    fn refuses_sizes_and_orders() {
        for bits in [1, 32] {
            assert_eq!(largest_ntt_prime(bits, 2), None, "{bits}");
            assert_eq!(largest_ntt_primes(bits, 2, 1), None, "{bits}");
        }
        assert_eq!(largest_ntt_prime(31, 2), Some(2_147_483_647));
        // 13 is 1 mod 12, but of four bits; 25 is no prime.
        assert_eq!(largest_ntt_prime(5, 12), None);
        assert_eq!(largest_ntt_primes(5, 12, 1), None);
        for bits in [19, 63] {
            assert_eq!(largest_ntt_prime_pair(bits, 2), None, "{bits}");
        }
        for (bits, order) in [(19, 256), (62, 256), (40, 127)] {
            assert_eq!(ntt_prime_pair_above(bits, order), None, "{bits} {order}");
        }
        assert_eq!(ntt_prime_pair_above(20, 128), Some([769, 1409]));
    }

    /// The definition, number by number; of order 284 the only pair has a word too small, of order
    /// 180 another.
    #[test]
    fn pairs_below_are_what_is_said() {
        for (bits, order) in [(20, 64), (21, 64), (22, 30), (23, 2), (21, 284), (20, 180)] {
            let upper = bits - bits / 2;
            let word = |c: &u64| c % order == 1 && is_prime(*c);
            let smaller = |large: u64| {
                let from_top = ((1u64 << (bits / 2 - 1)) + 1..large).rev();
                from_top.filter(word).find(|small| small * large < 1 << bits)
            };
            let all = ((1u64 << (upper - 1)) + 1..1 << upper).rev().filter(word);
            let want = all.filter_map(|large| Some([smaller(large)?, large])).next();
            let found = largest_ntt_prime_pair(bits, order as u32);
            assert_eq!(found.map(|pair| pair.map(u64::from)), want, "{bits} {order}");
        }
    }

    /// What the search found before it was bounded, where that ended at all; sets that name no
    /// words rest on it.
    #[test]
    fn pairs_above_stay_what_they_were() {
        for (bits, order, pair) in EARLIER_PAIRS.iter().copied() {
            assert_eq!(ntt_prime_pair_above(bits, order), Some(pair), "{bits} {order}");
        }
    }

    /// Some pairs used to take minutes.
    #[test]
    fn every_pair_is_found_at_once() {
        for log2_order in 8..=14 {
            for bits in 9..=61 {
                // One of many tries: other programs run, too.
                let at_once = (0..50).any(|_| {
                    let start = std::time::Instant::now();
                    let pair = ntt_prime_pair_above(bits, 1 << log2_order);
                    assert!(
                        pair.is_none_or(|[a, b]| a < b && u64::from(a) * u64::from(b) > 1 << bits)
                    );
                    start.elapsed().as_millis() < 50
                });
                assert!(at_once, "2^{bits}, order 2^{log2_order}");
            }
        }
        assert_eq!(ntt_prime_pair_above(40, 64), None);
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
