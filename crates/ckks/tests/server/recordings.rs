//! Computations recorded once and run many times.

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
