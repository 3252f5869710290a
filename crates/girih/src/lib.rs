//! girih: fully homomorphic encryption on any GPU.

mod device;

pub use device::{Device, DeviceEnumeration};
