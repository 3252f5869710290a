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
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let one = |launch: &Launch| match launch {
        Launch::Rows(tiles) => rows::ready(ring, limits, knobs, places, tiles),
        Launch::Columns(tiles) => columns::ready(ring, limits, knobs, (places, factors), tiles),
        Launch::Pointwise(tiles) => pointwise::ready(ring, knobs, places, tiles),
    };
    let all = schedule.launches.par_iter().map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// The kernels that a schedule needs on a device with these limits: for checks of what compilers
/// make of them.
///
/// # Errors
/// For schedules that break the contract, and tiles that do not fit the device.
pub fn kernel_sources(
    ring: &RingShape,
    limits: &DeviceLimits,
    schedule: &Schedule,
    residents: &[ResidentShape],
) -> Result<Vec<(Source, usize)>, BackendError> {
    let bound =
        residents.iter().map(|r| ResidentPlace { address: 0, log2_run: r.log2_run }).collect();
    let places = Places::new(ring.log2_degree, schedule, bound);
    let mut seen = BTreeSet::new();
    let factors = ColumnFactors::new(ring)?;
    let places = (&places, &factors);
    let launches = ready(ring, limits, &PolyKnobs::default(), places, schedule)?;
    let sources = launches.into_iter().map(|l| (l.text.source(), l.shared_bytes));
    let new = sources.filter(|(s, _)| seen.insert((s.file.name, s.constants.clone())));
    // What expands the keys among the residents.
    let masks = (!residents.is_empty())
        .then(|| (masks::source(ring.log2_degree), masks::size(1).shared_bytes));
    Ok(new.chain(masks).collect())
}
