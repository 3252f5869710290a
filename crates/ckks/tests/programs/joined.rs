//! Digits that are joined, at every level where some are: the same words however they are computed,
//! results that decrypt to the same, noise by the model.

use std::sync::Arc;

use girih_backend::poly::{Domain, PolyPlan, interpret, lower, run_schedule};
use girih_ckks::program::{
    Chain, ChainShape, KeyKind, Part, RecordedProgram, Recorder, ResidentRequest,
};
use girih_ckks::{CkksParameters, NoiseModel};

use crate::support::Keys;
use crate::toy::{Client, errors};

const SET: &str = "INSECURE_CKKS_D40_30BIT_N10";

fn chain(joined: bool) -> Arc<Chain> {
    let set = CkksParameters::by_name(SET).unwrap();
    Chain::new(ChainShape { join_digits: joined, ..ChainShape::from(&set) }).unwrap()
}

fn joining_levels(chain: &Chain) -> Vec<usize> {
    let joins = |&level: &usize| {
        chain.digits_at(level).unwrap().iter().any(|digit| digit.numbers.len() > 1)
    };
    (0..=chain.top()).filter(joins).collect()
}

/// A rotation at `level`, hoisted as every rotation is.
fn rotation(r: &mut Recorder, level: usize) {
    let slots = r.chain().most_slots();
    let x = r.input(level, 2f64.powi(40), slots).unwrap();
    let y = r.rotate(&x, 1).unwrap();
    r.output(&y);
}

/// Interpreted, and as schedules with and without fusion: one result.
fn run(
    keys: &Keys,
    chain: &Arc<Chain>,
    recording: &RecordedProgram,
    input: &[Vec<u32>],
) -> Vec<Vec<u32>> {
    let residents = keys.residents(chain, recording);
    let program = &recording.program;
    let expected = interpret(program, &residents, input, &[]).unwrap().outputs;
    for fuse in [true, false] {
        let schedule = lower(program, &PolyPlan { fuse, ..PolyPlan::default() }, &[]).unwrap();
        let found = run_schedule(&schedule, chain.ring(), &residents, input).unwrap().outputs;
        assert!(found == expected, "fuse {fuse}");
    }
    expected
}

#[test]
fn noise_is_that_of_the_model_at_every_level() {
    let (joined, apart) = (chain(true), chain(false));
    let set = CkksParameters::by_name(SET).unwrap();
    let mut client = Client::new(&joined, 1);
    let keys = client.keys(&[KeyKind::Galois(joined.rotation(1))]);
    let levels = joining_levels(&joined);
    assert_eq!(levels, [7, 15, 16, 21, 22]);
    assert!(joining_levels(&apart).is_empty());
    for level in levels {
        let input = client.encrypt_zero(level);
        let mut words = Vec::new();
        for (chain, sums) in [(&joined, true), (&joined, false), (&apart, true)] {
            let mut r = Recorder::new(chain.clone());
            r.use_key_sums(sums);
            rotation(&mut r, level);
            let recording = r.finish();
            let summed = |request: &&ResidentRequest| !request.summands().is_empty();
            let count = recording.residents.iter().filter(summed).count();
            assert_eq!(count, if chain.shape().join_digits && sums { 2 } else { 0 });
            words.push(run(&keys, chain, &recording, &input));
        }
        assert!(words[0] == words[1], "level {level}: sums of keys and each of them");
        assert!(words[0] != words[2], "level {level}: joined and apart");
        let variance = |words: &[Vec<u32>]| {
            let phase = client.phase(level, words);
            phase.iter().map(|x| x * x).sum::<f64>() / phase.len() as f64
        };
        // The input's error is what an encryption has: 3.19^2 a coefficient.
        for (found, joins) in [(&words[0], true), (&words[2], false)] {
            let model = NoiseModel::new(&set).with_joined_digits(joins);
            let wanted = 3.19f64.powi(2) + model.key_switch(level);
            let ratio = variance(found) / wanted;
            println!("level {level}, joined {joins}: {ratio:.3} of 2^{:.2}", wanted.log2());
            assert!((0.8..1.25).contains(&ratio), "level {level}, joined {joins}: {ratio}");
        }
    }
}

/// A product, which switches by the relinearisation key, at a level that users have.
#[test]
fn products_decrypt_to_the_same() {
    let (joined, apart) = (chain(true), chain(false));
    let level = joining_levels(&joined)[0];
    let mut client = Client::new(&joined, 2);
    let keys = client.keys(&[KeyKind::Multiplication]);
    let z = client.random_slots(joined.most_slots());
    let squares: Vec<_> = z.iter().map(|z| z * z).collect();
    let input = client.encrypt(&z, level);
    for chain in [&joined, &apart] {
        let mut r = Recorder::new(chain.clone());
        let x = r.input(level, chain.scale(level).unwrap(), z.len()).unwrap();
        let y = r.square(&x).unwrap();
        let y = r.rescale(&y).unwrap();
        r.output(&y);
        let words = run(&keys, chain, &r.finish(), &input);
        let (deviation, _) = errors(&client.decrypt(&y, &words), &squares);
        assert!(deviation < -31.0, "2^{deviation:.2}");
    }
}

/// KLSS multiplies a joined digit by each row: the same words.
#[test]
fn klss_joins_as_well() {
    let set = CkksParameters::by_name(SET).unwrap();
    let shape = |joined| ChainShape { join_digits: joined, ..ChainShape::from(&set) };
    let klss = |joined| Chain::new(shape(joined).with_klss(12).unwrap()).unwrap();
    let chain = klss(true);
    assert_eq!(chain.klss(), klss(false).klss());
    let mut client = Client::new(&chain, 3);
    let keys = client.keys(&[KeyKind::Galois(chain.rotation(1))]);
    for level in [7, 22] {
        let input = client.encrypt_zero(level);
        let words = [false, true].map(|klss| {
            let mut r = Recorder::new(chain.clone());
            r.use_klss(klss).unwrap();
            rotation(&mut r, level);
            keys.run(&chain, &r.finish(), &input)
        });
        assert!(words[0] == words[1], "level {level}");
    }
}

/// A sum is over the primes of the levels that its key serves and at which it is read.
#[test]
fn sums_have_the_primes_of_their_levels() {
    let chain = chain(true);
    let g = chain.rotation(1);
    let basis = |most: usize, level: usize| {
        let mut r = Recorder::new(chain.clone());
        r.limit_keys(Arc::new([(KeyKind::Galois(g), most)].into()));
        let x = r.builder().input(chain.level(level).unwrap().clone(), Domain::Evaluations);
        let digits = r.digits(x.unwrap(), level).unwrap();
        r.key_product(&digits, KeyKind::Galois(g), None).unwrap();
        let found = r.finish().residents.into_iter().find_map(|request| match request {
            ResidentRequest::JoinedKey { digits, basis, part: Part::B, .. } => {
                Some((digits, basis))
            }
            _ => None,
        });
        found.expect("digits are joined there")
    };
    let level = |level: usize| chain.level(level).unwrap();
    let with_p = |basis: &girih_backend::poly::Basis| basis.union(chain.auxiliary());
    assert_eq!(basis(28, 7), (vec![0, 1], with_p(level(7))));
    assert_eq!(basis(15, 15), (vec![0, 2], with_p(level(15))));
    assert_eq!(basis(16, 15), (vec![0, 2], with_p(&level(15).union(level(16)))));
    assert_eq!(basis(16, 15), basis(28, 16));
    assert_eq!(basis(28, 21), (vec![0, 3], with_p(&level(21).union(level(22)))));
}
