//! Rotations, sums over slots, linear maps, matrices.

use girih_backend::NoProgress;
use girih_ckks::server::{Ciphertexts, Estimate, LinearMap, LinearMaps, Matrix, Options};
use girih_ckks::{CkksParameters, Complex64, Error, EvaluationKeys, KeyKind, inner_sum_rotations};

use crate::support::{SMALL, complex, kinds, numbers, pair, pair_of, server_of, to_complex};

fn rotated<T: Copy>(x: &[T], by: i64) -> Vec<T> {
    (0..x.len() as i64).map(|j| x[(j + by).rem_euclid(x.len() as i64) as usize]).collect()
}

#[test]
fn rotations_move_slots_to_the_left() {
    let p = pair(&[1, 5, -3]);
    let s = &p.server;
    let x = complex(512, 20);
    let cx = p.upload(&x);
    for by in [1, 5, -3] {
        p.check_exact(&s.rotate(&cx, by).unwrap(), &rotated(&x, by));
    }
    for (batch, by) in s.rotate_many(&cx, &[5, 0, -3]).unwrap().iter().zip([5, 0, -3]) {
        p.check_exact(batch, &rotated(&x, by));
    }
    // Amounts count modulo the slots: 8 slots turn by 5 as by -3.
    let y = complex(8, 21);
    let cy = p.upload(&y);
    p.check_within(&s.rotate(&cy, 5).unwrap(), &rotated(&y, 5), 12.0, 7.0);
    assert!(s.rotate(&cx, 0).is_ok() && s.rotate(&cx, 512).is_ok());
}

#[test]
fn missing_keys_are_named_with_those_that_there_are() {
    let p = pair(&[1, 2, -1]);
    let cx = p.upload(&complex(512, 22));
    let error = p.server.rotate(&cx, 7).unwrap_err();
    let Error::MissingKey { wanted, held } = &error else { panic!("{error}") };
    assert_eq!(wanted, "rotations by 7");
    assert_eq!(held, "multiplication, conjugation, rotations by 1, 2, -1");
    // Of 8 slots -3 is 5 as well: what was asked for is what is missing.
    for (by, name) in [(-3, "rotations by -3"), (5, "rotations by 5"), (-11, "rotations by -3")] {
        let error = p.server.rotate(&p.upload(&complex(8, 23)), by).unwrap_err();
        let Error::MissingKey { wanted, .. } = &error else { panic!("{error}") };
        assert_eq!(wanted, name);
    }
    let bare = crate::support::pair_of(crate::support::SMALL, Vec::new(), Default::default());
    let cx = bare.upload(&[0.5]);
    let error = bare.server.square(&cx).unwrap_err();
    let Error::MissingKey { wanted, held } = &error else { panic!("{error}") };
    assert_eq!((wanted.as_str(), held.as_str()), ("multiplication", "none"));
    assert!(matches!(bare.server.conjugate(&cx), Err(Error::MissingKey { .. })));
}

