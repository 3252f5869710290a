//! Computations recorded once and run many times.

use girih_ckks::server::Ciphertexts;
use girih_ckks::{Complex64, Error};

use crate::support::{complex, pair};

#[test]
fn a_recording_runs_with_any_ciphertexts() {
    let p = pair(&[3]);
    let level = p.server.set().default_level();
    let weights = complex(512, 70);
    let recording = p
        .server
        .record(|b| {
            let (x, y) = (b.input(level)?, b.input(level - 2)?);
            let product = b.mul(&x, &y)?;
            let weighted = b.mul_plain(&x, &weights)?;
            let turned = b.rotate(&weighted, 3)?;
            Ok(vec![b.add(&product, &turned)?, b.neg(&x)?])
        })
        .unwrap();
    for seed in [71, 73] {
        let (x, y) = (complex(512, seed), complex(512, seed + 1));
        let (cx, cy) = (p.upload(&x), p.upload_at(&y, level - 2));
        let results = recording.run(&[&cx, &cy]).unwrap();
        let wanted: Vec<Complex64> =
            (0..512).map(|j| x[j] * y[j] + x[(j + 3) % 512] * weights[(j + 3) % 512]).collect();
        p.check_within(&results[0], &wanted, 12.0, 5.0);
        p.check(&results[1], &x.iter().map(|x| -x).collect::<Vec<_>>());
        // The same by single operations, word for word.
        let s = &p.server;
        let turned = s.rotate(&s.mul_plain(&cx, &weights).unwrap(), 3).unwrap();
        let again = s.add(&s.mul(&cx, &cy).unwrap(), &turned).unwrap();
        let words = |batch| {
            let host = s.download(batch).unwrap();
            (host[0].b().to_vec(), host[0].a().to_vec())
        };
        assert_eq!(words(&results[0]), words(&again));
        assert_eq!(results[0].estimate(), again.estimate());
    }
    // Results are inputs of further runs, and clones keep them alive.
    let x = p.upload(&complex(512, 75));
    let first = recording.run(&[&x, &p.server.adjust(&x, level - 2).unwrap()]).unwrap();
    let kept = first[1].clone();
    drop(first);
    p.check(&p.server.neg(&kept).unwrap(), &complex(512, 75));
}

/// What runs bring along gives the words of what is recorded, and its estimates.
#[test]
fn vectors_of_runs_give_the_words_of_recorded_ones() {
    let p = pair(&[]);
    let s = &p.server;
    let level = s.set().default_level();
    let recording = s
        .record(|b| {
            let x = b.input(level)?;
            let (long, short) = (b.vector_input(512, 2.0)?, b.vector_input(8, 2.0)?);
            let number = b.vector_input(1, 3.0)?;
            let y = b.mul_vector(&x, &long)?;
            let z = b.add_vector(&y, &short)?;
            let scaled = b.mul_vector(&z, &number)?;
            let shifted = b.add_vector(&x, &number)?;
            Ok(vec![y, z, scaled, shifted])
        })
        .unwrap();
    let words = |batch: &Ciphertexts| {
        let host = s.download(batch).unwrap();
        (host[0].b().to_vec(), host[0].a().to_vec())
    };
    let x = p.upload(&complex(512, 80));
    for (seed, c, len) in [(81, 0.3, 8), (82, -1.7, 4), (83, 2.5, 1)] {
        let (long, short) = (complex(512, seed), complex(len, seed + 10));
        let number = [Complex64::new(c, 0.0)];
        let found = recording.run_with(&[&x], &[&long[..], &short, &number]).unwrap();
        let y = s.mul_plain(&x, &long).unwrap();
        let z = s.add_plain(&y, &short).unwrap();
        let wanted = [s.mul_constant(&z, c).unwrap(), s.add_constant(&x, c).unwrap()];
        for (found, wanted) in found.iter().zip([&y, &z].into_iter().chain(&wanted)) {
            assert_eq!(words(found), words(wanted), "{seed}");
            let (found, wanted) = (found.estimate(), wanted.estimate());
            let same = |x: f64, y: f64| (x - y).abs() <= 1e-9 * y;
            assert!(same(found.deviation, wanted.deviation), "{seed}: {found:?} {wanted:?}");
            // A number of a run may have two parts, and counts as if it had.
            let most = 1.5 * wanted.bias;
            assert!((0.999 * wanted.bias..=most).contains(&found.bias), "{seed}");
        }
        assert_eq!(found[1].estimate(), z.estimate(), "vectors are counted alike");
    }
    // Estimates without a run count with what was declared.
    let declared = recording.estimate(&[x.estimate()]).unwrap();
    let small = recording.run_with(&[&x], &[&[0.1][..], &[0.1], &[0.1]]).unwrap();
    for (most, one) in declared.iter().zip(&small) {
        assert!(most.magnitude > one.estimate().magnitude);
        assert!(most.deviation >= one.estimate().deviation);
    }
}

