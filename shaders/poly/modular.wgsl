// Canonical words modulo primes below 2^31 that are data, and sums of products of them,
// four at a time.
#include arithmetic

// The residue of what is below 2p.
fn once(x: u32, p: u32) -> u32 {
    return min(x, x - p);
}

fn once_each(x: vec4<u32>, p: u32) -> vec4<u32> {
    return min(x, x - vec4<u32>(p));
}

// x w.x mod p, for w.y = floor(w.x 2^32 / p) and any x.
fn times(x: u32, w: vec2<u32>, p: u32) -> u32 {
    return once(x * w.x - mul_high(x, w.y) * p, p);
}

fn times_each(x: vec4<u32>, w: vec2<u32>, p: u32) -> vec4<u32> {
    return vec4<u32>(times(x.x, w, p), times(x.y, w, p), times(x.z, w, p), times(x.w, w, p));
}

// Four sums of 64 bits, each below p 2^32: what a product adds above that, p 2^32 takes away again.
#if INT64
struct Sums {
    x: u64,
    y: u64,
    z: u64,
    w: u64,
}

fn sums_of(constant: u32) -> Sums {
    let c = u64(constant);
    return Sums(c, c, c, c);
}

fn accumulated(sum: u64, a: u32, b: u32, p: u32) -> u64 {
    let next = sum + u64(a) * u64(b);
    let high = u32(next >> 32u);
    return (u64(min(high, high - p)) << 32u) | u64(u32(next));
}

fn sums_with(s: Sums, a: vec4<u32>, b: vec4<u32>, p: u32) -> Sums {
    return Sums(
        accumulated(s.x, a.x, b.x, p),
        accumulated(s.y, a.y, b.y, p),
        accumulated(s.z, a.z, b.z, p),
        accumulated(s.w, a.w, b.w, p)
    );
}

// Both products, each below 2^31 p, leave a sum below 2 p 2^32: one subtraction is enough for them.
fn sums_with_both(s: Sums, a: vec4<u32>, b: u32, c: vec4<u32>, d: u32, p: u32) -> Sums {
    return Sums(
        accumulated(s.x + u64(a.x) * u64(b), c.x, d, p),
        accumulated(s.y + u64(a.y) * u64(b), c.y, d, p),
        accumulated(s.z + u64(a.z) * u64(b), c.z, d, p),
        accumulated(s.w + u64(a.w) * u64(b), c.w, d, p)
    );
}

// The sums times 2^-32 modulo p, canonical, for n = -1/p mod 2^32.
fn sums_reduced(s: Sums, p: u32, n: u32) -> vec4<u32> {
    let x = montgomery(s.x, p, n);
    let y = montgomery(s.y, p, n);
    let z = montgomery(s.z, p, n);
    let w = montgomery(s.w, p, n);
    return once_each(vec4<u32>(x, y, z, w), p);
}
#else
struct Sums {
    low: vec4<u32>,
    high: vec4<u32>,
}

fn sums_of(constant: u32) -> Sums {
    return Sums(vec4<u32>(constant), vec4<u32>(0u));
}

// Upper halves of the products, from 16-bit halves.
fn high_each(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    let half = vec4<u32>(16u);
    let mask = vec4<u32>(0xffffu);
    let low = (a & mask) * (b & mask);
    let cross = (a >> half) * (b & mask) + (low >> half);
    let middle = (a & mask) * (b >> half) + (cross & mask);
    return (a >> half) * (b >> half) + (cross >> half) + (middle >> half);
}

fn sums_with(s: Sums, a: vec4<u32>, b: vec4<u32>, p: u32) -> Sums {
    let low = s.low + a * b;
    let carry = select(vec4<u32>(0u), vec4<u32>(1u), low < s.low);
    return Sums(low, once_each(s.high + high_each(a, b) + carry, p));
}

// Both products, each below 2^31 p, leave a sum below 2 p 2^32: one subtraction is enough for them.
fn sums_with_both(s: Sums, a: vec4<u32>, b: u32, c: vec4<u32>, d: u32, p: u32) -> Sums {
    let product = a * vec4<u32>(b);
    let first = s.low + product;
    let high = s.high + high_each(a, vec4<u32>(b))
        + select(vec4<u32>(0u), vec4<u32>(1u), first < product);
    return sums_with(Sums(first, high), c, vec4<u32>(d), p);
}

fn sums_reduced(s: Sums, p: u32, n: u32) -> vec4<u32> {
    let m = s.low * vec4<u32>(n);
    // s.low + low(m p) = 0 mod 2^32: the carry is 1 unless both are 0.
    let carry = select(vec4<u32>(0u), vec4<u32>(1u), s.low != vec4<u32>(0u));
    return once_each(s.high + high_each(m, vec4<u32>(p)) + carry, p);
}
#end

// a b 2^-32 mod p.
fn montgomery_product(a: vec4<u32>, b: vec4<u32>, p: u32, n: u32) -> vec4<u32> {
    return sums_reduced(sums_with(sums_of(0u), a, b, p), p, n);
}