/// By choice rotations are made of those whose keys there are, the fewest.
#[test]
fn rotations_are_composed_of_those_there_are() {
    let set = CkksParameters::by_name(SMALL).unwrap();
    let keys = || kinds(&set, &[1, 2, 4]);
    let composing = Options::default().with_compose_rotations(true);
    let p = pair_of(SMALL, keys(), composing.clone());
    let s = &p.server;
    let x = complex(16, 24);
    let cx = p.upload(&x);
    let one = s.rotate(&cx, 4).unwrap().estimate().deviation;
    for by in 0..16 {
        let y = s.rotate(&cx, by).unwrap();
        p.check_within(&y, &rotated(&x, by), 12.0, 8.0);
        // Four is one rotation, seven are three, and 15 are five: 4 + 4 + 4 + 2 + 1.
        let more = y.estimate().deviation.powi(2) - cx.estimate().deviation.powi(2);
        let each = one.powi(2) - cx.estimate().deviation.powi(2);
        let count = [0, 1, 1, 2, 1, 2, 2, 3, 2, 3, 3, 4, 3, 4, 4, 5][by as usize];
        assert_eq!((more / each).round(), f64::from(count), "{by}: {}", more / each);
    }
    for (y, by) in s.rotate_many(&cx, &[7, 0, -3]).unwrap().iter().zip([7, 0, -3]) {
        p.check_within(y, &rotated(&x, by), 12.0, 8.0);
    }
    // The sum over 16 slots takes rotations by 1, 2, 4 and 8.
    let sum = s.inner_sum(&cx, 16, 1).unwrap();
    p.check_within(&sum, &[x.iter().sum::<Complex64>()], 12.0, 8.0);
    // No more than sixteen of them: 511 would be 129.
    let full = p.upload(&complex(512, 25));
    let error = s.rotate(&full, -1).unwrap_err();
    let Error::MissingKey { wanted, .. } = &error else { panic!("{error}") };
    assert_eq!(wanted, "rotations by -1");
    // Keys that end below the level serve no rotation there.
    let low = [KeyKind::rotation(&set, 1).unwrap().up_to(2)];
    let low = EvaluationKeys::generate(&p.client, low, &NoProgress).unwrap();
    let low = server_of(&low, composing);
    let host = |level| p.client.encrypt_at(&x, level).unwrap();
    let up = |level| low.upload(&[host(level)]).unwrap();
    assert!(low.rotate(&up(2), 3).is_ok());
    assert!(low.rotate(&up(3), 3).is_err());
    // Nothing of it unasked.
    let plain = pair_of(SMALL, keys(), Options::default());
    let error = plain.server.rotate(&plain.upload(&x), 3).unwrap_err();
    assert!(matches!(error, Error::MissingKey { .. }), "{error}");
}

#[test]
fn sums_over_slots_and_back() {
    let p = pair(&[4, 8, 16, -1, -2]);
    let s = &p.server;
    let x = numbers(64, 23);
    let cx = p.upload(&x);
    let sum = s.inner_sum(&cx, 8, 4).unwrap();
    let wanted: Vec<Complex64> =
        (0..64).map(|j| (0..8).map(|i| x[(j + 4 * i) % 64]).sum::<f64>().into()).collect();
    p.check_within(&sum, &wanted, 12.0, 7.0);
    // One slot in four spreads over the others.
    let mask: Vec<f64> = (0..64).map(|j| f64::from(u8::from(j % 4 == 0))).collect();
    let masked = s.mul_plain(&cx, &mask).unwrap();
    let wanted: Vec<Complex64> = (0..64).map(|j| x[j - j % 4].into()).collect();
    p.check_within(&s.spread(&masked, 4, 1).unwrap(), &wanted, 12.0, 7.0);
    assert!(matches!(s.inner_sum(&cx, 3, 1), Err(Error::Shape { .. })));
    assert!(matches!(s.inner_sum(&cx, 128, 1), Err(Error::Shape { .. })));
}

