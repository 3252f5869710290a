//! Which ciphertexts of a batch an index or a broadcast takes.

use crate::arrays;
use crate::errors::{Failure, Outcome};
use girih::tfhe::{self, LweCiphertexts};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The shape that arrays of these shapes have together, by NumPy's rules.
///
/// # Errors
/// `MismatchError` naming the shapes.
pub fn common_shape(shapes: &[&[usize]]) -> Outcome<Vec<usize>> {
    let dimensions = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut common = vec![1; dimensions];
    for shape in shapes {
        for (place, &length) in common[dimensions - shape.len()..].iter_mut().zip(*shape) {
            match (*place, length) {
                (have, new) if have == new || new == 1 => {}
                (1, new) => *place = new,
                _ => {
                    let shapes: Vec<_> = shapes.iter().map(|s| display(s)).collect();
                    let why = format!("shapes {} do not go together", shapes.join(" and "));
                    return Err(Failure::mismatch(why));
                }
            }
        }
    }
    Ok(common)
}

/// A shape as Python writes it.
pub fn display(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The shape that `reshape(*given)` asks for: lengths or one sequence of them, of which one may be
/// -1.
///
/// # Errors
/// `MismatchError` for one that entries of shape `from` do not have, `TypeError` for no lengths.
pub fn reshaped(from: &[usize], given: &Bound<'_, PyTuple>) -> PyResult<Vec<usize>> {
    let given: Vec<i64> = match given.len() {
        1 => match given.get_item(0)?.extract::<i64>() {
            Ok(one) => vec![one],
            Err(_) => given.get_item(0)?.extract()?,
        },
        _ => given.extract()?,
    };
    let size: usize = from.iter().product();
    let refuse = || {
        let from = display(from);
        Failure::mismatch(format!("{size} messages of shape {from} have no shape {given:?}"))
    };
    let known = given.iter().filter(|&&d| d != -1).try_fold(1usize, |product, &d| {
        product.checked_mul(usize::try_from(d).ok().filter(|d| *d > 0)?)
    });
    let known = known.ok_or_else(refuse)?;
    let open = given.iter().filter(|&&d| d == -1).count();
    if open > 1 || !size.is_multiple_of(known) || (open == 0 && size != known) {
        return Err(refuse().into());
    }
    Ok(given.iter().map(|&d| usize::try_from(d).unwrap_or(size / known)).collect())
}

/// Which entries of an array of this shape an index takes, by NumPy's rules, and in which shape.
///
/// # Errors
/// What NumPy raises.
pub fn indexed(
    py: Python<'_>,
    shape: &[usize],
    key: &Bound<'_, PyAny>,
) -> PyResult<(Vec<usize>, Vec<usize>)> {
    let size: usize = shape.iter().product();
    let all = py.import("numpy")?.call_method1("arange", (size,))?;
    let taken = all.call_method1("reshape", (shape.to_vec(),))?.get_item(key)?;
    let taken = arrays::integers(&taken, "indices")?;
    Ok((taken.entries.into_iter().map(|index| index as usize).collect(), taken.shape))
}

/// For each entry of `to` the entry of `from` that stands there once `from` is broadcast to it.
pub fn broadcast(from: &[usize], to: &[usize]) -> Vec<usize> {
    let missing = to.len() - from.len();
    let mut indices = vec![0];
    for (axis, &length) in to.iter().enumerate() {
        let own = if axis < missing { 1 } else { from[axis - missing] };
        indices = indices
            .iter()
            .flat_map(|&i| (0..length).map(move |j| if own == 1 { i * own } else { i * own + j }))
            .collect();
    }
    indices
}

/// The ciphertexts that hold these messages, `packing` to each.
///
/// # Errors
/// `MismatchError` where messages are asked for that do not come in whole ciphertexts.
pub fn ciphertexts(messages: &[usize], packing: usize) -> Outcome<Vec<usize>> {
    let whole = |group: &[usize]| {
        group.len() == packing
            && group[0].is_multiple_of(packing)
            && group.iter().zip(group[0]..).all(|(&message, expected)| message == expected)
    };
    let groups = messages.chunks(packing);
    if let Some(group) = groups.clone().find(|group| !whole(group)) {
        return Err(Failure::mismatch(format!(
            "{packing} messages share a ciphertext and stay together: messages {group:?} are no \
             whole one"
        )));
    }
    Ok(groups.map(|group| group[0] / packing).collect())
}

/// Some ciphertexts of a batch, in any order.
///
/// # Errors
/// `MismatchError` for none, or one that is not there.
pub fn take(batch: &LweCiphertexts, ciphertexts: &[usize]) -> Outcome<LweCiphertexts> {
    let runs = ciphertexts.chunk_by(|a, b| a + 1 == *b);
    let parts = runs
        .map(|run| batch.slice(run[0]..run[0] + run.len()))
        .collect::<tfhe::Result<Vec<_>>>()?;
    if parts.is_empty() {
        return Err(Failure::mismatch("no ciphertext is left: a batch has at least one"));
    }
    Ok(LweCiphertexts::concatenate(&parts.iter().collect::<Vec<_>>())?)
}
