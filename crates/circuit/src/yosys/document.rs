//! The form of the file: what Yosys writes and this crate reads of it.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::collections::HashMap;
use std::marker::PhantomData;

/// A JSON object in the order of the file, which is the order of ports; a repeated key is kept and
/// refused later.
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(
                self,
                mut map: M,
            ) -> std::result::Result<Self::Value, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

#[derive(Deserialize)]
pub struct Document {
    pub modules: Ordered<Module>,
}

#[derive(Deserialize)]
pub struct Module {
    #[serde(default)]
    pub attributes: HashMap<String, serde_json::Value>,
    #[serde(default)]
    pub ports: Ordered<Port>,
    #[serde(default)]
    pub cells: Ordered<Cell>,
    #[serde(default)]
    pub netnames: Ordered<Net>,
}

impl Module {
    /// Whether it has the attribute `top` with another value than 0; Yosys writes values as binary
    /// digits.
    pub fn is_top(&self) -> bool {
        self.attributes.get("top").is_some_and(|value| match value {
            serde_json::Value::String(digits) => digits.contains('1'),
            value => value.as_u64() != Some(0),
        })
    }

    /// What the source calls what a cell of any type drives, where it has a name for it.
    pub fn name_driven_by(&self, cell: &Cell) -> Option<&str> {
        let driven = ["Q", "Y"].iter().find_map(|port| cell.connections.get(*port)?.first())?;
        let Bit::Net(driven) = driven else { return None };
        let is_it = |bit: &Bit| matches!(bit, Bit::Net(net) if net == driven);
        let mut names = self.netnames.0.iter().filter(|(name, _)| !name.starts_with('$'));
        names.find(|(_, net)| net.bits.iter().any(is_it)).map(|(name, _)| name.as_str())
    }
}

#[derive(Deserialize)]
pub struct Net {
    pub bits: Vec<Bit>,
}

#[derive(Deserialize)]
pub struct Port {
    pub direction: String,
    pub bits: Vec<Bit>,
}

#[derive(Deserialize)]
pub struct Cell {
    #[serde(rename = "type")]
    pub kind: String,
    /// Of cells whose type Yosys knows, `input`, `output` or `inout`.
    #[serde(default)]
    pub port_directions: HashMap<String, String>,
    #[serde(default)]
    pub connections: HashMap<String, Vec<Bit>>,
}

/// Types of cells that only say something about a design: where a module was before it was
/// flattened, what must hold, what a simulator prints.
const WITHOUT_OUTPUTS: [&str; 8] =
    ["$scopeinfo", "$print", "$check", "$assert", "$assume", "$live", "$fair", "$cover"];

impl Cell {
    /// Whether it has no outputs, so that nothing depends on it.
    pub fn drives_nothing(&self) -> bool {
        let is_input =
            |port: &String| self.port_directions.get(port).is_some_and(|of| of == "input");
        WITHOUT_OUTPUTS.contains(&self.kind.as_str())
            || !self.connections.is_empty() && self.connections.keys().all(is_input)
    }
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Bit {
    Net(u64),
    Constant(String),
}
