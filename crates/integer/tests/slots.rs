//! Integers over numbers in slots: long arrays, bytes, what is refused; and the page's table.

mod toy;

use girih_backend::Progress;
use girih_discrete::{DEFAULT_LIMIT, DiscreteParameters, Forecast, ServerKey};
use girih_integer::{Encrypted, Result, SlotCost, slot_costs};
use std::sync::{Arc, Mutex, OnceLock};
use toy::Toy;

type FheUint<const BITS: u32> = girih_integer::FheUint<BITS, ServerKey>;
type FheInt<const BITS: u32> = girih_integer::FheInt<BITS, ServerKey>;
type FheBool = girih_integer::FheBool<ServerKey>;

fn toy() -> &'static Toy<ServerKey> {
    static TOY: OnceLock<Toy<ServerKey>> = OnceLock::new();
    TOY.get_or_init(|| Toy::slots("INSECURE_DISCRETE_4_N10", 1).expect("a toy"))
}

/// What a listener hears: how many look-ups are done, of how many.
#[derive(Default)]
struct Heard(Mutex<Vec<(usize, usize)>>);

impl Progress for Heard {
    fn report(&self, _: &str, done: usize, total: usize) {
        self.0.lock().expect("no panic").push((done, total));
    }
}

/// Nine ciphertexts a digit: a part of eight and one of one, and slots that are not in use.
#[test]
fn long_arrays_run_in_parts() {
    let t = toy();
    let count = 8 * t.client.set().numbers() + 5;
    let a: Vec<u8> = (0..count).map(|i| (i / 8 * 7) as u8 % 4).collect();
    let b: Vec<u8> = (0..count).map(|i| (i * 5 / 4) as u8 % 4).collect();
    let (x, y): (FheUint<2>, FheUint<2>) = (t.up(&a), t.up(&b));
    let heard = Arc::new(Heard::default());
    let before = t.integers.look_ups();
    t.integers.report_to(Some(heard.clone()));
    let sum = (&x + &y).expect("alike");
    t.integers.report_to(None);
    // Other tests count on the same server.
    assert!(t.integers.look_ups() >= before + 9);
    assert_eq!(heard.0.lock().expect("no panic").last(), Some(&(2, 2)));
    let wanted: Vec<u128> = a.iter().zip(&b).map(|(a, b)| u128::from((a + b) % 4)).collect();
    assert_eq!(t.down(&sum), wanted);
    // What is known everywhere is made when it is asked for.
    assert_eq!(t.down(&x.and(0u8).expect("in range")), vec![0; count]);
}

/// From and to every half and ciphertext, in arrays of several.
#[test]
fn elements_move_among_ciphertexts() {
    let t = toy();
    let numbers = t.client.set().numbers();
    let count = 2 * numbers + 9;
    let a: Vec<u8> = (0..count).map(|i| (i * i / 3 + i) as u8 % 4).collect();
    let x: FheUint<2> = t.up(&a);
    let half = numbers / 2;
    for elements in [
        vec![0, half - 1, half, numbers - 1, numbers, numbers + half + 1, count - 1],
        (0..half + 5).map(|i| i + half - 2).collect(),
        (0..numbers + 3).map(|i| i + 7).collect(),
    ] {
        let taken = t.integers.take(&x, &elements).expect("they are there");
        let wanted: Vec<u128> = elements.iter().map(|&e| a[e].into()).collect();
        assert_eq!(t.down(&taken), wanted);
        // They go on as any others.
        let next = taken.add(1u8).expect("in range");
        assert_eq!(t.down(&next), wanted.iter().map(|v| (v + 1) % 4).collect::<Vec<_>>());
    }
    let known: FheUint<2> = t.integers.constants(&a).expect("in range");
    assert_eq!(t.down(&known), a.iter().map(|&v| u128::from(v)).collect::<Vec<_>>());
    let error = t.integers.constants::<FheUint<2>, u8>(&[4]).expect_err("too large").to_string();
    assert!(error.contains("does not fit FheUint2"), "{error}");
    let few: FheUint<4> = t.up(&[9u8; 40]);
    assert_eq!(t.down(&few.sum_elements().expect("alike")), [9 * 40 % 16]);
}

#[test]
fn sums_of_arrays() {
    let t = toy();
    let arrays: [FheUint<4>; 3] = [t.up(&[15u8, 7, 0]), t.up(&[15u8, 9, 1]), t.up(&[15u8, 1, 2])];
    let sum = FheUint::sum(&arrays.each_ref()).expect("alike");
    assert_eq!(t.down(&sum), [13, 1, 3]);
    let error = FheUint::<4>::sum(&[]).expect_err("none").to_string();
    assert!(error.contains("at least one"), "{error}");
}

