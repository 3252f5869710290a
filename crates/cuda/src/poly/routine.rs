//! A schedule as launches of kernels.

use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::ReadyLaunch;
use crate::poly::limbs::{Places, ResidentPlace};
use crate::poly::{columns, masks, pointwise, rows};
use crate::runtime::source::Source;
use girih_backend::poly::schedule::{Launch, Schedule};
use girih_backend::poly::{ResidentShape, RingShape};
use girih_backend::{BackendError, DeviceLimits};
use std::collections::BTreeSet;

/// The kernel launches of a schedule, in order.
///
/// # Errors
/// For schedules that break the contract, and tiles that do not fit the device.
pub(crate) fn ready(
    ring: &RingShape,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    places: &Places,
    schedule: &Schedule,
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let mut all = Vec::new();
    for launch in &schedule.launches {
        match launch {
            Launch::Rows(tiles) => all.extend(rows::ready(ring, limits, knobs, places, tiles)?),
            Launch::Columns(tiles) => {
                all.extend(columns::ready(ring, limits, knobs, places, tiles)?)
            }
            Launch::Pointwise(tiles) => all.extend(pointwise::ready(ring, knobs, places, tiles)?),
        }
    }
    Ok(all)
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
    let launches = ready(ring, limits, &PolyKnobs::default(), &places, schedule)?;
    let sources = launches.into_iter().map(|l| (l.text.source(), l.shared_bytes));
    let new = sources.filter(|(s, _)| seen.insert((s.file.name, s.constants.clone())));
    // What expands the keys among the residents.
    let masks = (!residents.is_empty())
        .then(|| (masks::source(ring.log2_degree), masks::size(1).shared_bytes));
    Ok(new.chain(masks).collect())
}
