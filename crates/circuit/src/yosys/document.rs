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
    pub connections: HashMap<String, Vec<Bit>>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Bit {
    Net(u64),
    Constant(String),
}