#[test]
fn sums_of_four_terms_at_a_time_are_the_same_sums() {
    for (width, stride, amounts) in [
        (1, 1, vec![]),
        (2, 3, vec![3]),
        (4, -1, vec![-1, -2, -3]),
        (32, 2, vec![2, 4, 6, 8, 16, 24, 32]),
        (64, 1, vec![1, 2, 3, 4, 8, 12, 16, 32, 48]),
    ] {
        assert_eq!(inner_sum_rotations(width, stride), amounts);
    }
    let both = [inner_sum_rotations(32, 2), inner_sum_rotations(16, -1)].concat();
    let (all, few) = (pair(&both), pair(&[2, 4, 8, 16, 32, -1, -2, -4, -8]));
    let x = complex(64, 41);
    let sums = |stride: i64, width: i64| -> Vec<Complex64> {
        let at = |j: i64| x[j.rem_euclid(64) as usize];
        (0..64).map(|j| (0..width).map(|i| at(j + i * stride)).sum()).collect()
    };
    for (width, stride) in [(32, 2), (16, -1), (4, 2), (8, 2)] {
        let wanted = sums(stride, width as i64);
        let [four, two] = [&all, &few].map(|p| {
            let sum = p.server.inner_sum(&p.upload(&x), width, stride).unwrap();
            p.check_within(&sum, &wanted, 12.0, 7.0);
            sum.estimate().deviation
        });
        // The bound of one is that of the other: a key switch each, whatever is rounded at once.
        assert!((four / two - 1.0).abs() < 0.3, "{width}, {stride}: {four} and {two}");
    }
    // A sum all around: a rotation that changes nothing is none of a sum of four terms.
    let p = pair(&[4, 8, 12, 16, 32, 48]);
    let sum = p.server.inner_sum(&p.upload(&x), 16, 4).unwrap();
    let wanted: Vec<Complex64> =
        (0..64).map(|j| (0..16).map(|i| x[(j + 4 * i) % 64]).sum()).collect();
    p.check_within(&sum, &wanted, 12.0, 7.0);
}

#[test]
fn what_repeats_is_a_vector_of_fewer_slots() {
    let p = pair(&[16, 32, 1]);
    let s = &p.server;
    let x = numbers(64, 25);
    let sum = s.inner_sum(&p.upload(&x), 4, 16).unwrap();
    let few = sum.with_slots(16).unwrap();
    assert_eq!((few.slots(), few.level()), (16, sum.level()));
    let wanted: Vec<Complex64> =
        (0..16).map(|j| (0..4).map(|i| x[j + 16 * i]).sum::<f64>().into()).collect();
    p.check_within(&few, &wanted, 12.0, 7.0);
    // Rotations count modulo the fewer slots, in recordings as well, and more slots repeat.
    let turned = s.record(|b| {
        let x = b.input_with(sum.level(), sum.scale(), 64)?;
        let x = b.with_slots(&x, 16)?;
        Ok(vec![b.rotate(&x, 17)?])
    });
    let turned = turned.unwrap().run(&[&sum]).unwrap().remove(0);
    p.check_within(&turned, &rotated(&wanted, 1), 12.0, 7.0);
    let many = turned.with_slots(512).unwrap();
    let repeated: Vec<Complex64> = rotated(&wanted, 1).into_iter().cycle().take(512).collect();
    p.check_within(&many, &repeated, 12.0, 7.0);
    for slots in [0, 3, 1024] {
        assert!(matches!(sum.with_slots(slots), Err(Error::Length { .. })));
    }
}

#[test]
fn estimates_are_replaced_by_better_ones() {
    let p = pair(&[]);
    let x = p.upload(&numbers(16, 26));
    let better = Estimate { deviation: 0.0, bias: 0.25, magnitude: 2.0 };
    assert_eq!(x.with_estimate(better).unwrap().estimate(), better);
    for wrong in [-1.0, f64::NAN] {
        let estimate = Estimate { bias: wrong, ..better };
        assert!(matches!(x.with_estimate(estimate), Err(Error::Value { .. })));
    }
    let estimate = Estimate { magnitude: f64::INFINITY, ..better };
    assert!(matches!(x.with_estimate(estimate), Err(Error::Value { .. })));
}

#[test]
fn linear_maps_take_one_level() {
    let n = 32;
    let diagonals: Vec<(i64, Vec<Complex64>)> =
        [-3, 0, 1, 2, 5, 9].into_iter().map(|by| (by, complex(n, (30 + by) as u64))).collect();
    let map = LinearMap::from_diagonals(n, diagonals).unwrap();
    let p = pair(&map.rotations());
    let x = complex(n, 31);
    let cx = p.upload(&x);
    let y = p.server.linear_transform(&cx, &map).unwrap();
    assert_eq!((y.level(), Some(y.scale())), (cx.level() - 1, p.server.set().scale(y.level())));
    p.check_within(&y, &map.apply(&x), 12.0, 7.0);
    // A vector that repeats in a larger ciphertext is served by the same keys.
    let wide: Vec<Complex64> = x.iter().copied().cycle().take(128).collect();
    let y = p.server.linear_transform(&p.upload(&wide), &map).unwrap();
    p.check_within(&y, &map.apply(&wide), 12.0, 7.0);
    let small = p.upload(&x[..16]);
    assert!(matches!(p.server.linear_transform(&small, &map), Err(Error::Length { .. })));
}

