//! What a chain is made from: primes, levels, digits, and how bootstrapping uses them.

use super::transform_rule::TransformRule;
use crate::CkksParameters;

/// What a [`Chain`](super::Chain) is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainShape {
    /// log2 of the ring degree.
    pub log2_degree: u32,
    /// Terminal primes t_0, t_1, ..
    pub terminal: Vec<u32>,
    /// Main primes q_0, q_1, ..
    pub main: Vec<u32>,
    /// Auxiliary primes p_0, p_1, ..
    pub auxiliary: Vec<u32>,
    /// (main, terminal) primes of each level, level 0 first.
    pub states: Vec<(usize, usize)>,
    /// S_0, the canonical scale of level 0; of the data level where there is an encapsulation.
    pub scale: f64,
    /// Positions of F in each digit of key switching; they sum to those of F.
    pub digits: Vec<usize>,
    /// Whether digits of a level are joined where they fit into one: other words, less work.
    pub join_digits: bool,
    /// The basis T of KLSS; empty if that plan is not wanted.
    pub klss: Vec<u32>,
    /// Primes in a group of KLSS.
    pub klss_group: usize,
    /// How bootstrapping uses the levels, if it does.
    pub bootstrapping: Option<BootstrappingShape>,
    /// A sparse secret for other programs than this crate's bootstrapping.
    pub encapsulation: Option<EncapsulationShape>,
}

/// What a chain knows of an encapsulation
/// ([`EncapsulationLiteral`](crate::params::EncapsulationLiteral)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncapsulationShape {
    /// The lowest level with a canonical scale.
    pub data_level: usize,
    /// Auxiliary primes of the dense-to-sparse key.
    pub auxiliary: usize,
}

/// How bootstrapping uses the levels of a chain (docs/ckks.md, "Bootstrapping"). From the top: one
/// level for /// each group of CtS, then those of EvalMod, one for each group of StC,
/// and the levels that users have.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrappingShape {
    /// L_eff, the level at which results stand.
    pub effective_level: usize,
    /// Groups of coefficients-to-slots.
    pub cts_groups: usize,
    /// Groups of slots-to-coefficients.
    pub stc_groups: usize,
    /// log2 by which labels grow after each group of coefficients-to-slots but the last.
    pub cts_shifts: Vec<i32>,
    /// The same for slots-to-coefficients, equal for all of them.
    pub stc_shift: i32,
    /// Stages of each group of coefficients-to-slots where all slots are in use; none: equal
    /// shares.
    pub cts_stages: Vec<usize>,
    /// Whether the first group of coefficients-to-slots is done by keys while the modulus is
    /// raised, and takes no level.
    pub first_by_keys: bool,
    /// Pairs of a number of diagonals and its baby steps; others follow a fixed rule.
    pub baby_steps: Vec<(usize, usize)>,
    /// K: the interval of the sine is [-K, K]; its fit is for 16.
    pub interval: u32,
    /// r, double angles; the fit is for 3.
    pub double_angles: usize,
    /// E_out, the scale of the lowest level of EvalMod.
    pub sine_scale: f64,
    /// Auxiliary primes of the dense-to-sparse key.
    pub sparse_auxiliary: usize,
    /// Levels for the arcsine correction after the double angles: 0 (none), 2 (degree 3) or 3
    /// (degree 5).
    ///
    /// With slots-to-coefficients at the end they are levels of the size of EvalMod's, as every
    /// slot is a coefficient still, whose error grows on the way to slots. With it first they are
    /// normal levels.
    pub arcsine_levels: usize,
    /// Slots-to-coefficients before the modulus is raised, on levels `stc_groups` to 1, instead of
    /// at the end.
    pub stc_first: bool,
    /// Whether both sines of complex slots can be one in the conjugation-invariant ring, with
    /// slots-to-coefficients first: it takes a level above those of EvalMod on the way there, and
    /// one above the normal levels on the way back.
    pub invariant_sine: bool,
}

impl Default for BootstrappingShape {
    /// No groups and no normal levels: EvalMod alone, with the scale 2^58.
    fn default() -> Self {
        Self {
            effective_level: 0,
            cts_groups: 0,
            stc_groups: 0,
            cts_shifts: Vec::new(),
            stc_shift: 0,
            cts_stages: Vec::new(),
            first_by_keys: false,
            baby_steps: Vec::new(),
            interval: 16,
            double_angles: 3,
            sine_scale: 2f64.powi(58),
            sparse_auxiliary: crate::params::SPARSE_AUXILIARY,
            arcsine_levels: 0,
            stc_first: false,
            invariant_sine: false,
        }
    }
}

