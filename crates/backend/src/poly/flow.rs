//! Words on their way to a device: a lot of them is made while the one before is sent.

use crate::Result;
use crate::parallel::prelude::*;

/// The first limbs that are made at once, of at most so many words or one limb; `rest` is left.
fn lot<'a, T>(rest: &mut &'a [T], most: usize, words: impl Fn(&T) -> usize) -> Option<&'a [T]> {
    let mut sum = 0;
    let more = |limb: &&T| {
        sum += words(limb);
        sum <= most
    };
    let count = rest.iter().take_while(more).count().max(1).min(rest.len());
    let first;
    (first, *rest) = rest.split_at(count);
    (!first.is_empty()).then_some(first)
}

/// Makes limbs in lots of at most `most` words (or of one limb) and sends each lot while the next
/// is made, where there are threads: `make` fills the `words` of one limb, those of a lot on all
/// threads, and `send` hands a lot to the device, on a thread of its own: its limbs, and their
/// words one after the other. Lots are sent in their order, and two of them are in memory at most.
/// `report` hears how many limbs of each were made.
///
/// # Errors
/// The first of `send`, after which nothing more is made.
pub fn flow<T: Sync>(
    limbs: &[T],
    most: usize,
    words: impl Fn(&T) -> usize,
    make: impl Fn(&T, &mut [u32]) + Sync + Send,
    send: impl Fn(&[T], &[u32]) -> Result<()> + Send,
    mut report: impl FnMut(usize),
) -> Result<()> {
    let mut rest = limbs;
    let make = |limbs: &[T], room: &mut Vec<u32>| {
        let len = limbs.iter().map(&words).sum();
        if room.capacity() < len {
            // Zeros that nobody has written yet: threads that make limbs touch this memory first,
            // all of them, in place of this one alone.
            *room = vec![0; len];
        }
        room.resize(len, 0);
        let mut rest = room.as_mut_slice();
        let mut parts = Vec::with_capacity(limbs.len());
        for limb in limbs {
            let part;
            (part, rest) = rest.split_at_mut(words(limb));
            parts.push((limb, part));
        }
        parts.into_par_iter().for_each(|(limb, part)| make(limb, part));
    };
    let Some(first) = lot(&mut rest, most, &words) else { return Ok(()) };
    let mut room = Vec::new();
    make(first, &mut room);
    // A page has no threads, and one lot needs none.
    if rest.is_empty() || cfg!(target_family = "wasm") {
        let mut limbs = first;
        loop {
            send(limbs, &room)?;
            report(limbs.len());
            let Some(next) = lot(&mut rest, most, &words) else { return Ok(()) };
            limbs = next;
            make(limbs, &mut room);
        }
    }
    // One is made, and one is sent.
    let (full, lots) = std::sync::mpsc::sync_channel::<(&[T], Vec<u32>)>(0);
    let (sent, empty) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let sends = scope.spawn(move || -> Result<()> {
            for (limbs, room) in lots {
                send(limbs, &room)?;
                // Nobody waits for the last ones.
                let _ = sent.send(room);
            }
            Ok(())
        });
        let (mut limbs, mut spare) = (first, Some(Vec::new()));
        // Where sending fails, nobody takes the next lot.
        while full.send((limbs, room)).is_ok() {
            report(limbs.len());
            let Some(next) = lot(&mut rest, most, &words) else { break };
            let Some(free) = spare.take().or_else(|| empty.recv().ok()) else { break };
            (limbs, room) = (next, free);
            make(limbs, &mut room);
        }
        drop(full);
        sends.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BackendError;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A limb of this length, whose words are its number.
    fn make(&(number, len): &(u32, usize), words: &mut [u32]) {
        assert_eq!(words.len(), len);
        words.fill(number);
    }

    #[test]
    fn every_limb_is_sent_once_in_order_whatever_a_lot_holds() {
        let limbs: Vec<(u32, usize)> = (0..23).map(|i| (i, 1 + (i as usize * 5) % 7)).collect();
        let wanted: Vec<u32> = limbs.iter().flat_map(|&(i, len)| vec![i; len]).collect();
        for most in [1, 7, 12, 1000] {
            let (found, heard) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
            let send = |limbs: &[(u32, usize)], words: &[u32]| {
                assert!(limbs.len() == 1 || words.len() <= most);
                found.lock().expect("no panic").extend_from_slice(words);
                Ok(())
            };
            let report = |limbs| {
                heard.fetch_add(limbs, Ordering::Relaxed);
            };
            flow(&limbs, most, |limb| limb.1, make, send, report).expect("nothing fails");
            assert_eq!(found.into_inner().expect("no panic"), wanted, "{most}");
            assert_eq!(heard.into_inner(), limbs.len());
        }
        let never = |_: &[(u32, usize)], _: &[u32]| unreachable!("there are none");
        flow(&[], 7, |limb: &(u32, usize)| limb.1, make, never, |_| ()).expect("nothing to do");
    }

    #[test]
    fn what_is_not_sent_ends_it() {
        let limbs: Vec<(u32, usize)> = (0..50).map(|i| (i, 4)).collect();
        let made = AtomicUsize::new(0);
        let counted = |limb: &(u32, usize), words: &mut [u32]| {
            made.fetch_add(1, Ordering::Relaxed);
            make(limb, words);
        };
        let send = |limbs: &[(u32, usize)], _: &[u32]| match limbs[0].0 {
            3 => Err(BackendError::InvalidRequest("full".into())),
            _ => Ok(()),
        };
        let failed = flow(&limbs, 4, |limb| limb.1, counted, send, |_| ());
        let error = failed.expect_err("it is full").to_string();
        assert!(error.contains("full"), "{error}");
        assert!(made.into_inner() <= 6, "nothing is made that nobody takes");
    }
}
