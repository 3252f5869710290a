//! What every device has, whatever it computes: facts, errors, progress, files kept between runs, a timeline.

mod cache;
mod error;
mod info;
mod progress;
pub mod timeline;
mod tune;

pub use cache::{cache_folder, cache_key, write_cache_file};
pub use error::BackendError;
pub use info::{DeviceInfo, DeviceKind, DeviceLimits, Transform};
pub use progress::{NoProgress, Progress};
pub use tune::{PlanSource, TunedPlan, TunedPlans, choose_plan};