/// With many diagonals to a rotation, at a level of few primes, rotations are divided by P first.
#[test]
fn linear_maps_of_many_diagonals_at_low_levels() {
    let n = 128;
    // All diagonals, and those that begin with a giant step.
    for diagonals in [0..n as i64, 32..n as i64] {
        let one = |by: i64| (by, complex(n, (60 + by) as u64).iter().map(|v| v / 8.0).collect());
        let map = LinearMap::from_diagonals(n, diagonals.map(one).collect::<Vec<(_, Vec<_>)>>());
        let map = map.unwrap();
        let p = pair(&map.rotations());
        let x = complex(n, 61);
        let cx = p.upload(&x);
        for level in [1, 2] {
            let cx = p.server.adjust(&cx, level).unwrap();
            let y = p.server.linear_transform(&cx, &map).unwrap();
            let scale = p.server.set().scale(level - 1);
            assert_eq!((y.level(), Some(y.scale())), (level - 1, scale));
            p.check_within(&y, &map.apply(&x), 12.0, 7.0);
        }
    }
}

/// Two results of three vectors, diagonals that repeat, and an input that one result does not need.
#[test]
fn matrices_of_linear_maps_take_one_level() {
    let n = 128;
    let map = |seed: u64, by: std::ops::Range<i64>| {
        let one = |by: i64| (by, complex(16, seed + by as u64).iter().map(|v| v / 8.0).collect());
        Some(LinearMap::from_diagonals(n, by.map(one).collect::<Vec<(_, Vec<_>)>>()).unwrap())
    };
    let rows = vec![
        vec![map(70, 0..40), None, map(170, 3..4)],
        vec![map(270, 16..17), map(370, 0..20), None],
    ];
    let maps = LinearMaps::new(rows).unwrap();
    let p = pair(&maps.rotations());
    let x: Vec<Vec<Complex64>> = (0..3).map(|i| complex(n, 470 + i)).collect();
    let cx: Vec<_> = x.iter().map(|x| p.upload(x)).collect();
    let run = |levels: [usize; 3]| {
        let inputs: Vec<_> =
            cx.iter().zip(levels).map(|(x, level)| p.server.adjust(x, level).unwrap()).collect();
        let recording = p.server.record(|b| {
            let input = |x: &Ciphertexts| b.input_with(x.level(), x.scale(), x.slots());
            let nodes = inputs.iter().map(input).collect::<Result<Vec<_>, _>>()?;
            b.linear_transforms(&nodes, &maps)
        });
        recording?.run(&inputs.iter().collect::<Vec<_>>())
    };
    // All go down to the lowest.
    for levels in [[2, 2, 2], [3, 1, 2]] {
        let y = run(levels).unwrap();
        let level = levels.iter().min().unwrap() - 1;
        for (y, wanted) in y.iter().zip(maps.apply(&x)) {
            assert_eq!((y.level(), Some(y.scale())), (level, p.server.set().scale(level)));
            p.check_within(y, &wanted, 12.0, 7.0);
        }
    }
    assert!(matches!(run([1, 0, 1]), Err(Error::OutOfLevels { .. })));
    let few = p.server.record(|b| {
        let x = b.input_with(1, cx[0].scale(), n)?;
        b.linear_transforms(&[x], &maps)
    });
    assert!(matches!(few, Err(Error::Length { .. })));
    let small = p.server.record(|b| {
        let x = b.input_with(1, cx[0].scale(), n / 2)?;
        b.linear_transforms(&[x; 3], &maps)
    });
    assert!(matches!(small, Err(Error::Length { .. })));
}

