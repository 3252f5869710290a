//! A source text with every change in it, and where each lies.

use super::sites::{Piece, Site};
use std::ops::Range;

/// A text that holds every change that is alive.
#[derive(Default)]
pub struct Written {
    pub text: String,
    marks: Vec<Mark>,
}

/// Where a site, or one of its changes, came to lie.
struct Mark {
    range: Range<usize>,
    site: usize,
    change: Option<usize>,
}

/// Writes `source` anew with its `sites`, outer ones before those inside them.
pub fn write(source: &str, sites: &[Site]) -> Written {
    let mut writer =
        Writer { source, sites, done: Written { text: String::new(), marks: Vec::new() } };
    writer.range(0..source.len(), 0..sites.len());
    writer.done
}

struct Writer<'a> {
    source: &'a str,
    sites: &'a [Site],
    done: Written,
}

impl Writer<'_> {
    /// A range of the source with those of `sites` that lie in it.
    fn range(&mut self, range: Range<usize>, sites: Range<usize>) {
        let (mut from, mut index) = (range.start, sites.start);
        while index < sites.end {
            let site = &self.sites[index];
            if !site.alive.contains(&true) {
                index += 1;
            } else if site.range.start < from || site.range.end > range.end {
                index = site.end;
            } else {
                self.done.text.push_str(&self.source[from..site.range.start]);
                self.site(index);
                (from, index) = (site.range.end, site.end);
            }
        }
        self.done.text.push_str(&self.source[from..range.end]);
    }

    fn site(&mut self, index: usize) {
        let site = &self.sites[index];
        let start = self.done.text.len();
        for piece in &site.pieces {
            match piece {
                Piece::Text(text) => self.done.text.push_str(text),
                Piece::Source(range) => self.range(range.clone(), index + 1..site.end),
                Piece::Arm(change, _) if !site.alive[*change] => (),
                Piece::Arm(change, text) => {
                    let start = self.done.text.len();
                    self.done.text.push_str(text);
                    let range = start..self.done.text.len();
                    self.done.marks.push(Mark { range, site: index, change: Some(*change) });
                }
            }
        }
        let range = start..self.done.text.len();
        self.done.marks.push(Mark { range, site: index, change: None });
    }
}

impl Written {
    /// Drops what most likely made the compiler complain about a range of the text; false if no
    /// change lies there.
    pub fn drop_at(&self, range: &Range<usize>, sites: &mut [Site]) -> bool {
        let around = |m: &&Mark| m.range.start <= range.start && range.end <= m.range.end;
        let ours = |m: &&Mark| m.change.is_some() || sites[m.site].unconst.is_none();
        let smallest = self.marks.iter().filter(around).filter(ours).min_by_key(|m| m.range.len());
        if let Some(mark) = smallest {
            match mark.change {
                Some(change) => sites[mark.site].alive[change] = false,
                None => sites[mark.site].alive.fill(false),
            }
            return true;
        }
        let inside: Vec<usize> = (self.marks.iter().filter(ours))
            .filter(|m| range.start <= m.range.start && m.range.end <= range.end)
            .map(|m| m.site)
            .collect();
        for site in &inside {
            sites[*site].alive.fill(false);
        }
        !inside.is_empty()
    }
}

/// Drops every change in a function of this name that stands in constants; false if there is none.
pub fn drop_constant(name: &str, sites: &mut [Site]) -> bool {
    let of = |s: &Site| s.alive[0] && s.unconst.as_deref() == Some(name);
    let found: Vec<Range<usize>> =
        (0..sites.len()).filter(|i| of(&sites[*i])).map(|i| i..sites[i].end).collect();
    for range in &found {
        sites[range.clone()].iter_mut().for_each(|site| site.alive.fill(false));
    }
    !found.is_empty()
}
