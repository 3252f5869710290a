//! AES-128 encryption (FIPS 197) as a circuit.
//!
//! A block is 128 bits, byte by byte as FIPS 197 writes it, each byte lowest bit first.

use crate::{Builder, GateKind, Netlist, Wire};
use std::collections::HashMap;

/// The straight-line program of Boyar and Peralta, "A small depth-16 circuit for the AES S-box"
/// (2012): 32 AND and 83 XOR or XNOR (`#`), x0 and s0 the highest bits. A test of this crate
/// verifies it against inversion in GF(2^8).
const S_BOX: &str = include_str!("s_box.txt");

/// Wires of a byte, lowest bit first.
type Byte = Vec<Wire>;

/// SubBytes of one byte: 115 gates.
///
/// # Panics
/// For other than 8 bits.
pub fn s_box(builder: &mut Builder, byte: &[Wire]) -> Vec<Wire> {
    assert_eq!(byte.len(), 8, "bits of a byte");
    let names = ["x7", "x6", "x5", "x4", "x3", "x2", "x1", "x0"];
    let mut wires: HashMap<&str, Wire> = names.into_iter().zip(byte.iter().copied()).collect();
    for line in S_BOX.lines() {
        let [name, _, a, operator, b] = line.split(' ').collect::<Vec<_>>()[..] else {
            unreachable!("the table has five columns")
        };
        let kind = match operator {
            "&" => GateKind::And,
            "#" => GateKind::Xnor,
            _ => GateKind::Xor,
        };
        wires.insert(name, builder.gate(kind, &[wires[a], wires[b]]));
    }
    ["s7", "s6", "s5", "s4", "s3", "s2", "s1", "s0"].map(|name| wires[name]).to_vec()
}

/// Multiplication by x modulo x^8 + x^4 + x^3 + x + 1.
fn times_x(builder: &mut Builder, byte: &[Wire]) -> Byte {
    let top = byte[7];
    let mut out = vec![top];
    for bit in 1..8 {
        let wire = byte[bit - 1];
        out.push(if [1, 3, 4].contains(&bit) { builder.xor(wire, top) } else { wire });
    }
    out
}

/// MixColumns of one column: with t the sum of its bytes, `b_i = a_i + t + x (a_i + a_{i+1})`.
fn mix_column(builder: &mut Builder, column: &[Byte]) -> Vec<Byte> {
    let pairs: Vec<Byte> =
        (0..4).map(|i| builder.xor_words(&column[i], &column[(i + 1) % 4])).collect();
    let total = builder.xor_words(&pairs[0], &pairs[2]);
    let mixed = |(byte, pair): (&Byte, &Byte)| {
        let rest = builder.xor_words(byte, &total);
        let doubled = times_x(builder, pair);
        builder.xor_words(&rest, &doubled)
    };
    column.iter().zip(&pairs).map(mixed).collect()
}

/// ShiftRows: byte `r + 4c` comes from column c + r.
fn shift_rows(state: &[Byte]) -> Vec<Byte> {
    (0..16).map(|i| state[(i + 4 * (i % 4)) % 16].clone()).collect()
}

fn add_round_key(builder: &mut Builder, state: &[Byte], key: &[Byte]) -> Vec<Byte> {
    state.iter().zip(key).map(|(s, k)| builder.xor_words(s, k)).collect()
}

/// The keys of rounds 0 to `rounds`, 16 bytes each (FIPS 197, section 5.2).
fn expand_key(builder: &mut Builder, key: &[Byte], rounds: usize) -> Vec<Byte> {
    let mut bytes = key.to_vec();
    let mut round_constant: u16 = 1;
    for i in 16..16 * (rounds + 1) {
        let mut previous = bytes[i - 4].clone();
        if i % 16 < 4 {
            // RotWord and SubWord of the last word of the key before.
            let word = i - i % 4;
            let rotated = bytes[word - 4 + (i + 1) % 4].clone();
            previous = s_box(builder, &rotated);
            if i % 16 == 0 {
                let constant = builder.constant_word(u64::from(round_constant), 8);
                previous = builder.xor_words(&previous, &constant);
                round_constant =
                    round_constant << 1 ^ if round_constant & 0x80 != 0 { 0x11B } else { 0 };
            }
        }
        let byte = builder.xor_words(&bytes[i - 16], &previous);
        bytes.push(byte);
    }
    bytes
}

/// The first `rounds` of ten rounds; the tenth has no MixColumns.
fn encrypt(builder: &mut Builder, block: &[Byte], keys: &[Byte], rounds: usize) -> Vec<Byte> {
    let mut state = add_round_key(builder, block, &keys[..16]);
    for round in 1..=rounds {
        let substituted: Vec<Byte> = state.iter().map(|byte| s_box(builder, byte)).collect();
        state = shift_rows(&substituted);
        if round < 10 {
            state = state.chunks(4).flat_map(|column| mix_column(builder, column)).collect();
        }
        state = add_round_key(builder, &state, &keys[16 * round..][..16]);
    }
    state
}

fn input_bytes(builder: &mut Builder, name: &str, count: usize) -> Vec<Byte> {
    builder.input(name, 8 * count).chunks(8).map(<[Wire]>::to_vec).collect()
}

fn output_bytes(mut builder: Builder, name: &str, bytes: &[Byte]) -> Netlist {
    builder.output(name, &bytes.concat());
    builder.finish().expect("buses have different names")
}

fn check_rounds(rounds: usize) {
    assert!((1..=10).contains(&rounds), "AES-128 has 10 rounds, {rounds} were asked for");
}

/// AES-128 of `block` under `key`, key schedule included: the state after `rounds` rounds, 10 for
/// the ciphertext.
///
/// # Panics
/// Unless rounds are from 1 to 10.
pub fn aes128(rounds: usize) -> Netlist {
    check_rounds(rounds);
    let mut builder = Builder::new();
    let key = input_bytes(&mut builder, "key", 16);
    let block = input_bytes(&mut builder, "block", 16);
    let keys = expand_key(&mut builder, &key, rounds);
    let state = encrypt(&mut builder, &block, &keys, rounds);
    output_bytes(builder, "state", &state)
}

/// The same under `round_keys`, 16 bytes for each of rounds 0 to `rounds`: what
/// [`aes128_key_schedule`] makes.
///
/// # Panics
/// Unless rounds are from 1 to 10.
pub fn aes128_expanded(rounds: usize) -> Netlist {
    check_rounds(rounds);
    let mut builder = Builder::new();
    let keys = input_bytes(&mut builder, "round_keys", 16 * (rounds + 1));
    let block = input_bytes(&mut builder, "block", 16);
    let state = encrypt(&mut builder, &block, &keys, rounds);
    output_bytes(builder, "state", &state)
}

/// The `round_keys` of `key`, for [`aes128_expanded`].
///
/// # Panics
/// Unless rounds are from 1 to 10.
pub fn aes128_key_schedule(rounds: usize) -> Netlist {
    check_rounds(rounds);
    let mut builder = Builder::new();
    let key = input_bytes(&mut builder, "key", 16);
    let keys = expand_key(&mut builder, &key, rounds);
    output_bytes(builder, "round_keys", &keys)
}
