//! Classifies Fisher's irises by a decision tree that never sees a measurement.
//!
//! The tree is grown here from every second flower; all 150 are then classified encrypted,
//! in one batch.
//!
//! ```text
//! $ cargo run --release --example iris
//! 105 gates as 2850 bootstrappings in 5 levels, 150 instances
//! ..
//! 150 of 150 labels are those of the plain tree; 147 of 150 are the true species
//! ```

mod common;
#[path = "common/tfhe.rs"]
mod parties;

use clap::Parser;
use common::Failure;
use girih::circuit::{Builder, Circuit, EncryptedBits, Netlist, Wire, generate};
use girih::device::TerminalProgress;
use parties::Parties;
use std::process::ExitCode;

/// Classifies Fisher's irises by a decision tree that never sees a measurement.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Classify flower K alone, 1 to 150: what one answer takes.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=150))]
    row: Option<u16>,
}

const FEATURES: [&str; 4] = ["sepal length", "sepal width", "petal length", "petal width"];
const SPECIES: [&str; 3] = ["setosa", "versicolor", "virginica"];
const WIDTH: usize = 7; // bits of a measurement: millimetres below 128
const DEPTH: usize = 3;

#[derive(Clone)]
struct Flower {
    millimetres: [u64; 4],
    species: usize,
}

fn flowers() -> Result<Vec<Flower>, Failure> {
    let lines = include_str!("iris.csv").lines().filter(|line| !line.starts_with('#'));
    let flower = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let millimetres: Vec<u64> =
            fields[..4].iter().map(|f| f.parse()).collect::<Result<_, _>>()?;
        let species = SPECIES.iter().position(|s| *s == fields[4]).ok_or("an unknown species")?;
        Ok(Flower { millimetres: [0, 1, 2, 3].map(|i| millimetres[i]), species })
    };
    lines.map(flower).collect()
}

enum Tree {
    Leaf(usize),
    Split { feature: usize, at_most: u64, yes: Box<Tree>, no: Box<Tree> },
}

impl Tree {
    fn counts(flowers: &[Flower]) -> [usize; 3] {
        [0, 1, 2].map(|s| flowers.iter().filter(|f| f.species == s).count())
    }

    /// Flowers times Gini impurity, which is what a split should lower.
    fn impurity(flowers: &[Flower]) -> f64 {
        let squares: usize = Self::counts(flowers).iter().map(|c| c * c).sum();
        flowers.len() as f64 - squares as f64 / flowers.len().max(1) as f64
    }

    fn grow(flowers: &[Flower], depth: usize) -> Self {
        let side = |feature: usize, at_most: u64, yes: bool| -> Vec<Flower> {
            flowers.iter().filter(|f| (f.millimetres[feature] <= at_most) == yes).cloned().collect()
        };
        let cost = |&(feature, at_most): &(usize, u64)| {
            Self::impurity(&side(feature, at_most, true))
                + Self::impurity(&side(feature, at_most, false))
        };
        let splits = (0..4)
            .flat_map(|feature| flowers.iter().map(move |f| (feature, f.millimetres[feature])));
        match splits
            .min_by(|a, b| cost(a).total_cmp(&cost(b)))
            .filter(|split| depth > 0 && cost(split) < Self::impurity(flowers))
        {
            None => Self::Leaf((0..3).max_by_key(|&s| Self::counts(flowers)[s]).unwrap_or(0)),
            Some((feature, at_most)) => match [true, false]
                .map(|yes| Self::grow(&side(feature, at_most, yes), depth - 1))
            {
                [Self::Leaf(yes), Self::Leaf(no)] if yes == no => Self::Leaf(yes),
                [yes, no] => Self::Split { feature, at_most, yes: Box::new(yes), no: Box::new(no) },
            },
        }
    }

    fn classify(&self, flower: &Flower) -> usize {
        match self {
            Self::Leaf(species) => *species,
            Self::Split { feature, at_most, yes, .. }
                if flower.millimetres[*feature] <= *at_most =>
            {
                yes.classify(flower)
            }
            Self::Split { no, .. } => no.classify(flower),
        }
    }

    fn print(&self, indent: usize) {
        match self {
            Self::Leaf(species) => println!("{:indent$}{}", "", SPECIES[*species]),
            Self::Split { feature, at_most, yes, no } => {
                println!("{:indent$}{} at most {at_most} mm?", "", FEATURES[*feature]);
                yes.print(indent + 4);
                no.print(indent + 4);
            }
        }
    }

    /// The species as two wires.
    fn wires(&self, builder: &mut Builder, features: &[Vec<Wire>]) -> Vec<Wire> {
        match self {
            Self::Leaf(species) => builder.constant_word(*species as u64, 2),
            Self::Split { feature, at_most, yes, no } => {
                let threshold = builder.constant_word(*at_most, WIDTH);
                let (_, chosen) = generate::compare(builder, &features[*feature], &threshold);
                let (yes, no) = (yes.wires(builder, features), no.wires(builder, features));
                builder.select(chosen, &yes, &no)
            }
        }
    }

    fn netlist(&self) -> Result<Netlist, Failure> {
        let mut builder = Builder::new();
        let features: Vec<Vec<Wire>> =
            FEATURES.iter().map(|name| builder.input(*name, WIDTH)).collect();
        let species = self.wires(&mut builder, &features);
        builder.output("species", &species);
        Ok(builder.finish()?)
    }
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let flowers = flowers()?;
    let tree = Tree::grow(&flowers.iter().step_by(2).cloned().collect::<Vec<_>>(), DEPTH);
    tree.print(0);
    let parties = Parties::start(&arguments.options, "STD128")?;
    // So rarely wrong is enough here, and leaves room for bootstrappings of three and four inputs.
    let circuit = Circuit::with_log2_failure(&tree.netlist()?, parties.server.set(), -64.0)?;
    let rows = arguments.row.map_or(0..flowers.len(), |row| usize::from(row) - 1..usize::from(row));
    let batch = flowers.get(rows).ok_or("--row: there are rows 1 to 150")?;
    let bits = |f: &Flower| {
        f.millimetres
            .iter()
            .flat_map(|&m| (0..WIDTH).map(move |i| m >> i & 1 == 1))
            .collect::<Vec<_>>()
    };
    let encrypted =
        EncryptedBits::encrypt(&parties.client, &batch.iter().map(bits).collect::<Vec<_>>())?;
    // Tables and buffers are made at first use:
    // the latency of one flower is that of a service that runs.
    arguments
        .row
        .map(|_| circuit.evaluate(&parties.server, &encrypted, &TerminalProgress::new()))
        .transpose()?;
    let (species, report) =
        circuit.evaluate(&parties.server, &encrypted, &TerminalProgress::new())?;

    println!("{report}");
    parties.record(&arguments.options, "iris", &report)?;
    let species = species.decrypt(&parties.client)?;
    let labels: Vec<usize> =
        species.iter().map(|bits| usize::from(bits[0]) + 2 * usize::from(bits[1])).collect();
    let count = |label: &dyn Fn(&Flower) -> usize| {
        labels.iter().zip(batch).filter(|(l, f)| **l == label(f)).count()
    };
    let (same, right) = (count(&|f| tree.classify(f)), count(&|f| f.species));
    println!(
        "{same} of {0} labels are those of the plain tree; {right} of {0} are the true species",
        batch.len()
    );
    if same < batch.len() { Err("that is wrong".into()) } else { Ok(()) }
}