#[test]
fn drafts_tell_their_outputs_and_become_recordings() {
    let p = pair(&[]);
    let s = &p.server;
    let level = s.set().default_level();
    let draft = s
        .draft(|b| {
            let x = b.input(level)?;
            Ok(vec![b.square(&x)?, b.with_slots(&x, 512)?])
        })
        .unwrap();
    let outputs = draft.outputs();
    let x = complex(512, 90);
    let results = draft.prepare().unwrap().run(&[&p.upload(&x)]).unwrap();
    let shapes = results.iter().map(|x| (x.level(), x.scale(), x.slots()));
    assert_eq!(outputs, shapes.collect::<Vec<_>>());
    p.check(&results[0], &x.iter().map(|x| x * x).collect::<Vec<_>>());
    // What is missing is found when it is prepared.
    let conjugated = s.draft(|b| {
        let x = b.input(level)?;
        Ok(vec![b.rotate(&x, 5)?])
    });
    assert!(matches!(conjugated.unwrap().prepare(), Err(Error::MissingKey { .. })));
}

#[test]
fn vectors_of_runs_must_be_what_was_declared() {
    let p = pair(&[]);
    let s = &p.server;
    let level = s.set().default_level();
    let recording = s
        .record(|b| {
            let (x, v) = (b.input(level)?, b.vector_input(4, 1.0)?);
            Ok(vec![b.mul_vector(&x, &v)?])
        })
        .unwrap();
    let x = p.upload(&complex(512, 84));
    let run = |vectors: &[&[f64]]| recording.run_with(&[&x], vectors).map(drop);
    assert!(matches!(recording.run(&[&x]), Err(Error::Length { .. })));
    assert!(matches!(run(&[&[0.5], &[0.5]]), Err(Error::Length { .. })));
    assert!(matches!(run(&[&[0.5; 8]]), Err(Error::Length { .. })));
    assert!(matches!(run(&[&[0.5; 3]]), Err(Error::Length { .. })));
    assert!(matches!(run(&[&[1.5]]), Err(Error::Magnitude { .. })));
    assert!(matches!(run(&[&[f64::NAN]]), Err(Error::Value { .. })));
    run(&[&[0.5, -1.0]]).unwrap();
    let declare = |slots, magnitude| {
        s.record(|b| {
            let (x, v) = (b.input_with(3, 1e12, 2)?, b.vector_input(slots, magnitude)?);
            Ok(vec![b.add_vector(&x, &v)?])
        })
        .map(drop)
    };
    assert!(matches!(declare(3, 1.0), Err(Error::Length { .. })));
    assert!(matches!(declare(4, 1.0), Err(Error::Length { .. })), "more than the ciphertext has");
    assert!(matches!(declare(2, f64::INFINITY), Err(Error::Value { .. })));
    let mut kept = None;
    s.record(|b| {
        kept = Some(b.vector_input(1, 1.0)?);
        Ok(vec![b.input(3)?])
    })
    .unwrap();
    let foreign = s.record(|b| {
        let x = b.input(3)?;
        Ok(vec![b.add_vector(&x, &kept.unwrap())?])
    });
    assert!(matches!(foreign, Err(Error::Order { .. })));
}