impl BootstrappingShape {
    /// The level at which the corrected sine arrives.
    pub fn out(&self) -> usize {
        match (self.stc_first, self.arcsine_levels) {
            (false, _) => self.effective_level + self.stc_groups,
            // Nothing sets the scale but an adjust, which takes a level.
            (true, 0) => self.effective_level + 1,
            (true, _) => self.effective_level + usize::from(self.invariant_sine),
        }
    }

    /// The level after the double angles.
    pub fn sine_output(&self) -> usize {
        self.out() + self.arcsine_levels
    }

    /// The highest level with the scale S_l, which is the lowest with E_l.
    pub fn scale_change(&self) -> usize {
        if self.stc_first { self.sine_output() } else { self.out() }
    }

    /// The level at which EvalMod starts.
    pub fn sine_input(&self) -> usize {
        self.sine_output() + 5 + self.double_angles
    }

    /// The top level, at which coefficients-to-slots starts.
    pub fn top(&self) -> usize {
        self.to_slots_output() + self.cts_groups - usize::from(self.first_by_keys)
    }

    /// The level that the modulus is raised to for `slots` slots of `most`: the top one, or below
    /// it where so few slots take fewer transforms.
    pub fn raised_level(&self, most: usize, slots: usize) -> usize {
        let transforms = self.to_slots().stages_of(slots, most).len();
        self.to_slots_output() + transforms - usize::from(self.first_by_keys)
    }

    /// The level at which coefficients-to-slots arrives: that of EvalMod's input, or one above.
    pub fn to_slots_output(&self) -> usize {
        self.sine_input() + usize::from(self.invariant_sine)
    }

    /// How coefficients-to-slots is divided into transforms.
    pub fn to_slots(&self) -> TransformRule<'_> {
        TransformRule {
            groups: self.cts_groups,
            stages: &self.cts_stages,
            first_by_keys: self.first_by_keys,
            baby_steps: &self.baby_steps,
        }
    }

    /// How slots-to-coefficients is.
    pub fn to_coefficients(&self) -> TransformRule<'_> {
        TransformRule {
            stages: &[],
            first_by_keys: false,
            groups: self.stc_groups,
            ..self.to_slots()
        }
    }
}

impl From<&CkksParameters> for ChainShape {
    /// Everything but KLSS, which is a plan and no part of a set: [`ChainShape::with_klss`] adds
    /// it. Digits are joined where servers do so unasked.
    fn from(set: &CkksParameters) -> Self {
        let chain = set.chain();
        let primes = |range: std::ops::Range<usize>| range.map(|i| chain.prime(i)).collect();
        let mut terminal: Vec<u32> = primes(0..chain.terminal_len());
        terminal.reverse();
        Self {
            log2_degree: chain.log2_degree(),
            terminal,
            main: primes(chain.terminal_len()..chain.full_len()),
            auxiliary: primes(chain.auxiliary()),
            states: chain.states().iter().map(|s| (s.main, s.terminal)).collect(),
            scale: set.base_scale(),
            digits: chain.digits().iter().map(|digit| digit.len()).collect(),
            join_digits: set.joins_digits(),
            klss: Vec::new(),
            klss_group: 0,
            bootstrapping: set.bootstrapping().map(|b| BootstrappingShape {
                effective_level: b.output_level(),
                cts_groups: b.coefficients_to_slots(),
                stc_groups: b.slots_to_coefficients(),
                cts_shifts: b.coefficients_to_slots_shifts(),
                stc_shift: b.slots_to_coefficients_shift(),
                cts_stages: b.stages_listed().to_vec(),
                first_by_keys: b.first_transform_by_keys(),
                baby_steps: b.baby_steps().to_vec(),
                interval: b.interval(),
                double_angles: b.double_angles(),
                sine_scale: b.eval_mod_scale(),
                sparse_auxiliary: set.sparse_auxiliary(),
                arcsine_levels: b.arcsine_levels(),
                stc_first: b.slots_to_coefficients_first(),
                invariant_sine: b.invariant_sine(),
            }),
            encapsulation: set.encapsulation().map(|own| EncapsulationShape {
                data_level: own.data_level(),
                auxiliary: own.auxiliary(),
            }),
        }
    }
}
