// Modular arithmetic of 32-bit words, in the profile that the kernel is generated for.
// `wide` holds 64 bits. INT64 = 1 uses u64; INT64 = 0 builds products from 16-bit halves, for devices without it.

#for w in 0..WORDS
const P_${w}: u32 = ${prime(w)}u;
// -p^-1 mod 2^32, the constant of Montgomery reduction.
const P_NEG_INVERSE_${w}: u32 = ${neg_inverse(w)}u;
// 1 and floor(2^32 / p): multiplying by it reduces.
const ONE_${w}: vec2<u32> = vec2<u32>(1u, ${(1 << 32) / prime(w)}u);
#end

#if INT64
alias wide = u64;

fn wide_make(low: u32, high: u32) -> wide {
    return (u64(high) << 32u) | u64(low);
}

fn wide_low(x: wide) -> u32 {
    return u32(x);
}

fn wide_high(x: wide) -> u32 {
    return u32(x >> 32u);
}

fn wide_mul(a: u32, b: u32) -> wide {
    return u64(a) * u64(b);
}

fn wide_mac(sum: wide, a: u32, b: u32) -> wide {
    return sum + u64(a) * u64(b);
}

fn wide_add(a: wide, b: wide) -> wide {
    return a + b;
}

fn wide_less(a: wide, b: wide) -> bool {
    return a < b;
}

fn mul_high(a: u32, b: u32) -> u32 {
    return u32((u64(a) * u64(b)) >> 32u);
}

// x * w mod p for w = (factor, floor(factor * 2^32 / p)) and any x: below 2p.
fn shoup(x: u32, w: vec2<u32>, p: u32) -> u32 {
    return x * w.x - mul_high(x, w.y) * p;
}

// x * 2^-32 mod p: below p + x / 2^32, for x < 2^64 - p * 2^32.
fn montgomery(x: wide, p: u32, p_neg_inverse: u32) -> u32 {
    let m = u32(x) * p_neg_inverse;
    return u32((x + u64(m) * u64(p)) >> 32u);
}
#else
// (low, high)
alias wide = vec2<u32>;

fn wide_make(low: u32, high: u32) -> wide {
    return vec2<u32>(low, high);
}

fn wide_low(x: wide) -> u32 {
    return x.x;
}

fn wide_high(x: wide) -> u32 {
    return x.y;
}

fn wide_mul(a: u32, b: u32) -> wide {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let cross = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let middle = (a & 0xffffu) * (b >> 16u) + (cross & 0xffffu);
    return vec2<u32>(a * b, (a >> 16u) * (b >> 16u) + (cross >> 16u) + (middle >> 16u));
}

fn wide_add(a: wide, b: wide) -> wide {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn wide_mac(sum: wide, a: u32, b: u32) -> wide {
    return wide_add(sum, wide_mul(a, b));
}

fn wide_less(a: wide, b: wide) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn mul_high(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let cross = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let middle = (a & 0xffffu) * (b >> 16u) + (cross & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (cross >> 16u) + (middle >> 16u);
}

#if COARSE
// x * w mod p as above, but below 4p: the quotient leaves out the product of the low halves and rounds both crossed
// products down, which together takes off less than 3.
fn shoup(x: u32, w: vec2<u32>, p: u32) -> u32 {
    let quotient = (x >> 16u) * (w.y >> 16u) + (((x >> 16u) * (w.y & 0xffffu)) >> 16u) + (((x & 0xffffu) * (w.y >> 16u)) >> 16u);
    return x * w.x - quotient * p;
}
#else
// x * w mod p for w = (factor, floor(factor * 2^32 / p)) and any x: below 2p.
fn shoup(x: u32, w: vec2<u32>, p: u32) -> u32 {
    return x * w.x - mul_high(x, w.y) * p;
}
#end

// x * 2^-32 mod p: below p + x / 2^32, for x < 2^64 - p * 2^32.
fn montgomery(x: wide, p: u32, p_neg_inverse: u32) -> u32 {
    let m = x.x * p_neg_inverse;
    // x.x + low(m p) = 0 mod 2^32: the carry is 1 unless both are 0.
    return x.y + mul_high(m, p) + select(0u, 1u, x.x != 0u);
}
#end

// Low 32 bits of the signed x >> shift, for a constant shift.
fn wide_bits(x: wide, shift: u32) -> u32 {
    let low = wide_low(x);
    let high = wide_high(x);
    if (shift == 0u) {
        return low;
    }
    if (shift < 32u) {
        return (low >> shift) | (high << (32u - shift));
    }
    return u32(i32(high) >> (shift - 32u));
}
