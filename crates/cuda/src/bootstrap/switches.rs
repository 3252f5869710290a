//! The key switch of a shape: behind the rotation, or on the native torus before it.

use crate::bootstrap::arguments::{KeySwitchArguments, TorusKeySwitchArguments};
use crate::bootstrap::key_switch::KeySwitch;
use crate::bootstrap::key_switch_torus::TorusKeySwitch;
use crate::bootstrap::memory::Lane;
use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::upload::Loading;
use crate::runtime::machine::{Machine, Queue};
use girih_backend::{BootstrapShape, Result};

/// Where the key switch stands, and what it needs.
pub(crate) enum Switch {
    /// Behind the rotation.
    Last(KeySwitch),
    /// Before it, on the native torus.
    First(TorusKeySwitch),
}

/// Jobs in a lane, and where their key switch has its ciphertexts.
#[derive(Clone, Copy)]
pub(crate) struct Staged<'a> {
    pub lane: &'a Lane,
    pub jobs: usize,
    /// The ciphertexts that it reads where it stands first, writes where it stands last.
    pub store: u64,
    /// Where a trace has the first job's words before they are rounded, or 0.
    pub dump: u64,
}

impl Switch {
    pub fn load(loading: &Loading<'_>, plan: &CudaPlan) -> Result<Self> {
        Ok(if loading.keys.shape().is_torus() {
            Self::First(TorusKeySwitch::load(loading, plan)?)
        } else {
            Self::Last(KeySwitch::load(loading, plan)?)
        })
    }

    pub fn key_bytes(&self) -> usize {
        match self {
            Self::Last(switch) => switch.key_bytes(),
            Self::First(switch) => switch.key_bytes(),
        }
    }

    /// Bytes of what lies between rotation and key switch for `jobs` ciphertexts,
    /// whichever comes first.
    pub fn switched_bytes(&self, shape: &BootstrapShape, jobs: usize) -> usize {
        match self {
            Self::Last(_) => jobs * shape.extracted_len() * 8,
            Self::First(_) => TorusKeySwitch::exponents_bytes(shape, jobs),
        }
    }

    /// Makes room in `lane` for what the switch of `jobs` ciphertexts needs there.
    pub fn make_room(
        &self,
        shape: &BootstrapShape,
        lane: &mut Lane,
        queue: Queue,
        jobs: usize,
    ) -> Result<()> {
        match self {
            Self::First(switch) => {
                let (digits, sums) = (switch.digits_bytes(jobs), switch.sums_bytes(jobs));
                lane.digits.grow(queue, digits, 0, "digits of the key switch")?;
                lane.sums.grow(queue, sums, 0, "sums of the key switch")?;
            }
            Self::Last(switch) => {
                lane.partial.grow(queue, switch.partial_bytes(jobs), 0, "partial sums")?;
            }
        }
        let switched = self.switched_bytes(shape, jobs);
        lane.switched.grow(queue, switched, 0, "switched ciphertexts")
    }

    /// The staged jobs' key switch where it stands first; nothing elsewhere.
    pub fn launch_first(
        &self,
        machine: &dyn Machine,
        queue: Queue,
        staged: Staged<'_>,
    ) -> Result<()> {
        let Self::First(switch) = self else { return Ok(()) };
        let Staged { lane, jobs, store, dump } = staged;
        let arguments = TorusKeySwitchArguments {
            jobs: lane.jobs.address(),
            store,
            digits: lane.digits.address(),
            sums: lane.sums.address(),
            exponents: lane.switched.address(),
            dump,
            job_count: jobs as u32,
            ..Default::default()
        };
        switch.launch(machine, queue, arguments)
    }

    /// The rotated jobs' key switch where it stands last; nothing elsewhere.
    pub fn launch_last(
        &self,
        machine: &dyn Machine,
        queue: Queue,
        staged: Staged<'_>,
    ) -> Result<()> {
        let Self::Last(switch) = self else { return Ok(()) };
        let Staged { lane, jobs, store, dump } = staged;
        let arguments = KeySwitchArguments {
            jobs: lane.jobs.address(),
            switched: lane.switched.address(),
            store,
            dump,
            partial: lane.partial.address(),
            job_count: jobs as u32,
            ..Default::default()
        };
        switch.launch(machine, queue, arguments)
    }
}
