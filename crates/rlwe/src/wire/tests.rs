//! The serialized form, right, damaged and changed on purpose.

use super::*;
use crate::Error;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Toy {
    pub number: u8,
}

const THING: Kind = Kind::new(1, "things");
const OTHER: Kind = Kind::new(2, "other things");

impl std::fmt::Display for Toy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TOY{}", self.number)
    }
}

impl ParameterSet for Toy {
    const SCHEME: Scheme = Scheme::Ckks;
    const KINDS: &'static [Kind] = &[THING, OTHER];

    fn to_canonical(&self) -> Vec<u8> {
        vec![self.number; 3]
    }

    fn from_canonical(bytes: &[u8]) -> std::result::Result<Self, String> {
        // More lenient than it may be: `open` insists on the canonical form.
        let number = bytes.first().ok_or("empty")?;
        if *number > 100 { Err("above 100".into()) } else { Ok(Self { number: *number }) }
    }
}

fn good() -> Vec<u8> {
    let key = KeyId::from_bytes([3; 16]);
    encode(THING, &Toy { number: 7 }, key, 40, &(5u32, Bytes(&[9; 40]))).expect("small")
}

fn why<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result.expect_err("must be refused") {
        Error::Malformed { why, .. } => why,
        other => panic!("{other}"),
    }
}

fn read(bytes: &[u8]) -> Result<(Toy, (u32, &[u8]))> {
    open::<Toy>(THING, bytes)?.payload()
}

fn read_for(number: u8, bytes: &[u8]) -> Result<(Toy, (u32, &[u8]))> {
    open_for(THING, &Toy { number }, 40, bytes)?.payload()
}

#[test]
fn what_is_written_is_read() {
    let bytes = good();
    for result in [read(&bytes), read_for(7, &bytes)] {
        assert_eq!(result.expect("own output"), (Toy { number: 7 }, (5, &[9; 40][..])));
    }
    let opened = open::<Toy>(THING, &bytes).expect("own output");
    assert_eq!(opened.named_key().ok(), KeyId::from_bytes([3; 16]));
    assert!(opened.check_payload(0).is_ok() && opened.payload_len() == 42);
    let nameless = encode(THING, &Toy { number: 7 }, None, 0, &1u8).expect("small");
    let opened = open::<Toy>(THING, &nameless).expect("own output");
    assert!(opened.key.is_none() && why(opened.named_key()).contains("no client key"));
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    let good = good();
    for at in 0..good.len() {
        assert!(why(read(&good[..at])).contains("truncated"));
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            for result in [read(&bytes), read_for(7, &bytes)] {
                let text = why(result);
                let said = match at {
                    0..4 => text.contains("not written by this library"),
                    4..6 => text.contains("format version"),
                    6 => text.contains("not of CKKS"),
                    7 => text.contains("these bytes hold"),
                    8..16 => text.contains("the header speaks of"),
                    _ => text.contains("checksum does not match"),
                };
                assert!(said, "byte {at}: {text}");
            }
        }
    }
}

#[test]
fn changes_on_purpose_are_bounded_and_named() {
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good();
        change(&mut bytes);
        reseal(&mut bytes);
        bytes
    };
    let bytes = changed(&|b| b[32..34].copy_from_slice(&5000u16.to_le_bytes()));
    assert!(why(read(&bytes)).contains("5000 bytes; 4096 are the most"));
    let bytes = changed(&|b| b[32..34].copy_from_slice(&500u16.to_le_bytes()));
    assert!(why(read(&bytes)).contains("truncated within their parameter set"));
    let bytes = changed(&|b| b[34] = 200);
    assert!(why(read(&bytes)).contains("their parameter set: above 100"));
    assert!(why(read_for(7, &bytes)).contains("they are of another set, where TOY7 is expected"));
    let bytes = changed(&|b| b[35] = 8);
    assert!(why(read(&bytes)).contains("TOY7 is not written in its canonical form"));
    assert!(why(read_for(8, &good())).contains("they are of TOY7, where TOY8 is expected"));
    let bytes = changed(&|b| b.truncate(b.len() - 5));
    assert!(why(read(&bytes)).contains("truncated"));
    let bytes = changed(&|b| b.extend([0; 3]));
    assert!(why(read(&bytes)).contains("3 bytes too many"));
    // Too long for the set: refused by its length, before anything is hashed.
    let bytes = changed(&|b| b.extend([0; 1000]));
    assert!(why(read_for(7, &bytes)).contains("where TOY7 needs at most"));
    let opened = open::<Toy>(THING, &bytes).expect("the payload is not read yet");
    assert!(why(opened.check_payload(40)).contains("1042 bytes where TOY7 needs at most 168"));
    assert!(why(open::<Toy>(OTHER, &good())).contains("these bytes hold things"));
    let old = changed(&|b| b[4] = 3);
    assert!(why(read(&old)).contains("version 3 (of girih before random streams were bound"));
}

