//! TFHE-rs's CPU library and girih's CPU device beside each other: the same keys, the same
//! ciphertexts, the same threads, one after the other. Every result is decrypted by the client of
//! TFHE-rs and compared with the plain one.
//!
//! Words: `array=N` (elements of arrays; 1: single numbers alone), `runs=N`, then widths (8, 32,
//! 64) and operations (add, mul, less, select, div, transfer); all of them where none is named.

use girih_integer::FheUint;
use girih_tfhe_rs::ServerKey;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tfhe::prelude::*;
use tfhe::{ClientKey, CompressedServerKey, ConfigBuilder, set_server_key};

type Failure = Box<dyn std::error::Error>;

const OPERATIONS: [&str; 6] = ["add", "mul", "less", "select", "div", "transfer"];

struct Wanted {
    array: usize,
    runs: usize,
    widths: BTreeSet<u32>,
    operations: BTreeSet<String>,
}

fn wanted() -> Result<Wanted, Failure> {
    let mut wanted =
        Wanted { array: 16, runs: 3, widths: BTreeSet::new(), operations: BTreeSet::new() };
    for word in std::env::args().skip(1) {
        match (word.split_once('='), word.parse::<u32>()) {
            (Some(("array", count)), _) => wanted.array = count.parse()?,
            (Some(("runs", count)), _) => wanted.runs = count.parse::<usize>()?.max(1),
            (_, Ok(bits @ (8 | 32 | 64))) => drop(wanted.widths.insert(bits)),
            _ if OPERATIONS.contains(&&word[..]) => drop(wanted.operations.insert(word)),
            _ => {
                return Err(format!(
                    "{word}: must be array=N, runs=N, 8, 32, 64 or one of {OPERATIONS:?}"
                )
                .into());
            }
        }
    }
    if wanted.widths.is_empty() {
        wanted.widths = [8, 32, 64].into();
    }
    if wanted.operations.is_empty() {
        wanted.operations = OPERATIONS.map(String::from).into();
    }
    Ok(wanted)
}

/// The shortest of some runs, and what the last gave.
fn fastest<T>(runs: usize, run: impl Fn() -> T) -> (Duration, T) {
    let once = || {
        let begin = Instant::now();
        let result = run();
        (begin.elapsed(), result)
    };
    let mut best = once();
    for _ in 1..runs {
        let next = once();
        best = (best.0.min(next.0), next.1);
    }
    best
}

/// Numbers without a pattern (splitmix64).
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = state;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}

fn report(name: &str, count: usize, [theirs, ours]: [Duration; 2]) {
    let [theirs, ours] = [theirs, ours].map(|time| time.as_secs_f64() * 1e3);
    println!(
        "{name:>16} x {count:<5} TFHE-rs {theirs:>10.1} ms, girih {ours:>10.1} ms, ratio {:.2}",
        theirs / ours
    );
}

