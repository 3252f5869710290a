//! What a device planned, for records and for people.

use super::{PlanSource, Transform};
use serde::Serialize;
use std::collections::BTreeMap;

/// What was planned for one load: the transform, who chose, and the device's own numbers by name.
///
/// It serializes, and prints, as one flat JSON object.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanReport {
    /// The transform in use, where the device names it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// Who chose the plan; none where there is nothing to choose.
    #[serde(rename = "plan_from", skip_serializing_if = "Option::is_none")]
    pub source: Option<PlanSource>,
    /// The rest, in units that the names tell.
    #[serde(flatten)]
    pub entries: BTreeMap<String, PlanValue>,
}

/// One value of a [`PlanReport`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PlanValue {
    /// Yes or no.
    Flag(bool),
    /// A count.
    Count(u64),
    /// What was measured or derived.
    Number(f64),
    /// A name.
    Text(String),
    /// Several values.
    List(Vec<PlanValue>),
    /// What this plan does not have.
    Nothing,
}

impl PlanReport {
    /// A report of one transform and who chose its plan.
    pub fn new(transform: Transform, source: PlanSource) -> Self {
        Self { transform: Some(transform), source: Some(source), entries: BTreeMap::new() }
    }

    /// Adds, or replaces, a value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<PlanValue>) {
        self.entries.insert(name.into(), value.into());
    }

    /// The same with a value added or replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<PlanValue>) -> Self {
        self.set(name, value);
        self
    }

    /// The value called `name`, where the device reports one.
    pub fn get(&self, name: &str) -> Option<&PlanValue> {
        self.entries.get(name)
    }

    /// The count called `name`.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            PlanValue::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// The flag called `name`.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            PlanValue::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    /// As one flat JSON object, for records.
    pub fn to_json(&self) -> serde_json::Value {
        // Its keys are strings, so this cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl std::fmt::Display for PlanReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_json().fmt(f)
    }
}

macro_rules! values {
    ($($t:ty => $make:expr;)*) => { $(
        impl From<$t> for PlanValue {
            fn from(value: $t) -> Self {
                let make: fn($t) -> Self = $make;
                make(value)
            }
        }
    )* };
}
values! {
    bool => Self::Flag;
    u32 => |v| Self::Count(v.into());
    u64 => Self::Count;
    usize => |v| Self::Count(v as u64);
    f64 => Self::Number;
    &str => |v| Self::Text(v.into());
    String => Self::Text;
}

impl<T: Into<PlanValue>> From<Option<T>> for PlanValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, T::into)
    }
}

impl<T: Into<PlanValue>> From<Vec<T>> for PlanValue {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(T::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_flat_object() {
        let report = PlanReport::new(Transform::Ntt, PlanSource::Model)
            .with("threads", 64usize)
            .with("packed", false)
            .with("single_ms", None::<f64>)
            .with("words", vec![3u32, 5]);
        let text = concat!(
            r#"{"packed":false,"plan_from":"model","single_ms":null,"threads":64,"#,
            r#""transform":"ntt-u32","words":[3,5]}"#
        );
        assert_eq!(report.to_string(), text);
        assert_eq!(
            (report.count("threads"), report.flag("packed"), report.flag("threads")),
            (Some(64), Some(false), None)
        );
        assert_eq!(PlanReport::default().to_string(), "{}");
    }
}
