//! The native module of the Python package `girih`: classes over the crate of that name.
//!
//! Each class is a thin, frozen wrapper: arguments become array-likes' entries ([`arrays`]), work
//! runs without the interpreter's lock ([`call`]), and errors become the classes of
//! `girih/errors.py` ([`errors`]).

mod arrays;
mod call;
mod ckks;
mod classes;
mod context;
mod device;
mod discrete;
mod errors;
mod integer;
mod tfhe;
mod wire;

/// The native module: `girih` and `girih.ckks` export what users need of it.
#[pyo3::pymodule]
mod _girih {
    #[pymodule_export]
    use crate::call::after_fork;
    #[pymodule_export]
    use crate::ckks::{
        approximation::{CompositeSign, Polynomial},
        ciphertexts::join_vectors,
        matrix::{LinearMap, Matrix},
        server::Recording,
    };
    #[pymodule_export]
    use crate::device::{Device, absent_devices, devices, kernels_in};
    #[pymodule_export]
    use crate::tfhe::{
        ciphertexts::{Ciphertexts, concatenate, unpickle_ciphertexts, weighted_sum},
        circuit::{Circuit, EncryptedBits},
        client::ClientKey,
        keys::EvaluationKeys,
        large::{LargeKeys, LargeParameters, LargeServerKey, unpickle_large_keys},
        netlist::{Netlist, NetlistBuilder, Wire},
        server::ServerKey,
        sets::ParameterSet,
        table::{Function, LookUpTable},
    };

    #[pymodule_export]
    use crate::wire::unpickle;

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    use crate::ckks::{ciphertexts, client, keys, server, sets};
    use crate::discrete;
    use crate::integer::{ciphertexts::IntegerCiphertexts, server::IntegerServerKey};
    use pyo3::prelude::*;

    /// Adds the classes of CKKS, of integers and of numbers in slots whose names TFHE has, too: as
    /// `CkksClientKey` and so on here, under their own names in `girih.ckks`, `girih.integer` and
    /// `girih.discrete`.
    #[pymodule_init]
    fn add_namesakes(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        module.add("CkksCiphertexts", py.get_type::<ciphertexts::CkksCiphertexts>())?;
        module.add("CkksClientKey", py.get_type::<client::CkksClientKey>())?;
        module.add("CkksEvaluationKeys", py.get_type::<keys::CkksEvaluationKeys>())?;
        module.add("CkksParameters", py.get_type::<sets::CkksParameters>())?;
        module.add("CkksPublicKey", py.get_type::<client::CkksPublicKey>())?;
        module.add("CkksServerKey", py.get_type::<server::CkksServerKey>())?;
        module.add("IntegerCiphertexts", py.get_type::<IntegerCiphertexts>())?;
        module.add("IntegerServerKey", py.get_type::<IntegerServerKey>())?;
        module.add("DiscreteClientKey", py.get_type::<discrete::client::DiscreteClientKey>())?;
        let keys = py.get_type::<discrete::keys::DiscreteEvaluationKeys>();
        module.add("DiscreteEvaluationKeys", keys)?;
        module.add("DiscreteIntegers", py.get_type::<discrete::integers::DiscreteIntegers>())?;
        module.add("DiscreteNumbers", py.get_type::<discrete::numbers::DiscreteNumbers>())?;
        module.add("DiscreteParameters", py.get_type::<discrete::sets::DiscreteParameters>())?;
        module.add("DiscretePublicKey", py.get_type::<discrete::client::DiscretePublicKey>())?;
        module.add("DiscreteServerKey", py.get_type::<discrete::server::DiscreteServerKey>())
    }
}
