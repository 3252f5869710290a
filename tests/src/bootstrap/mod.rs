//! Cases of the bootstrap family: jobs over synthetic or published keys, no scheme.

pub mod compare;
pub mod planned;
pub mod shapes;
pub mod synthetic;
pub mod vectors;
