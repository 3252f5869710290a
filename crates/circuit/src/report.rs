//! What a run was and how long it took.

use crate::circuit::Circuit;

/// One level of a run.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct LevelTime {
    /// Bootstrappings, over all instances.
    pub bootstraps: usize,
    /// Wall-clock time.
    pub seconds: f64,
}

/// A run of a circuit, without transfers of inputs and outputs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Gates of the netlist.
    pub gates: usize,
    /// Instances that ran at once.
    pub instances: usize,
    /// Bootstrappings, over all instances.
    pub bootstraps: usize,
    /// Levels.
    pub depth: usize,
    /// Ciphertexts on the device at most, inputs and outputs included.
    pub peak_ciphertexts: usize,
    /// log2 of a bound on the probability that any bit of any instance is wrong.
    pub log2_failure: f64,
    /// Wall-clock time.
    pub seconds: f64,
    /// Gates of the netlist times instances, a second.
    pub gates_per_s: f64,
    /// Each level in turn.
    pub levels: Vec<LevelTime>,
}

impl Report {
    pub(crate) fn new(
        circuit: &Circuit,
        instances: usize,
        groups: usize,
        seconds: f64,
        levels: Vec<LevelTime>,
    ) -> Self {
        Self {
            gates: circuit.gates(),
            instances,
            bootstraps: circuit.bootstraps() * groups,
            depth: circuit.depth(),
            peak_ciphertexts: (circuit.input_bits() + circuit.peak_slots() + circuit.output_bits())
                * groups,
            log2_failure: circuit.log2_failure() + (instances as f64).log2(),
            seconds,
            gates_per_s: (circuit.gates() * instances) as f64 / seconds,
            levels,
        }
    }

    /// The slowest level: its number, counted from 1.
    pub fn slowest(&self) -> Option<(usize, LevelTime)> {
        (1..).zip(self.levels.iter().copied()).max_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds))
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            gates,
            instances,
            bootstraps,
            depth,
            peak_ciphertexts,
            log2_failure,
            seconds,
            gates_per_s,
            ..
        } = self;
        let plural = if *instances == 1 { "" } else { "s" };
        writeln!(
            f,
            "{gates} gates as {bootstraps} bootstrappings in {depth} levels, {instances} \
             instance{plural}"
        )?;
        writeln!(
            f,
            "{seconds:.3} s, {gates_per_s:.0} gates/s, {:.0} bootstrappings/s",
            *bootstraps as f64 / seconds
        )?;
        if let Some((number, level)) = self.slowest() {
            let LevelTime { bootstraps, seconds } = level;
            writeln!(
                f,
                "a level takes {:.2} ms on average; level {number} of {bootstraps} bootstrappings \
                 {:.2} ms",
                1e3 * self.seconds / *depth as f64,
                1e3 * seconds
            )?;
        }
        write!(
            f,
            "at most {peak_ciphertexts} ciphertexts on the device; a wrong bit has probability \
             below 2^{log2_failure:.1}"
        )
    }
}
