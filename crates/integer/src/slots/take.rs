//! Elements that change places: rotated, and cut out by a mask.

use super::layout::Layout;
use super::operations::{MOST, State};
use super::run::{Part, SIDE_BY_SIDE};
use super::standard::Standard;
use crate::engine::{Array, Form};
use crate::{Result, error, error::mismatch};
use girih_discrete::{EncryptedNumbers, ServerKey, Table, Wires};
use girih_rlwe::Mismatch;
use std::collections::BTreeMap;

/// What stands in a mask where a number is kept.
const KEPT: i64 = 8;

/// Digits that one look-up adds, of which one is not 0.
const GROUP: usize = 4;

/// How elements come from one ciphertext into another: they move alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    from: usize,
    by: usize,
    turns: usize,
}

/// The ways by which elements come into one ciphertext, and the slots where they arrive.
fn ways(elements: &[usize], numbers: usize) -> BTreeMap<Way, Vec<usize>> {
    let (half, mut ways) = (numbers / 2, BTreeMap::<Way, Vec<usize>>::new());
    for (to, &element) in elements.iter().enumerate() {
        let (from, place) = (element / numbers, element % numbers);
        let by = (place + half - to % half) % half;
        // One turn takes the first half to the second, three the second to the first.
        let turns = match (place < half, to < half) {
            (true, false) => 1,
            (false, true) => 3,
            _ => 0,
        };
        ways.entry(Way { from, by, turns }).or_default().push(to);
    }
    ways
}

/// The table that keeps a digit where a mask has [`KEPT`], and makes the rest 0.
fn kept(standard: &Standard) -> Result<Table> {
    let Some((modulus, order)) = standard.reading(2 * KEPT - 1) else {
        return error::unsupported(standard.set(), "no look-up reads sums modulo 16");
    };
    let of = |m: i64| if (KEPT..=KEPT + MOST).contains(&m) { m - KEPT } else { 0 };
    let values: Vec<i64> = (0..i64::from(modulus)).map(of).collect();
    Ok(Table::from_values(&values)?.order(order)?)
}

/// The same numbers with the errors of clean ones. Of a look-up that barely holds it takes two.
pub(super) fn cleaned(
    server: &ServerKey,
    standard: &Standard,
    mut wires: Wires,
    most: i64,
) -> Result<Wires> {
    let (clean, identity) = (standard.clean(most), standard.identity(most)?);
    for _ in 0..2 {
        if !wires.expected().is_within(clean) {
            wires = server.lookup(&wires, &[&identity])?.remove(0);
        }
    }
    if !wires.expected().is_within(clean) {
        return mismatch(Mismatch::Form {
            what: format!("{wires:?}"),
            found: "with errors that look-ups do not remove".into(),
            expected: "fresh ones have smaller errors".into(),
        });
    }
    Ok(wires)
}

/// A ciphertext for each digit that is not known, of some elements.
fn chunk(array: &Array<ServerKey>, elements: &[usize]) -> Result<Vec<Wires>> {
    let (server, standard) = (&array.inner.server, &array.inner.context);
    let (numbers, table) = (server.set().numbers(), kept(standard)?);
    let unknown: Vec<usize> =
        (0..array.digits.len()).filter(|&d| !matches!(array.digits[d], State::Known(_))).collect();
    let mut terms: Vec<Vec<Wires>> = vec![Vec::new(); unknown.len()];
    for (way, slots) in ways(elements, numbers) {
        let mut mask = vec![0; numbers];
        slots.iter().for_each(|&slot| mask[slot] = KEPT as u32);
        let mask = server.known(&[mask], KEPT as u32 + 1)?;
        let part = &array.words[way.from / SIDE_BY_SIDE];
        let at = way.from % SIDE_BY_SIDE;
        let moved = unknown.iter().map(|&digit| {
            let nowhere = || Mismatch::empty("ciphertexts of a digit");
            let wires = part.digits[digit].as_ref().ok_or_else(nowhere)?;
            Ok(server.moved(&wires.select(at..at + 1)?, way.by, way.turns)?)
        });
        let moved = moved.collect::<Result<Vec<Wires>>>()?;
        for (some, into) in moved.chunks(SIDE_BY_SIDE).zip(terms.chunks_mut(SIDE_BY_SIDE)) {
            let sums: Vec<Vec<&Wires>> = some.iter().map(|wires| vec![&mask, wires]).collect();
            let results = server.lookup_each(&[1, 1], 0, &sums, &[&table])?;
            into.iter_mut().zip(results).for_each(|(all, result)| all.extend(result));
        }
        array.inner.count_look_ups(moved.len());
    }
    let mut digits = Vec::with_capacity(unknown.len());
    for (mut terms, digit) in terms.into_iter().zip(unknown) {
        let most = array.digits[digit].most();
        let identity = standard.identity(most)?;
        while terms.len() > 1 {
            let sum = |some: &[Wires]| -> Result<Wires> {
                let all: Vec<(i64, &Wires)> = some.iter().map(|wires| (1, wires)).collect();
                let sum = server.sum(&all, 0)?.within(0, most);
                Ok(server.lookup(&sum, &[&identity])?.remove(0))
            };
            terms = terms.chunks(GROUP).map(sum).collect::<Result<_>>()?;
        }
        let Some(wires) = terms.pop() else { return mismatch(Mismatch::empty("elements to take")) };
        let wires = cleaned(server, standard, wires.within(0, most), most)?;
        digits.push(wires.of_numbers(elements.len())?);
    }
    Ok(digits)
}

