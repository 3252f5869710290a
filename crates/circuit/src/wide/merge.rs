//! Functions of one level that share a look-up: those of the same bits, or of few enough together.

use std::collections::HashMap;

/// Of those that share a leaf, so many are looked at.
const TRIED: usize = 64;

/// Functions of at most four nodes.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// In rising order.
    pub leaves: Vec<u32>,
    /// The node that each is, and its values: bit m is that where leaf i is bit i of m.
    pub functions: Vec<(u32, u16)>,
}

fn union(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// The same function of more nodes.
fn widened(table: u16, from: &[u32], to: &[u32]) -> u16 {
    let place = |leaf: &u32| to.iter().position(|other| other == leaf).unwrap_or_default();
    let places: Vec<usize> = from.iter().map(place).collect();
    (0..16u16).fold(0, |wide, m| {
        let bits = places.iter().enumerate().map(|(i, &place)| (m >> place & 1) << i);
        wide | (table >> bits.sum::<u16>() & 1) << m
    })
}

impl Group {
    fn join(&mut self, other: Self) {
        let leaves = union(&self.leaves, &other.leaves);
        let both = [std::mem::take(&mut self.functions), other.functions];
        for (functions, from) in both.into_iter().zip([&self.leaves, &other.leaves]) {
            let wide = |(node, table)| (node, widened(table, from, &leaves));
            self.functions.extend(functions.into_iter().map(wide));
        }
        self.leaves = leaves;
    }
}

/// Groups that may still be joined, and which of them read a node.
struct Open {
    groups: Vec<Option<Group>>,
    readers: HashMap<u32, Vec<usize>>,
    most: usize,
}

impl Open {
    fn add(&mut self, group: Group) {
        for &leaf in &group.leaves {
            self.readers.entry(leaf).or_default().push(self.groups.len());
        }
        self.groups.push(Some(group));
    }

    /// The other group with most leaves in common that a group can be joined with.
    fn partner(&mut self, own: usize) -> Option<usize> {
        let leaves = self.groups[own].as_ref()?.leaves.clone();
        let mut best: Option<(usize, usize)> = None;
        for leaf in &leaves {
            let Some(readers) = self.readers.get_mut(leaf) else { continue };
            readers.retain(|&i| self.groups[i].is_some());
            for &other in readers.iter().filter(|i| **i != own).take(TRIED) {
                let Some(group) = &self.groups[other] else { continue };
                let both = union(&leaves, &group.leaves).len();
                let common = leaves.len() + group.leaves.len() - both;
                // A group that is read whole comes first, then much in common.
                let gain = if common == leaves.len() { 8 } else { common };
                if both <= self.most && best.is_none_or(|(most, _)| gain > most) {
                    best = Some((gain, other));
                }
            }
        }
        best.map(|(_, other)| other)
    }
}

/// Cells, each a node with its leaves and values, in groups of at most `most` leaves.
pub(super) fn merged(cells: &[(u32, &[u32], u16)], most: usize) -> Vec<Group> {
    let mut places: HashMap<&[u32], usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for &(node, leaves, table) in cells {
        let place = *places.entry(leaves).or_insert_with(|| {
            groups.push(Group { leaves: leaves.to_vec(), functions: Vec::new() });
            groups.len() - 1
        });
        groups[place].functions.push((node, table));
    }
    let mut open = Open { groups: Vec::new(), readers: HashMap::new(), most };
    groups.into_iter().for_each(|group| open.add(group));
    // Small ones look for a partner, again and again while they grow.
    let mut next = 0;
    while next < open.groups.len() {
        let small = open.groups[next].as_ref().is_some_and(|g| g.leaves.len() < most);
        if small
            && let Some(other) = open.partner(next)
            && let (Some(mut group), Some(other)) =
                (open.groups[next].take(), open.groups[other].take())
        {
            group.join(other);
            open.add(group);
        }
        next += 1;
    }
    // What has nothing in common is put together in pairs.
    let mut all: Vec<Group> = Vec::new();
    let mut waiting: Option<Group> = None;
    for group in open.groups.into_iter().flatten() {
        if 2 * group.leaves.len() > most {
            all.push(group);
            continue;
        }
        waiting = match waiting {
            None => Some(group),
            Some(mut first) => {
                first.join(group);
                all.push(first);
                None
            }
        };
    }
    all.extend(waiting);
    all
}
