//! The rule by which main primes of sets are chosen.

use girih_ring::is_prime;

/// The `count` primes that are 1 modulo 2N and nearest to `near`, the nearest first; of two as
/// near the larger one. Fewer where 31 bits hold no more.
pub fn nearest_primes(log2_degree: u32, near: f64, count: usize) -> Vec<u32> {
    let step = 2i64 << log2_degree;
    let middle = near as i64 / step;
    let in_range = |x: &i64| *x > 1 << 19 && *x < 1 << 31;
    // Candidates by distance, from both sides.
    let (mut above, mut below) = (middle + 1, middle);
    let mut primes = Vec::with_capacity(count);
    while primes.len() < count {
        let [up, down] = [above * step + 1, below * step + 1];
        let distance = |x: i64| (x as f64 - near).abs();
        if !in_range(&up) && !in_range(&down) {
            break;
        }
        let next = if distance(up) <= distance(down) {
            above += 1;
            up
        } else {
            below -= 1;
            down
        };
        if in_range(&next) && is_prime(next as u64) {
            primes.push(next as u32);
        }
    }
    primes
}
