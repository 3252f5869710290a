//! Carries: lazily added digits become digits below 4 again, in logarithmic depth.

use crate::tfhe::RADIX;
use crate::tfhe::record::{Linear, Recorder};

/// One position of a chain of carries: x above `most` makes a carry, x equal to it passes one on.
/// A carry in is at most 1, and so is a carry out.
#[derive(Clone)]
struct Link {
    x: Linear,
    most: i32,
}

/// Links whose states one look-up reads: 2^4 states of a carry or none fill the circle.
const GROUP: usize = 4;

impl Link {
    /// 2 where a carry is made whatever comes in, 1 where one that comes in is passed on, else 0;
    /// times `scale`.
    fn state(&self, recorder: &mut Recorder, scale: i32) -> Linear {
        let most = self.most;
        recorder.look_up(&self.x, |x| scale * (1 + (x - most).signum()))
    }

    /// The carry out where none comes in, times `scale`.
    fn carry(&self, recorder: &mut Recorder, scale: i32) -> Linear {
        let most = self.most;
        recorder.look_up(&self.x, |x| scale * i32::from(x > most))
    }
}

/// The states of links as digits of base 2, of which 2 is one: with a carry in, their sum is at
/// least 2^(number of links) where a carry comes out.
struct Group(Vec<Linear>);

impl Group {
    fn new(recorder: &mut Recorder, links: &[Link]) -> Self {
        Self((0..).zip(links).map(|(i, link)| link.state(recorder, 1 << i)).collect())
    }

    /// The first `links` of them as one link.
    fn link(&self, links: usize) -> Link {
        Link { x: Linear::sum(&self.0[..links]), most: (1 << links) - 1 }
    }
}

/// Carries into groups, and the groups.
struct Groups {
    groups: Vec<Group>,
    into: Vec<Linear>,
}

impl Groups {
    fn new(recorder: &mut Recorder, links: &[Link]) -> Self {
        let groups: Vec<Group> =
            links.chunks(GROUP).map(|links| Group::new(recorder, links)).collect();
        let whole: Vec<Link> =
            groups[..groups.len() - 1].iter().map(|group| group.link(GROUP)).collect();
        let into = carries(recorder, &whole);
        let into = [vec![Linear::constant(0)], into].concat();
        Self { groups, into }
    }

    /// The link that ends with the first `links` of a group and begins with its carry in.
    fn with_carry(&self, group: usize, links: usize) -> Link {
        let link = self.groups[group].link(links);
        Link { x: link.x.plus(&self.into[group]), ..link }
    }
}

/// The carries out of every link of a chain into which none comes.
fn carries(recorder: &mut Recorder, links: &[Link]) -> Vec<Linear> {
    match links {
        [] => Vec::new(),
        [link] => vec![link.carry(recorder, 1)],
        _ => {
            let first = links[0].carry(recorder, 1);
            let groups = Groups::new(recorder, links);
            let out = |recorder: &mut Recorder, i: usize| match i {
                0 => first.clone(),
                _ => groups.with_carry(i / GROUP, i % GROUP + 1).carry(recorder, 1),
            };
            (0..links.len()).map(|i| out(recorder, i)).collect()
        }
    }
}

/// The carry out of a whole chain, by scale: 1 for digits, 8 for conditions.
pub(super) struct CarryOut {
    link: Link,
}

impl CarryOut {
    pub fn carry(&self, recorder: &mut Recorder, scale: i32) -> Linear {
        self.link.carry(recorder, scale)
    }

    /// The opposite, with the same look-up.
    pub fn none(&self, recorder: &mut Recorder, scale: i32) -> Linear {
        let most = self.link.most;
        recorder.look_up(&self.link.x, |x| scale * i32::from(x <= most))
    }
}

/// Digits with carries to come: up to 7 in the lowest, up to 6 in the others.
fn digit_links(digits: &[Linear]) -> Vec<Link> {
    digits.iter().map(|x| Link { x: x.clone(), most: RADIX - 1 }).collect()
}

