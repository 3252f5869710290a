//! The bootstrap family: launches `cuda/bootstrap/`.
//!
//! Modules import only what stands above them here, a test (`tests/house.rs`) sees to it:
//!
//! | module | what |
//! |---|---|
//! | `arguments` | the structs that kernels take |
//! | `queues`, `limits` | the queues of the family; what a compute capability holds |
//! | `layout` | widths, strides, scales, bytes: numbers that follow from the shape alone |
//! | `roots`, `keys` | roots and keys in the order in which kernels read them |
//! | `plan` | how a shape is laid over the device |
//! | `source`, `upload` | the header of constants; keys and kernels on their way to the device |
//! | `combine`, `blind_rotate`, `blind_rotate_spread` | launch the kernels of that name |
//! | `key_switch`, `key_switch_torus` | likewise |
//! | `rotation`, `choice` | compiled plans of the rotation; which one a batch gets |
//! | `memory` | what calls change, and who waits for whom |
//! | `switches` | the key switch of a shape, before the rotation or behind it |
//! | `pipeline` | a list of jobs through its kernels |
//! | `trace` | what lies between the steps |
//! | `engine` | the contract |
//! | `loader` | keys loaded on a GPU, or on the host in its place |
//! | `variants` | what would be compiled, for tools without a GPU |

pub(crate) mod arguments;
pub(crate) mod blind_rotate;
pub(crate) mod blind_rotate_spread;
pub(crate) mod choice;
pub(crate) mod combine;
#[cfg(all(test, feature = "emulation"))]
mod delayed_tests;
pub(crate) mod engine;
pub(crate) mod key_switch;
pub(crate) mod key_switch_torus;
pub(crate) mod keys;
pub(crate) mod layout;
pub(crate) mod limits;
pub(crate) mod loader;
pub(crate) mod memory;
#[cfg(all(test, feature = "emulation"))]
mod memory_tests;
pub(crate) mod pipeline;
pub(crate) mod plan;
pub(crate) mod queues;
pub(crate) mod roots;
pub(crate) mod rotation;
mod rotations;
pub(crate) mod source;
pub(crate) mod switches;
#[cfg(test)]
mod test_shapes;
pub(crate) mod trace;
pub(crate) mod upload;
pub(crate) mod variants;