#[test]
fn things_have_the_names_that_messages_use() {
    assert_eq!((THING.name(), OTHER.name()), ("things", "other things"));
    let schemes = [Scheme::Tfhe, Scheme::Ckks, Scheme::Switching, Scheme::Discrete];
    for (scheme, byte) in schemes.into_iter().zip(1..) {
        assert_eq!(Scheme::of_byte(byte), Some(scheme));
    }
    assert_eq!([0, 5, 255].map(Scheme::of_byte), [None; 3]);
    let of_other_scheme = {
        let mut bytes = good();
        bytes[6] = 1;
        bytes
    };
    assert!(why(read(&of_other_scheme)).contains("are of TFHE, not of CKKS"));
}

/// Whoever holds an old file learns what it lacks.
#[test]
fn every_older_version_is_told_what_it_lacks() {
    for (version, what) in [
        (1, "before ciphertexts carried their modulus"),
        (2, "before bytes ended with a checksum"),
        (3, "before random streams were bound to their set"),
        (4, "before ciphertexts carried the variance of their errors"),
    ] {
        let mut bytes = good();
        bytes[4] = version;
        assert!(why(read(&bytes)).contains(what), "version {version}");
    }
    let mut bytes = good();
    bytes[4] = 77;
    assert!(why(read(&bytes)).contains("format version 77; this library"));
}

/// A buffer that grows leaves copies of secrets behind, one with too much room wastes it.
#[test]
fn a_buffer_has_the_room_that_is_needed() {
    let bytes = encode(THING, &Toy { number: 7 }, None, 40, &Bytes(&[9; 40])).expect("small");
    assert_eq!(bytes.capacity(), HEADER + 3 + SMALL + 40 + CHECKSUM);
}

/// The bounds on lengths are met exactly: one byte more is one too many.
#[test]
fn lengths_are_bounded_to_the_byte() {
    let fixed = HEADER + 3 + SMALL + CHECKSUM;
    let long = vec![9; SMALL + 300];
    let bytes = encode(THING, &Toy { number: 7 }, None, long.len(), &Bytes(&long)).expect("small");
    let most = bytes.len() - fixed;
    assert!(open_for(THING, &Toy { number: 7 }, most, &bytes).is_ok());
    let refused = why(open_for(THING, &Toy { number: 7 }, most - 1, &bytes));
    let (len, least) = (bytes.len(), bytes.len() - 1);
    assert_eq!(refused, format!("{len} bytes where TOY7 needs at most {least}"));
    // What is of another kind is told so, however long it is.
    let refused = why(open_for(OTHER, &Toy { number: 7 }, 0, &bytes));
    assert!(refused.contains("these bytes hold things"), "{refused}");
    let opened = open::<Toy>(THING, &bytes).expect("own output");
    let most = opened.payload_len() - SMALL;
    assert!(opened.check_payload(most).is_ok());
    assert!(why(opened.check_payload(most - 1)).contains("needs at most"));
    // A set of the greatest length is looked for; a longer one is refused by its length.
    for (set_len, said) in [(LONGEST_SET, "truncated within"), (LONGEST_SET + 1, "are the most")] {
        let mut bytes = good();
        bytes[HEADER - 2..HEADER].copy_from_slice(&(set_len as u16).to_le_bytes());
        reseal(&mut bytes);
        assert!(why(read(&bytes)).contains(said), "{set_len}");
    }
}

/// Bytes without room for a header and a checksum get no checksum.
#[test]
fn what_is_too_short_for_a_checksum_is_resealed_without_one() {
    let mut short = [1; HEADER + CHECKSUM - 1];
    reseal(&mut short);
    assert_eq!(short[LENGTH], (short.len() as u64).to_le_bytes());
    assert!(short[LENGTH.end..].iter().all(|&byte| byte == 1));
    let mut bytes = [1; HEADER + CHECKSUM];
    reseal(&mut bytes);
    assert_eq!(bytes[HEADER..], checksum(&bytes[..HEADER]));
}
