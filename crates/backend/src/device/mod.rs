//! What every device has, whatever it computes: facts, errors, progress,
//! files kept between runs, a timeline.

mod cache;
mod error;
mod fit;
mod info;
mod preparation;
mod private;
mod progress;
mod report;
mod specialise;
mod split_mix;
#[cfg(target_arch = "wasm32")]
mod suspension;
pub mod timeline;
mod tune;
mod waiting;

pub use cache::{
    cache_folder, cache_key, keep_compiled, read_compiled, read_packed, read_shipped,
    ship_compiled, write_cache_file, write_whole_file,
};
pub use error::{BackendError, Result};
pub use fit::{DoesNotFit, ShapeError};
pub use info::{DeviceInfo, DeviceKind, DeviceLimits, Transform};
pub use preparation::{
    Preparation, PreparationTime, Preparing, preparation_times, preparations_running, preparing,
};
pub use private::{new_private_folder, private_folder};
pub use progress::{NoProgress, Progress, Steps, Units};
pub use report::{PlanReport, PlanValue};
pub use specialise::{SPECIALISE, Specialise};
pub(crate) use split_mix::SplitMix64;
#[cfg(target_arch = "wasm32")]
pub use suspension::{Suspension, can_wait, suspend_by};
pub use tune::{PlanSource, TunedPlan, TunedPlans};
pub use waiting::{Waiting, at_once, block_on, may_block};
#[doc(no_inline)]
pub use web_time::Instant;
