//! A schedule as launches of kernels.

use crate::poly::column_factors::ColumnFactors;
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::ReadyLaunch;
use crate::poly::limbs::{Places, ResidentPlace};
use crate::poly::{columns, masks, pointwise, rows};
use crate::runtime::source::Source;
use girih_backend::poly::schedule::{Launch, Schedule};
use girih_backend::poly::{ResidentShape, RingShape};
use girih_backend::{BackendError, DeviceLimits};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// By which kernels a schedule runs. The words are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Those that serve any schedule: what tiles do is data.
    General,
    /// Those compiled for what its tiles do.
    Own,
}

/// The kernel launches of a schedule, in order.
///
/// # Errors
/// For schedules that break the contract, and tiles that do not fit the device.
pub(crate) fn ready(
    ring: &RingShape,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    (places, factors): (&Places, &ColumnFactors),
    schedule: &Schedule,
    tier: Tier,
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let one = |launch: &Launch| match (launch, tier) {
        (Launch::Rows(tiles), Tier::Own) => rows::ready(ring, limits, knobs, places, tiles),
        (Launch::Columns(tiles), Tier::Own) => {
            columns::ready(ring, limits, knobs, (places, factors), tiles)
        }
        (Launch::Pointwise(tiles), Tier::Own) => pointwise::ready(ring, knobs, places, tiles),
        (Launch::Columns(tiles), Tier::General) => {
            columns::general(ring, limits, (places, factors), tiles)
        }
        (Launch::Rows(tiles) | Launch::Pointwise(tiles), Tier::General) => {
            rows::general(ring, limits, knobs, places, tiles)
        }
    };
    let all = schedule.launches.par_iter().map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// Launches of no tiles by the kernels that serve nearly every schedule of a ring, or of one with
/// primes of both kinds: to compile them before there is one.
pub(crate) fn general_launches(log2_degree: u32, both_rings: bool) -> Vec<ReadyLaunch> {
    let rings = if both_rings { &[false, true][..] } else { &[false] };
    let columns = rings.iter().filter_map(|&one| columns::general_launch(log2_degree, one));
    columns.chain([rows::general_launch(log2_degree, both_rings)]).collect()
}

/// The kernels that nearly every program of a degree can run with, and what loads its keys: in the
/// usual ring, or in one with primes of both kinds ([`RingShape::has_invariant`]).
pub fn general_sources(log2_degree: u32, both_rings: bool) -> Vec<(Source, usize)> {
    let launches = general_launches(log2_degree, both_rings).into_iter();
    let general = launches.map(|l| (l.text.source(), l.shared_bytes));
    general.chain([(masks::source(log2_degree), masks::size(1).shared_bytes)]).collect()
}

/// The launches of a schedule whose residents lie nowhere.
fn of_tier(
    ring: &RingShape,
    limits: &DeviceLimits,
    schedule: &Schedule,
    residents: &[ResidentShape],
    tier: Tier,
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let bound =
        residents.iter().map(|r| ResidentPlace { address: 0, log2_run: r.log2_run }).collect();
    let places = Places::new(ring.log2_degree, schedule, bound);
    let places = (&places, &ColumnFactors::new(ring)?);
    ready(ring, limits, &PolyKnobs::default(), places, schedule, tier)
}

/// The kernels that a schedule runs by until those of its own are compiled, or where nothing
/// compiles any: nearly always those of [`general_sources`], and more where blocks have little
/// memory. With the bytes of shared memory of each.
///
/// # Errors
/// As [`kernel_sources`].
pub fn general_sources_of(
    ring: &RingShape,
    limits: &DeviceLimits,
    schedule: &Schedule,
    residents: &[ResidentShape],
) -> Result<Vec<(Source, usize)>, BackendError> {
    let general = of_tier(ring, limits, schedule, residents, Tier::General)?;
    Ok(general.into_iter().map(|l| (l.text.source(), l.shared_bytes)).collect())
}

/// The kernels that a schedule needs on a device with these limits, and those that serve any
/// schedule: for checks of what compilers make of them.
///
/// # Errors
/// For schedules that break the contract, and tiles that do not fit the device.
pub fn kernel_sources(
    ring: &RingShape,
    limits: &DeviceLimits,
    schedule: &Schedule,
    residents: &[ResidentShape],
) -> Result<Vec<(Source, usize)>, BackendError> {
    let mut seen = BTreeSet::new();
    let own = of_tier(ring, limits, schedule, residents, Tier::Own)?;
    let launches = own.into_iter().chain(general_launches(ring.log2_degree, ring.has_invariant()));
    let sources = launches.map(|l| (l.text.source(), l.shared_bytes));
    let new = sources.filter(|(s, _)| seen.insert((s.file.name, s.constants.clone())));
    // What expands the keys among the residents.
    let masks = (!residents.is_empty())
        .then(|| (masks::source(ring.log2_degree), masks::size(1).shared_bytes));
    Ok(new.chain(masks).collect())
}