/// The carry out of `digits` and a further link above them, where that is not below `RADIX - 1`:
/// what it is for is up to the caller.
pub(super) fn carry_out(
    recorder: &mut Recorder,
    digits: &[Linear],
    above: Option<&Linear>,
) -> CarryOut {
    let mut links = digit_links(digits);
    links.extend(above.map(|x| Link { x: x.clone(), most: RADIX - 1 }));
    if let [link] = &links[..] {
        return CarryOut { link: link.clone() };
    }
    let groups = Groups::new(recorder, &links);
    let last = (links.len() - 1) / GROUP;
    CarryOut { link: groups.with_carry(last, links.len() - last * GROUP) }
}

/// Digits below 4 from digits of up to 6 (the lowest up to 7), modulo 4 to their number.
///
/// The carry into a digit is looked up, and then the digit with it, where that makes no further
/// level. Where it would, the digit modulo 4, times 4, and what the digits below it in its group
/// do with a carry are looked up beforehand, so that one look-up is left once the carry into the
/// group is there.
pub(super) fn resolve(recorder: &mut Recorder, digits: &[Linear]) -> Vec<Linear> {
    if digits.iter().all(|x| x.most() < RADIX) {
        return digits.to_vec();
    }
    let links = digit_links(digits);
    let groups = Groups::new(recorder, &links[..digits.len().max(2) - 1]);
    let latest = groups.into.iter().map(|x| recorder.depth(x)).max().unwrap_or(0);
    let mut result = vec![recorder.look_up(&digits[0], |x| x % RADIX)];
    for (i, x) in digits.iter().enumerate().skip(1) {
        let (group, below) = (i / GROUP, i % GROUP);
        let carry = if below == 0 {
            // The last group may end just here, and its carry is not among those of groups.
            match groups.into.get(group) {
                Some(carry) => carry.clone(),
                None => groups.with_carry(group - 1, GROUP).carry(recorder, 1),
            }
        } else if group == 0 || recorder.depth(&groups.into[group]) < latest {
            let link = if i == 1 { links[0].clone() } else { groups.with_carry(group, below) };
            link.carry(recorder, 1)
        } else {
            let state = match below {
                1 => links[i - 1].state(recorder, 1),
                _ => groups.groups[group].link(below).state(recorder, 1),
            };
            let digit = recorder.look_up(x, |x| RADIX * (x % RADIX));
            let sum = digit.plus(&state).plus(&groups.into[group]);
            let carried = |x: i32| (x / RADIX + i32::from(x % RADIX > 1)) % RADIX;
            result.push(recorder.look_up(&sum, carried));
            continue;
        };
        result.push(recorder.look_up(&x.plus(&carry), |x| x % RADIX));
    }
    result
}

/// Digits that are ready for [`resolve`], from digits of up to 15: those that are too large are
/// split into a digit and what it hands to the next.
pub(super) fn split(recorder: &mut Recorder, digits: &[Linear]) -> Vec<Linear> {
    const READY: i32 = 2 * (RADIX - 1);
    let mut handed = Linear::constant(0);
    let mut result = Vec::with_capacity(digits.len());
    for (i, x) in digits.iter().enumerate() {
        let most = READY + i32::from(i == 0);
        if x.most() + handed.most() <= most {
            result.push(x.plus(&handed));
            handed = Linear::constant(0);
        } else {
            result.push(recorder.look_up(x, |x| x % RADIX).plus(&handed));
            handed = if i + 1 < digits.len() {
                recorder.look_up(x, |x| x / RADIX)
            } else {
                Linear::constant(0)
            };
        }
    }
    result
}

/// Digits below 4 from lazily added ones.
pub(super) fn propagate(recorder: &mut Recorder, digits: &[Linear]) -> Vec<Linear> {
    if digits.iter().all(|x| x.most() < RADIX) {
        return digits.to_vec();
    }
    let ready = split(recorder, digits);
    resolve(recorder, &ready)
}

/// The digits of `a - b` with borrows to come, or of `a + !b + 1`: both below 4.
pub(super) fn difference(a: &[Linear], b: &[Linear]) -> Vec<Linear> {
    (0..)
        .zip(a.iter().zip(b))
        .map(|(i, (a, b))| a.minus(b).plus_constant(RADIX - 1 + i32::from(i == 0)))
        .collect()
}