#[test]
fn matrices_times_vectors() {
    for (rows, columns) in [(8, 8), (4, 16), (16, 4), (3, 5), (1, 16)] {
        let m = Matrix::new(rows, columns, &numbers(rows * columns, 40)).unwrap();
        let p = pair(&m.rotations().unwrap());
        let x = numbers(columns, 41);
        let mut padded = x.clone();
        padded.resize(columns.next_power_of_two(), 0.0);
        let slots = rows.next_power_of_two().max(padded.len());
        let repeated: Vec<f64> = padded.iter().copied().cycle().take(slots).collect();
        let y = p.server.matrix_vector(&m, &p.upload(&repeated)).unwrap();
        let mut wanted: Vec<Complex64> = m
            .entries()
            .chunks(columns)
            .map(|row| row.iter().zip(&x).map(|(m, x)| m * x).sum())
            .collect();
        wanted.resize(rows.next_power_of_two(), Complex64::default());
        p.check_within(&y, &wanted, 12.0, 8.0);
        // Of as many slots as there are columns, which repeat.
        let y = p.server.matrix_vector(&m, &p.upload(&padded)).unwrap();
        assert_eq!(y.slots(), slots);
        p.check_within(&y, &wanted, 12.0, 8.0);
    }
}

/// More rows than the vector has slots, fewer slots than columns, and nothing but zeros.
#[test]
fn matrices_of_any_shape_serve() {
    let m = Matrix::new(5, 3, &numbers(15, 42)).unwrap();
    let p = pair(&m.rotations().unwrap());
    let x = [0.5, -0.25, 1.0, 0.0];
    let y = p.server.matrix_vector(&m, &p.upload(&x)).unwrap();
    let rows = m.entries().chunks(3);
    let mut wanted: Vec<Complex64> =
        rows.map(|row| row.iter().zip(x).map(|(m, x)| m * x).sum()).collect();
    wanted.resize(8, Complex64::default());
    p.check_within(&y, &wanted, 12.0, 8.0);
    let error = p.server.matrix_vector(&m, &p.upload(&x[..2])).unwrap_err().to_string();
    assert!(error.contains("3 columns need a vector of 4 slots"), "{error}");
    let ones = (0..8).map(|by| (by, vec![1.0; 8])).collect::<Vec<_>>();
    let map = LinearMap::from_diagonals(8, ones).unwrap();
    let error = p.server.linear_transform(&p.upload(&x), &map).unwrap_err().to_string();
    assert!(error.contains("with_slots(8)"), "{error}");

    let zeros = Matrix::new(5, 3, &[0.0; 15]).unwrap();
    assert!(zeros.rotations().unwrap().is_empty());
    let cx = p.upload(&x);
    let y = p.server.matrix_vector(&zeros, &cx).unwrap();
    assert_eq!((y.level(), y.slots()), (cx.level() - 1, 8));
    assert!(p.values(&y).iter().all(|y| y.norm() < 1e-9));
    assert_eq!(y.estimate().magnitude, 0.0);
    assert!(p.server.matrix_vector(&zeros, &p.upload_at(&x, 0)).is_err());
}

#[test]
fn matrices_times_matrices() {
    let size = 4;
    let p = pair(&Matrix::product_rotations(size).unwrap());
    let (x, y) = (numbers(16, 50), numbers(16, 51));
    let product = p.server.matrix_matrix(&p.upload(&x), &p.upload(&y)).unwrap();
    assert_eq!(product.level(), p.server.set().default_level() - 3);
    let entry = |j: usize| -> f64 {
        (0..size).map(|i| x[j / size * size + i] * y[i * size + j % size]).sum()
    };
    p.check_within(&product, &to_complex(&(0..16).map(entry).collect::<Vec<_>>()), 12.0, 8.0);
    let odd = p.upload(&numbers(8, 52));
    assert!(matches!(p.server.matrix_matrix(&odd, &odd), Err(Error::Length { .. })));
}
