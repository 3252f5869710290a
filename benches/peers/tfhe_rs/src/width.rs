//! The operations at one width.

use crate::Failure;
use crate::arguments::Wanted;
use crate::record::{Record, measure};
use girih_integer::{FheBool, FheUint};
use girih_tfhe_rs::ServerKey;
use rayon::prelude::*;
use tfhe::ClientKey;
use tfhe::prelude::*;

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

macro_rules! width {
    ($function:ident $theirs:ident $bits:literal $plain:ident) => {
        pub fn $function(
            wanted: &Wanted,
            count: usize,
            client: &ClientKey,
            server: &ServerKey,
            theirs: Option<&'static str>,
            record: &mut Record,
        ) -> Result<(), Failure> {
            type Theirs = tfhe::$theirs;
            type Ours = FheUint<$bits>;
            let mut next = numbers($bits);
            let mut values = |shift: usize| -> Vec<$plain> {
                // Numbers of all sizes: divisors, and amounts that are covered.
                let of = |i| next() as $plain >> (i * shift) % $bits;
                (0..count).map(of).collect()
            };
            let [a, b, c] = [0, 7, 3].map(&mut values);
            let flags: Vec<bool> = c.iter().map(|c| c % 2 == 1).collect();
            let encrypt = |x: &Vec<$plain>| -> Vec<Theirs> {
                x.par_iter().map(|&x| Theirs::encrypt(x, client)).collect()
            };
            let [a_theirs, b_theirs, c_theirs] = [&a, &b, &c].map(encrypt);
            let flags_theirs: Vec<tfhe::FheBool> =
                flags.iter().map(|&x| tfhe::FheBool::encrypt(x, client)).collect();
            let a_ours: Ours = server.upload(a_theirs.clone())?;
            let b_ours: Ours = server.upload(b_theirs.clone())?;
            let c_ours: Ours = server.upload(c_theirs.clone())?;
            // Not of `flags_theirs`: TFHE-rs 1.8 does not give away an FheBool that lies on a GPU.
            let flag = |flag: &bool| Theirs::encrypt($plain::from(*flag), client);
            let flags_ours: Ours = server.upload(flags.iter().map(flag).collect::<Vec<_>>())?;
            let flags_ours = flags_ours.not_equal($plain::MIN)?;

            for operation in &wanted.operations {
                let plain = |i: usize| -> ($plain, $plain) {
                    let (a, b, c) = (a[i], b[i], c[i]);
                    match &operation[..] {
                        "add" => (a.wrapping_add(b), 0),
                        "mul" => (a.wrapping_mul(b), 0),
                        "less" => ($plain::from(a < b), 0),
                        "select" => (if flags[i] { a } else { b }, 0),
                        "max" => (a.max(b), 0),
                        "div" => {
                            (a.checked_div(b).unwrap_or($plain::MAX), a.checked_rem(b).unwrap_or(a))
                        }
                        _ => match c.checked_add(b) {
                            Some(more) if a >= b => (a - b, more),
                            _ => (a, c),
                        },
                    }
                };
                let check = |who: &str, results: &[(Theirs, Option<Theirs>)]| {
                    let wrong = results.par_iter().enumerate().find_map_any(|(i, (x, y))| {
                        let want = plain(i);
                        let x: $plain = x.decrypt(client);
                        let y: $plain = y.as_ref().map_or(0, |y| y.decrypt(client));
                        ((x, y) != want).then(|| {
                            format!(
                                "{operation} of {}, {}, {}: {who} {:?}, right is {want:?}",
                                a[i],
                                b[i],
                                c[i],
                                (x, y)
                            )
                        })
                    });
                    match wrong {
                        Some(wrong) => Err(Failure::from(wrong)),
                        None if results.len() != count => Err("results are missing".into()),
                        None => Ok(()),
                    }
                };

                let (x, y) = (&a_ours, &b_ours);
                enum Result_ {
                    Number(Ours),
                    Pair(Ours, Ours),
                    Condition(FheBool),
                }
                let (times, result) = measure(wanted.runs, wanted.seconds, || {
                    let result = match &operation[..] {
                        "add" => Result_::Number(x.add(y)?.propagate()?),
                        "mul" => Result_::Number(x.mul(y)?),
                        "less" => Result_::Condition(x.less(y)?),
                        "select" => Result_::Number(flags_ours.select(x, y)?),
                        "max" => Result_::Number(x.max(y)?),
                        "div" => {
                            let (quotient, remainder) = x.div_rem(y)?;
                            Result_::Pair(quotient, remainder)
                        }
                        _ => {
                            let (more, out) = c_ours.overflowing_add(y)?;
                            let good = x.greater_or_equal(y)?.and(&out.not()?)?;
                            let from = good.select(&x.sub(y)?, x)?;
                            Result_::Pair(from, good.select(&more, &c_ours)?)
                        }
                    };
                    server.integers().synchronize()?;
                    Ok(result)
                })?;
                let results: Vec<(Theirs, Option<Theirs>)> = match result {
                    Result_::Number(x) => {
                        server.download(&x)?.into_iter().map(|x| (x, None)).collect()
                    }
                    Result_::Condition(x) => {
                        let numbers: Vec<Theirs> = server.download(&x.to_uint::<$bits>()?)?;
                        numbers.into_iter().map(|x| (x, None)).collect()
                    }
                    Result_::Pair(x, y) => {
                        let second = server.download(&y)?.into_iter().map(Some);
                        server.download(&x)?.into_iter().zip(second).collect()
                    }
                };
                check("girih", &results)?;
                record.add(times.row("girih", operation, $bits, count))?;

                let Some(name) = theirs else { continue };
                // Each is computed and waited for by a thread of the pool.
                let one = |i: usize| -> (Theirs, Option<Theirs>) {
                    let (a, b, c) = (&a_theirs[i], &b_theirs[i], &c_theirs[i]);
                    match &operation[..] {
                        "add" => (a + b, None),
                        "mul" => (a * b, None),
                        "select" => (flags_theirs[i].if_then_else(a, b), None),
                        "max" => (a.max(b), None),
                        "div" => {
                            let (quotient, remainder) = a.div_rem(b);
                            (quotient, Some(remainder))
                        }
                        _ => {
                            let (more, out) = c.overflowing_add(b);
                            let good = a.ge(b) & !out;
                            (good.if_then_else(&(a - b), a), Some(good.if_then_else(&more, c)))
                        }
                    }
                };
                let waited = |i: usize| {
                    let result = one(i);
                    result.0.wait();
                    result.1.as_ref().inspect(|x| x.wait());
                    result
                };
                let (times, results) = if operation == "less" {
                    // A condition is what is measured; it becomes a number to be checked.
                    let less = |i: usize| {
                        let result = a_theirs[i].lt(&b_theirs[i]);
                        result.wait();
                        result
                    };
                    let (times, results) = measure(wanted.runs, wanted.seconds, || {
                        Ok(match count {
                            1 => vec![less(0)],
                            _ => (0..count).into_par_iter().map(less).collect(),
                        })
                    })?;
                    let numbers = results.into_iter().map(|x| (Theirs::cast_from(x), None));
                    (times, numbers.collect::<Vec<_>>())
                } else {
                    measure(wanted.runs, wanted.seconds, || {
                        Ok(match count {
                            1 => vec![waited(0)],
                            _ => (0..count).into_par_iter().map(waited).collect(),
                        })
                    })?
                };
                check(name, &results)?;
                record.add(times.row(name, operation, $bits, count))?;
            }
            Ok(())
        }
    };
}

width!(eight FheUint8 8 u8);
width!(thirty_two FheUint32 32 u32);
width!(sixty_four FheUint64 64 u64);
