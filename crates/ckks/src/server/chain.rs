//! A parameter set as programs see it.

use std::sync::Arc;

use crate::params::SPARSE_AUXILIARY;
use crate::program::{BootstrappingShape, Chain, ChainShape};
use crate::{CkksParameters, Result};

/// The chain of a set: its primes, levels, digits and scales.
pub(super) fn of(set: &CkksParameters) -> Result<Arc<Chain>> {
    let chain = set.chain();
    let primes = |range: std::ops::Range<usize>| range.map(|i| chain.prime(i)).collect::<Vec<_>>();
    let mut terminal = primes(0..chain.terminal_len());
    terminal.reverse();
    let bootstrapping = set.bootstrapping().map(|b| BootstrappingShape {
        effective_level: b.output_level(),
        cts_groups: b.coefficients_to_slots(),
        stc_groups: b.slots_to_coefficients(),
        cts_shift: b.coefficients_to_slots_shift(),
        stc_shift: b.slots_to_coefficients_shift(),
        interval: b.interval(),
        double_angles: b.double_angles(),
        sine_scale: b.eval_mod_scale(),
        sparse_auxiliary: SPARSE_AUXILIARY,
        arcsine_levels: 0,
        stc_first: false,
    });
    Ok(Chain::new(ChainShape {
        log2_degree: chain.log2_degree(),
        terminal,
        main: primes(chain.terminal_len()..chain.full_len()),
        auxiliary: primes(chain.auxiliary()),
        states: chain.states().iter().map(|s| (s.main, s.terminal)).collect(),
        scale: set.scale(0).unwrap_or(1.0),
        digits: chain.digits().iter().map(|digit| digit.len()).collect(),
        klss: Vec::new(),
        klss_group: 0,
        bootstrapping,
    })?)
}