/// Elements that there are, in any order. Ciphertexts of one digit are put together on the host.
pub(super) fn take(
    array: &Array<ServerKey>,
    elements: &[usize],
) -> Result<(Vec<Part>, Vec<State>)> {
    let (server, standard) = (&array.inner.server, &array.inner.context);
    let numbers = server.set().numbers();
    let form = Form { digits: 1, is_condition: false };
    let layout = Layout::new(elements.len(), numbers, form);
    let used = elements.len().min(numbers);
    let states = array.digits.iter().map(|state| match state {
        State::Known(value) => State::Known(*value),
        other => State::Clean(other.most()),
    });
    let mut parts = Vec::new();
    for range in layout.parts().flatten() {
        let len = range.len();
        let mut chunks = Vec::with_capacity(len);
        for i in range {
            let some = &elements[i * numbers..elements.len().min((i + 1) * numbers)];
            chunks.push(chunk(array, some)?);
        }
        let mut made = Vec::with_capacity(array.digits.len());
        let mut of = 0;
        for state in &array.digits {
            if matches!(state, State::Known(_)) {
                made.push(None);
                continue;
            }
            let wires = match &chunks[..] {
                [one] => one[of].clone(),
                many => {
                    let host = many
                        .iter()
                        .map(|digits| Ok(server.download(&digits[of].clone().of_numbers(used)?)?));
                    let host = host.collect::<Result<Vec<EncryptedNumbers>>>()?;
                    let wires = server.upload(&EncryptedNumbers::join(&host)?)?;
                    cleaned(server, standard, wires, state.most())?
                }
            };
            of += 1;
            made.push(Some(wires));
        }
        let like = match made.iter().flatten().next() {
            Some(wires) => wires.clone(),
            // All is known: zeros, to make constants of.
            None => server.known(&vec![vec![0; used]; len], 2)?,
        };
        parts.push(Part { digits: made, like });
    }
    Ok((parts, states.collect()))
}

/// Known digits on the device.
pub(super) fn constants(
    server: &ServerKey,
    digits: &[u8],
    count: usize,
    form: Form,
) -> Result<(Vec<Part>, Vec<State>)> {
    let layout = Layout::new(count, server.set().numbers(), form);
    let columns = layout.columns(digits);
    let columns: Vec<&[u32]> = columns.iter().map(|column| &column[..]).collect();
    let below = u32::from(form.most()) + 1;
    let mut parts = Vec::new();
    for part in layout.parts() {
        let digits = part.map(|range| Ok(Some(server.known(&columns[range], below)?)));
        let digits = digits.collect::<Result<Vec<_>>>()?;
        let like = digits.iter().flatten().next().cloned();
        let Some(like) = like else { return mismatch(Mismatch::empty("digits of an integer")) };
        parts.push(Part { digits, like });
    }
    Ok((parts, vec![State::Clean(form.most().into()); form.digits]))
}