#[test]
fn arrays_travel_as_bytes() {
    let t = toy();
    let sent = FheInt::<4>::encrypt(&t.client, &[-8i8, 5]).expect("in range");
    assert_eq!((sent.len(), sent.key_id()), (2, Some(t.client.key_id())));
    let bytes = sent.to_bytes().expect("small");
    let read = Encrypted::<FheInt<4>>::from_bytes(&bytes).expect("what was written");
    assert_eq!(read, sent);
    assert_eq!(read.decrypt(&t.client).expect("its key"), [-8, 5]);
    let set = t.client.set();
    let read = Encrypted::<FheInt<4>>::from_bytes_for(set, 2, &bytes).expect("two at most");
    assert_eq!(read, sent);
    // For the owner of a public key: larger errors, which a look-up removes.
    let public = t.client.public_key().expect("randomness");
    let sent = Encrypted::<FheInt<4>>::encrypt(&public, &[-8i8, 5]).expect("in range");
    let sum = t.integers.upload(&sent).expect("its key").add(3i8).expect("fits");
    assert_eq!(t.down(&sum), [-5, -8]);
    let numbers = read.ciphertexts().clone();
    let mut long = bytes.clone();
    let length = "girih 1 FheInt4 in slots\n".len();
    long[length..length + 8].fill(0xff);
    for (what, part) in [
        (
            Encrypted::<FheInt<4>>::from_ciphertexts(numbers.clone(), 2000).map(drop),
            "2 ciphertexts",
        ),
        (Encrypted::<FheInt<4>>::from_ciphertexts(numbers.clone(), 0).map(drop), "for 0 FheInt4"),
        (Encrypted::<FheBool>::from_ciphertexts(numbers, 2).map(drop), "FheBool"),
        (Encrypted::<FheUint<4>>::from_bytes(&bytes).map(drop), "FheUint4"),
        (Encrypted::<FheInt<4>>::from_bytes(&bytes[..bytes.len() - 1]).map(drop), "truncated"),
        (Encrypted::<FheInt<4>>::from_bytes(&[]).map(drop), "begin with"),
        (Encrypted::<FheInt<4>>::from_bytes(&long).map(drop), "ciphertexts"),
        (Encrypted::<FheInt<4>>::from_bytes_for(set, 1, &bytes).map(drop), "there may be 1"),
        (Encrypted::<FheInt<4>>::from_bytes_for(set, usize::MAX, &long).map(drop), "ciphertexts"),
    ] {
        let error = what.expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    // Numbers that are no digits, and digits that are no bits.
    let wide = t.client.encrypt_batch(&[[9, 1], [0, 2]], 16).expect("below 16");
    let error =
        Encrypted::<FheInt<4>>::from_ciphertexts(wide, 2).expect_err("no digits").to_string();
    assert!(error.contains("digits of FheInt4 must be from 0 to 3"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused() {
    fn refused<T: std::fmt::Debug>(result: Result<T>, part: &str) {
        let error = result.expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    let t = toy();
    let x: FheUint<4> = t.up(&[1u8, 2]);
    let other = Toy::slots("INSECURE_DISCRETE_4_N10", 3).expect("a toy");
    let stranger: FheUint<4> = other.up(&[1u8, 2]);
    refused(x.add(&stranger), "another server");
    refused(t.integers.download(&stranger), "another server");
    let sent = FheUint::<4>::encrypt(&other.client, &[1u8]).expect("in range");
    refused(t.integers.upload(&sent), "client key");
    refused(sent.decrypt(&t.client), "client key");
    let error = Toy::slots("INSECURE_DISCRETE_1_N10", 1).map(drop).expect_err("no sums modulo 16");
    assert!(error.to_string().contains("take DISCRETE_4"), "{error}");
}

/// A row an operation.
fn table() -> String {
    let set = DiscreteParameters::by_name("DISCRETE_4").expect("built in");
    let forecast = Forecast::new(&set);
    let of = |bits| slot_costs(&forecast, bits, DEFAULT_LIMIT).expect("it holds");
    let all: Vec<Vec<SlotCost>> = [8, 16, 32, 64].map(of).to_vec();
    let mut rows = vec![
        "| operation | 8 bits | 16 bits | 32 bits | 64 bits |".to_owned(),
        "|---|---|---|---|---|".to_owned(),
    ];
    for (i, cost) in all[0].iter().enumerate() {
        let cell = |costs: &Vec<SlotCost>| {
            let SlotCost { look_ups, tables, levels, .. } = costs[i];
            format!("{look_ups} ({tables}); {levels}")
        };
        let cells: Vec<String> = all.iter().map(cell).collect();
        rows.push(format!("| {} | {} |", cost.operation, cells.join(" | ")));
    }
    rows.join("\n")
}

#[test]
fn the_documented_costs_are_those_of_the_programs() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/discrete.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let table = table();
    assert!(page.contains(&table), "docs/discrete.md should have this table:\n{table}");
}
