//! How the keys of a CKKS set are loaded, as the command line says it.

use anyhow::{Result, bail};
use girih::ckks::server::{KeySwitching, Options};
use girih::ckks::{CkksParameters, PolyOptions, PolyPlan};
use std::str::FromStr;

/// A key switching by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySwitch {
    Hybrid,
    /// With so many primes in a group, or as many as the set suggests.
    Klss(Option<usize>),
}

impl FromStr for KeySwitch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "hybrid" => Ok(Self::Hybrid),
            None if text == "klss" => Ok(Self::Klss(None)),
            Some(("klss", group)) => match group.parse() {
                Ok(group) => Ok(Self::Klss(Some(group))),
                Err(_) => Err(format!("`{group}` is no number of primes, as in klss:8")),
            },
            _ => Err("take hybrid, klss, or klss:8 for groups of 8 primes".into()),
        }
    }
}

impl KeySwitch {
    pub fn of(self, set: &CkksParameters) -> KeySwitching {
        match self {
            Self::Hybrid => KeySwitching::Hybrid,
            Self::Klss(None) => KeySwitching::klss(set),
            Self::Klss(Some(group)) => KeySwitching::Klss { group },
        }
    }
}

/// The options of a load: a key switching, and what `--plan` fixes. Numbers of the plan that every
/// device has (`row_slots`, `column_sums`, `column_tiles`, `fuse`, `turn_operands`) change `own`;
/// `join_digits`, `sum_keys` and `divide_sines` are the server's; other names are the device's.
pub fn options(
    set: &CkksParameters,
    key_switch: Option<KeySwitch>,
    plan: &[(String, u32)],
    own: PolyPlan,
) -> Result<Options> {
    let (mut device, mut changed) = (PolyOptions::default(), own);
    let mut options = Options::default().with_key_switching(key_switch.map(|k| k.of(set)));
    for (name, value) in plan {
        match name.as_str() {
            "row_slots" => changed.most_row_slots = *value as usize,
            "column_sums" => changed.most_column_sums = *value as usize,
            "column_tiles" => changed.least_column_tiles = *value as usize,
            "fuse" | "turn_operands" | "join_digits" | "sum_keys" | "divide_sines"
                if *value > 1 =>
            {
                bail!("--plan {name}={value}: it is 0 or 1")
            }
            "fuse" => changed.fuse = *value == 1,
            "turn_operands" => changed.turn_operands = *value == 1,
            "join_digits" => options.join_digits = Some(*value == 1),
            "sum_keys" => options.sum_keys = *value == 1,
            "divide_sines" => options.divide_sines = *value == 1,
            name => device = device.with(name, *value),
        }
    }
    device.plan = (changed != own).then_some(changed);
    Ok(options.with_device(device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_switchings_have_names() {
        for (text, wanted) in [
            ("hybrid", KeySwitch::Hybrid),
            ("klss", KeySwitch::Klss(None)),
            ("klss:8", KeySwitch::Klss(Some(8))),
        ] {
            assert_eq!(text.parse(), Ok(wanted));
        }
        for text in ["", "KLSS", "hybrid:8", "klss:", "klss:x"] {
            assert!(text.parse::<KeySwitch>().is_err(), "{text}");
        }
    }

    #[test]
    fn plans_are_told_from_choices_of_the_device() {
        let set = CkksParameters::by_name("CKKS_D40").expect("built in");
        let own = PolyPlan::default();
        let plan = [("column_sums".to_owned(), 16), ("threads".to_owned(), 1)];
        let made = options(&set, Some(KeySwitch::Klss(None)), &plan, own).expect("possible");
        assert_eq!(made.key_switching, Some(KeySwitching::Klss { group: 12 }));
        assert_eq!(made.device.plan, Some(PolyPlan { most_column_sums: 16, ..own }));
        assert_eq!(made.device.choices, [("threads".to_owned(), 1)].into());
        let none = options(&set, None, &[], own).expect("possible");
        assert_eq!(none, Options::default());
        let plan = [("join_digits".to_owned(), 1), ("sum_keys".to_owned(), 0)];
        let joined = options(&set, None, &plan, own).expect("possible");
        assert_eq!((joined.join_digits, joined.sum_keys), (Some(true), false));
        for name in ["fuse", "join_digits", "sum_keys", "divide_sines"] {
            assert!(options(&set, None, &[(name.to_owned(), 2)], own).is_err());
        }
    }
}
