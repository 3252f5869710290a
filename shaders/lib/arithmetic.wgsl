// Modular arithmetic of 32-bit words, in the profile that the kernel is generated for.
// `wide` holds 64 bits. INT64 = 1 uses u64; INT64 = 0 builds products from 16-bit halves, for
// devices without it.
//
// `lane` is a lazily reduced word: u32 in [0, bound), or, where SIGNED, i32 in [-bound, bound], for
// primes below 2^28. `twiddle` is a constant factor with its quotient, `sum` a sum of products of a
// lane and a key word. Bounds are those of crates/wgpu/src/runtime/numbers.rs, where each form is
// tested in exact arithmetic.

// What comes from a prime: p; -p^-1 mod 2^32, the constant of Montgomery reduction; p as a lazy
// word; the residue of what that reduction divides by; and 1 as a factor, by which multiplying
// reduces. Where words are counted by a loop, they are declared inside it.
for w in 0..CONSTANT_WORDS {
const P_{w} = ${prime(w)}u;
const P_NEG_INVERSE_{w} = ${neg_inverse(w)}u;
const LP_{w}: lane = lane(P_{w});
const UNIT_{w} = lane(${unit(w)});
const ONE_{w} = ${twiddle(w, 1)};
}

#if SIGNED && LIMBS
alias lane = i32;
// (factor, upper half of the quotient, lower half), the halves in [-2^15, 2^15]
alias twiddle = vec3<i32>;
#elif SIGNED
alias lane = i32;
// (factor, quotient)
alias twiddle = vec2<i32>;
#else
alias lane = u32;
alias twiddle = vec2<u32>;
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
#end

#if LIMBS
// x w / p rounded, from 16-bit halves: the product of the low halves, at most a quarter, is left
// out. For |x| up to CAP the halves of x are below 2^15 - 2^11 and 2^15, so that both crossed
// products and 1/2 fit 32 bits together.
fn quotient(x: lane, w: twiddle) -> lane {
    let low = (x << 16u) >> 16u;
    let high = (x + 0x8000) >> 16u;
    return high * w.y + ((high * w.z + (low * w.y + 0x8000)) >> 16u);
}

// The same for |x| < 2^15.
fn quotient_small(x: lane, w: twiddle) -> lane {
    return (x * w.y + 0x8000) >> 16u;
}

fn twiddle_of(x: vec2<u32>) -> twiddle {
    return vec3<i32>(i32(x.x), i32(x.y) >> 16u, i32(x.y << 16u) >> 16u);
}

// Three sums of 14-bit limbs, of weights 1, 2^14 and 2^28: the low ones unsigned, all without a
// carry until the end.
alias sum = vec3<i32>;
alias factor = vec2<i32>;

fn factor_of(x: lane) -> factor {
    return vec2<i32>(x & 0x3fff, x >> 14u);
}

fn sum_mul(a: factor, b: factor) -> sum {
    return vec3<i32>(a.x * b.x, a.x * b.y + a.y * b.x, a.y * b.y);
}

fn sum_mac(s: sum, a: factor, b: factor) -> sum {
    return vec3<i32>(s.x + a.x * b.x, s.y + a.x * b.y + a.y * b.x, s.z + a.y * b.y);
}

// The sum times 2^-28 modulo p, for n = -1/p mod 2^32: two Montgomery steps of 14 bits.
fn montgomery(s: sum, p: lane, n: u32) -> lane {
    let m_0 = (s.x * i32(n)) & 0x3fff;
    let y = s.y + m_0 * (p >> 14u) + i32(u32(s.x + m_0 * (p & 0x3fff)) >> 14u);
    let m_1 = (y * i32(n)) & 0x3fff;
    return s.z + m_1 * (p >> 14u) + ((y + m_1 * (p & 0x3fff)) >> 14u);
}
#elif SIGNED
// x w / p rounded down, or one less.
fn quotient(x: lane, w: twiddle) -> lane {
    return i32((i64(x) * i64(w.y)) >> 32u);
}

fn twiddle_of(x: vec2<u32>) -> twiddle {
    return vec2<i32>(x);
}

alias sum = i64;
alias factor = i32;

fn factor_of(x: lane) -> factor {
    return x;
}

fn sum_mul(a: factor, b: factor) -> sum {
    return i64(a) * i64(b);
}

fn sum_mac(s: sum, a: factor, b: factor) -> sum {
    return s + i64(a) * i64(b);
}

// The sum times 2^-32 modulo p, for n = -1/p mod 2^32.
fn montgomery(s: sum, p: lane, n: u32) -> lane {
    let m = i32(s) * i32(n);
    return i32((s + i64(m) * i64(p)) >> 32u);
}
#else
#if COARSE
// Leaves out the product of the low halves and rounds both crossed products down, which together
// takes off less than 3.
fn quotient(x: lane, w: twiddle) -> lane {
    return (x >> 16u) * (w.y >> 16u)
        + (((x >> 16u) * (w.y & 0xffffu)) >> 16u)
        + (((x & 0xffffu) * (w.y >> 16u)) >> 16u);
}
#else
// For w = (factor, floor(factor * 2^32 / p)) and any x: x w / p rounded down, or one less.
fn quotient(x: lane, w: twiddle) -> lane {
    return mul_high(x, w.y);
}
#end

fn twiddle_of(x: vec2<u32>) -> twiddle {
    return x;
}

alias sum = wide;
alias factor = u32;

fn factor_of(x: lane) -> factor {
    return x;
}

fn sum_mul(a: factor, b: factor) -> sum {
    return wide_mul(a, b);
}

fn sum_mac(s: sum, a: factor, b: factor) -> sum {
    return wide_mac(s, a, b);
}

// s * 2^-32 mod p: below p + s / 2^32, for s < 2^64 - p * 2^32.
fn montgomery(s: sum, p: lane, n: u32) -> lane {
#if INT64
    let m = u32(s) * n;
    return u32((s + u64(m) * u64(p)) >> 32u);
#else
    let m = s.x * n;
    // s.x + low(m p) = 0 mod 2^32: the carry is 1 unless both are 0.
    return s.y + mul_high(m, p) + select(0u, 1u, s.x != 0u);
#end
}
#end

// x w mod p, lazily.
fn shoup(x: lane, w: twiddle, p: lane) -> lane {
    return x * w.x - quotient(x, w) * p;
}

// The residue in [0, p): for traces.
fn residue(x: lane, p: lane) -> u32 {
#if SIGNED
    let r = x % p;
    return u32(select(r, r + p, r < 0));
#else
    return x % p;
#end
}

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
