//! SHA-256 (FIPS 180-4), in which published runs name polynomials that are too long to print.

/// The first 32 bits of the fractional parts of the square roots of the first eight primes.
const START: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// The first 64 primes.
fn primes() -> impl Iterator<Item = u64> {
    (2u64..).filter(|&n| (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0)).take(64)
}

/// The first 32 bits of the fractional part of the cube root of `p`.
fn cube_root(p: u64) -> u32 {
    // The largest x with x^3 <= p 2^96.
    let (mut low, mut high) = (0u128, 1u128 << 35);
    while high - low > 1 {
        let middle = (low + high) / 2;
        // x is below 2^35, so its cube has 105 bits.
        if middle * middle * middle <= u128::from(p) << 96 { low = middle } else { high = middle }
    }
    low as u32
}

/// The digest, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let constants: Vec<u32> = primes().map(cube_root).collect();
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - bytes.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let length = padded.len() - 8;
    padded[length..].copy_from_slice(&(8 * bytes.len() as u64).to_be_bytes());
    let mut state = START;
    for block in padded.chunks_exact(64) {
        let mut w: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")))
            .collect();
        for i in 16..64 {
            let (x, y) = (w[i - 15], w[i - 2]);
            let s0 = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
            let s1 = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for i in 0..64 {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let t1 = h.wrapping_add(s1).wrapping_add(choice);
            let t1 = t1.wrapping_add(constants[i]).wrapping_add(w[i]);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = (a & b) ^ (a & c) ^ (b & c);
            (h, g, f, e) = (g, f, e, d.wrapping_add(t1));
            (d, c, b, a) = (c, b, a, t1.wrapping_add(s0.wrapping_add(majority)));
        }
        for (sum, word) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(word);
        }
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

/// The digest of words, little-endian.
pub fn of_words<'a>(words: impl IntoIterator<Item = &'a u32>) -> String {
    let bytes: Vec<u8> = words.into_iter().flat_map(|word| word.to_le_bytes()).collect();
    sha256(&bytes)
}

#[cfg(test)]
mod tests {
    /// Digests that the standard prints.
    #[test]
    fn the_standards_examples_have_their_digests() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::sha256(b""), empty);
        assert_eq!(super::sha256(b"abc"), abc);
        let two = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        let blocks = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
        assert_eq!(super::sha256(two), blocks);
    }
}
