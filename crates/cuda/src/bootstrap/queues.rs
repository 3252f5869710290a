//! The queues of this family.

use crate::runtime::machine::Queue;

/// The number of the family.
const FAMILY: u8 = 0;

/// Two for rotations, so that one fills what another leaves idle at its end.
pub(crate) const FIRST: Queue = Queue::new(FAMILY, 0, "rotations 1", -1);
/// The other of the two.
pub(crate) const SECOND: Queue = Queue::new(FAMILY, 1, "rotations 2", -1);
/// Rotations that come last, and key switches before a rotation: they fill what those of `FIRST`
/// and `SECOND` leave idle.
pub(crate) const FILL: Queue = Queue::new(FAMILY, 2, "fill", 0);
/// Key switches behind a rotation: they go before whatever waits elsewhere.
pub(crate) const SWITCH: Queue = Queue::new(FAMILY, 3, "switches", -2);

/// All of them.
pub(crate) const QUEUES: [Queue; 4] = [FIRST, SECOND, FILL, SWITCH];