#[test]
fn encoded_vectors_are_shared_and_leave_with_the_last_recording() {
    let p = pair(&[]);
    let weights = complex(512, 76);
    let record = |level| {
        p.server.record(|b| {
            let x = b.input(level)?;
            Ok(vec![b.mul_plain(&x, &weights)?])
        })
    };
    let bytes = p.server.memory().device_bytes;
    let first = record(4).unwrap();
    assert_eq!(p.server.memory().vectors, 1);
    let second = record(4).unwrap();
    assert_eq!(p.server.memory().vectors, 1);
    let third = record(5).unwrap();
    assert_eq!(p.server.memory().vectors, 2);
    drop(first);
    assert_eq!(p.server.memory().vectors, 2);
    drop((second, third));
    assert_eq!(p.server.memory().vectors, 0);
    assert_eq!(p.server.memory().device_bytes, bytes);
}

#[test]
fn recordings_of_single_operations_are_kept_up_to_a_limit() {
    let options = girih_ckks::server::Options::default().with_recordings(2);
    let p = crate::support::pair_of(crate::support::SMALL, Vec::new(), options);
    let x = p.upload(&[0.5]);
    for c in [1.0, 2.0, 3.0, 2.0] {
        p.server.add_constant(&x, c).unwrap();
    }
    assert_eq!(p.server.memory().recordings, 2);
    p.server.forget_recordings();
    assert_eq!(p.server.memory().recordings, 0);
}

#[test]
fn inputs_must_be_what_was_declared() {
    let p = pair(&[]);
    let s = &p.server;
    let level = s.set().default_level();
    let record = || {
        s.record(|b| {
            let x = b.input(level)?;
            Ok(vec![b.square(&x)?])
        })
    };
    let recording = record().unwrap();
    let x = p.upload(&complex(512, 77));
    assert!(matches!(recording.run(&[]), Err(Error::Length { .. })));
    assert!(matches!(recording.run(&[&x, &x]), Err(Error::Length { .. })));
    let low = s.adjust(&x, 3).unwrap();
    assert!(matches!(recording.run(&[&low]), Err(Error::Level { .. })));
    let raw = s.mul_unscaled(&x, &x).unwrap();
    assert!(matches!(recording.run(&[&raw]), Err(Error::Scale { .. })));
    let sparse = p.upload(&complex(8, 78));
    assert!(matches!(recording.run(&[&sparse]), Err(Error::Shape { .. })));
    let foreign = pair(&[]).upload(&complex(512, 77));
    assert!(matches!(recording.run(&[&foreign]), Err(Error::Order { .. })));
}

#[test]
fn recordings_are_checked_while_they_are_made() {
    let p = pair(&[]);
    let s = &p.server;
    assert!(matches!(s.record(|_| Ok(Vec::new())), Err(Error::Length { .. })));
    assert!(matches!(s.record(|b| Ok(vec![b.input(99)?])), Err(Error::Level { .. })));
    let shape = s.record(|b| Ok(vec![b.input_with(3, 1e12, 3)?]));
    assert!(matches!(shape, Err(Error::Shape { .. })));
    let late = s.record(|b| {
        let x = b.input(3)?;
        let x = b.neg(&x)?;
        let y = b.input(3)?;
        Ok(vec![b.add(&x, &y)?])
    });
    assert!(matches!(late, Err(Error::Order { .. })));
    let mut stray = None;
    s.record(|b| {
        let x = b.input(3)?;
        stray = Some(x);
        Ok(vec![b.neg(&x)?])
    })
    .unwrap();
    let foreign = s.record(|b| {
        let x = b.input(3)?;
        Ok(vec![b.add(&x, &stray.expect("recorded"))?])
    });
    assert!(matches!(foreign, Err(Error::Order { .. })));
    let key = s.record(|b| {
        let x = b.input(3)?;
        Ok(vec![b.rotate(&x, 1)?])
    });
    assert!(matches!(key, Err(Error::MissingKey { .. })));
}
