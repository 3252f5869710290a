//! Elements that change places.

use super::layout::Layout;
use super::operations::State;
use super::run::Part;
use super::standard::Standard;
use crate::engine::{Array, Form};
use crate::{Result, error::mismatch};
use girih_discrete::{ServerKey, TakePlan, Wires};
use girih_rlwe::Mismatch;

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

/// Elements that there are, in any order.
pub(super) fn take(
    array: &Array<ServerKey>,
    elements: &[usize],
) -> Result<(Vec<Part>, Vec<State>)> {
    let (server, standard) = (&array.inner.server, &array.inner.context);
    let numbers = server.set().numbers();
    let form = Form { digits: 1, is_condition: false };
    let layout = Layout::new(elements.len(), numbers, form);
    let states = array.digits.iter().map(|state| match state {
        State::Known(value) => State::Known(*value),
        other => State::Clean(other.most()),
    });
    let unknown: Vec<usize> =
        (0..array.digits.len()).filter(|&d| !matches!(array.digits[d], State::Known(_))).collect();
    let digit = |&digit: &usize| -> Result<Vec<Wires>> {
        let most = array.digits[digit].most();
        let part = |part: &Part| match &part.digits[digit] {
            // Numbers beyond those of the array are nobody's.
            Some(wires) => Ok(wires.clone().within(0, most).of_numbers(numbers)?),
            None => mismatch(Mismatch::empty("ciphertexts of a digit")),
        };
        array.words.iter().map(part).collect()
    };
    let digits: Vec<Vec<Wires>> = unknown.iter().map(digit).collect::<Result<_>>()?;
    let batches: Vec<Vec<&Wires>> = digits.iter().map(|digit| digit.iter().collect()).collect();
    let ciphertexts = array.words.iter().map(|part| part.like.len()).sum();
    let taken = if unknown.is_empty() {
        Vec::new()
    } else {
        let plan = TakePlan::new(server.set(), ciphertexts, numbers, elements)?;
        let taken = server.take_each(&plan, &batches)?;
        array.inner.count_look_ups(plan.look_ups() * unknown.len());
        taken
    };
    let used = elements.len().min(numbers);
    let mut parts = Vec::new();
    for range in layout.parts().flatten() {
        let mut made = vec![None; array.digits.len()];
        for (digit, wires) in unknown.iter().zip(&taken) {
            let most = array.digits[*digit].most();
            let wires = wires.select(range.clone())?.within(0, most);
            made[*digit] = Some(cleaned(server, standard, wires, most)?);
        }
        let like = match made.iter().flatten().next() {
            Some(wires) => wires.clone(),
            // All is known: zeros, to make constants of.
            None => server.known(&vec![vec![0; used]; range.len()], 2)?,
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
