//! What a run over many instances was and how long it took.

/// One level of a run, or where memory is short, a hundredth of it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct WideLevel {
    /// Look-ups, each of all instances.
    pub lookups: usize,
    /// Wall-clock time.
    pub seconds: f64,
}

/// A run of a [`WideCircuit`](super::WideCircuit), without transfers of inputs and outputs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct WideReport {
    /// Gates of the netlist.
    pub gates: usize,
    /// Instances that ran at once.
    pub instances: usize,
    /// Look-ups, each of all instances.
    pub lookups: usize,
    /// Their tables.
    pub tables: usize,
    /// Look-ups one after another.
    pub depth: usize,
    /// Ciphertexts on the device at most, inputs and outputs included.
    pub peak_ciphertexts: usize,
    /// log2 of a bound on the probability that any bit of any instance is wrong.
    pub log2_failure: f64,
    /// Wall-clock time.
    pub seconds: f64,
    /// Instances a second.
    pub instances_per_s: f64,
    /// Gates of the netlist times instances, a second.
    pub gates_per_s: f64,
    /// Each level in turn.
    pub levels: Vec<WideLevel>,
}

impl std::fmt::Display for WideReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { gates, instances, lookups, tables, depth, .. } = self;
        let plural = if *instances == 1 { "" } else { "s" };
        writeln!(
            f,
            "{gates} gates as {lookups} look-ups of {tables} tables in {depth} levels, {instances} \
             instance{plural}"
        )?;
        writeln!(
            f,
            "{:.3} s, {:.0} instances/s, {:.0} gates/s, {:.3} ms a look-up",
            self.seconds,
            self.instances_per_s,
            self.gates_per_s,
            1e3 * self.seconds / (*lookups).max(1) as f64
        )?;
        write!(
            f,
            "at most {} ciphertexts on the device; a wrong bit has probability below 2^{:.1}",
            self.peak_ciphertexts, self.log2_failure
        )
    }
}