macro_rules! width {
    ($theirs:ident $bits:literal $plain:ident; $wanted:ident $client:ident $server:ident) => {{
        type Theirs = tfhe::$theirs;
        for count in BTreeSet::from([1, $wanted.array.max(1)]) {
            let mut next = numbers($bits);
            let a: Vec<$plain> = (0..count).map(|_| next() as $plain).collect();
            let b: Vec<$plain> = (0..count).map(|_| next() as $plain).collect();
            let encrypt = |x: &$plain| Theirs::encrypt(*x, &$client);
            let their_a: Vec<Theirs> = a.iter().map(encrypt).collect();
            let their_b: Vec<Theirs> = b.iter().map(encrypt).collect();
            let our_a: FheUint<$bits> = $server.upload(their_a.clone())?;
            let our_b: FheUint<$bits> = $server.upload(their_b.clone())?;
            for operation in &$wanted.operations {
                let ours = || -> Result<(FheUint<$bits>, FheUint<$bits>), girih_integer::Error> {
                    let results = match &operation[..] {
                        "add" => (our_a.add(&our_b)?.propagate()?, our_a.clone()),
                        "mul" => (our_a.mul(&our_b)?, our_a.clone()),
                        "less" => (our_a.less(&our_b)?.to_uint()?, our_a.clone()),
                        "select" => (our_a.less(&our_b)?.select(&our_b, &our_a)?, our_a.clone()),
                        "div" => our_a.div_rem(&our_b)?,
                        _ => {
                            let good = our_a.greater_or_equal(&our_b)?;
                            let (more, out) = our_b.overflowing_add(&our_b)?;
                            let good = good.and(&out.not()?)?;
                            let from = our_a.sub(&our_b)?;
                            (good.select(&from, &our_a)?, good.select(&more, &our_b)?)
                        }
                    };
                    $server.integers().synchronize()?;
                    Ok(results)
                };
                let one = |(a, b): (&Theirs, &Theirs)| match &operation[..] {
                    "add" => (a + b, None),
                    "mul" => (a * b, None),
                    "less" => (Theirs::cast_from(a.lt(b)), None),
                    "select" => (a.lt(b).if_then_else(b, a), None),
                    "div" => {
                        let (q, r) = a.div_rem(b);
                        (q, Some(r))
                    }
                    _ => {
                        let (more, out) = b.overflowing_add(b);
                        let good = a.ge(b) & !out;
                        (good.if_then_else(&(a - b), a), Some(good.if_then_else(&more, b)))
                    }
                };
                let plain = |a: $plain, b: $plain| match &operation[..] {
                    "add" => (a.wrapping_add(b), None),
                    "mul" => (a.wrapping_mul(b), None),
                    "less" => ($plain::from(a < b), None),
                    "select" => (a.max(b), None),
                    "div" => (
                        a.checked_div(b).unwrap_or($plain::MAX),
                        Some(a.checked_rem(b).unwrap_or(a)),
                    ),
                    _ => match b.checked_add(b) {
                        Some(more) if a >= b => (a - b, Some(more)),
                        _ => (a, Some(b)),
                    },
                };
                let (their_time, theirs): (Duration, Vec<(Theirs, Option<Theirs>)>) =
                    fastest($wanted.runs, || {
                        if count == 1 {
                            return vec![one((&their_a[0], &their_b[0]))];
                        }
                        their_a.par_iter().zip(&their_b).map(one).collect()
                    });
                let (our_time, ours) = fastest($wanted.runs, ours);
                let (first, second) = ours?;
                let first: Vec<Theirs> = $server.download(&first)?;
                let second: Vec<Theirs> = $server.download(&second)?;
                for i in 0..count {
                    let read = |x: &Theirs| -> $plain { x.decrypt(&$client) };
                    let want = plain(a[i], b[i]);
                    let theirs = (read(&theirs[i].0), theirs[i].1.as_ref().map(read));
                    let ours = (read(&first[i]), want.1.map(|_| read(&second[i])));
                    if theirs != want || ours != want {
                        return Err(format!(
                            "{operation} of {} and {}: TFHE-rs {theirs:?}, girih {ours:?}, plain \
                             {want:?}",
                            a[i], b[i]
                        )
                        .into());
                    }
                }
                report(&format!("{operation} {}", $bits), count, [their_time, our_time]);
            }
        }
    }};
}

fn main() -> Result<(), Failure> {
    let wanted = wanted()?;
    let client = ClientKey::generate(ConfigBuilder::default());
    let keys = CompressedServerKey::new(&client);
    let device = girih_cpu::CpuBackend::new();
    let begin = Instant::now();
    let server = ServerKey::load(&device, &keys)?;
    let ours = begin.elapsed();
    let begin = Instant::now();
    let theirs = keys.decompress();
    report("keys loaded", 1, [begin.elapsed(), ours]);
    set_server_key(theirs.clone());
    // Threads of the pool have a server key of their own.
    rayon::broadcast(|_| set_server_key(theirs.clone()));
    println!("{}, {} threads", server.set(), rayon::current_num_threads());
    for &bits in &wanted.widths {
        match bits {
            8 => width!(FheUint8 8 u8; wanted client server),
            32 => width!(FheUint32 32 u32; wanted client server),
            _ => width!(FheUint64 64 u64; wanted client server),
        }
    }
    Ok(())
}
