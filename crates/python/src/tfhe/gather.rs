//! Which ciphertexts of a batch an index or a broadcast takes.

use crate::errors::{Failure, Outcome};
use girih::tfhe::{self, LweCiphertexts};

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
pub fn ciphertexts(messages: &[u64], packing: usize) -> Outcome<Vec<usize>> {
    let whole = |group: &[u64]| {
        group.len() == packing
            && group[0].is_multiple_of(packing as u64)
            && group.iter().zip(group[0]..).all(|(&message, expected)| message == expected)
    };
    let groups = messages.chunks(packing);
    if let Some(group) = groups.clone().find(|group| !whole(group)) {
        return Err(Failure::mismatch(format!(
            "{packing} messages share a ciphertext and stay together: messages {group:?} are no \
             whole one"
        )));
    }
    Ok(groups.map(|group| group[0] as usize / packing).collect())
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
