//! Sums, products and comparisons of unsigned words, lowest bit first.

use crate::{Builder, GateKind, Netlist, Wire};

/// `a + b` of equal widths and the carry out: a chain of full adders.
///
/// Each is an XOR of three and a majority: two bootstrappings a bit, as deep as the words are wide.
///
/// # Panics
/// For unequal widths.
pub fn add(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> (Vec<Wire>, Wire) {
    assert_eq!(a.len(), b.len(), "widths of a sum");
    let mut carry = builder.constant(false);
    let mut sum = Vec::with_capacity(a.len());
    for (&a, &b) in a.iter().zip(b) {
        let (bit, next) = full_adder(builder, a, b, carry);
        sum.push(bit);
        carry = next;
    }
    (sum, carry)
}

/// Sum and carry of three bits.
fn full_adder(builder: &mut Builder, a: Wire, b: Wire, c: Wire) -> (Wire, Wire) {
    let ab = builder.xor(a, b);
    (builder.xor(ab, c), builder.majority(a, b, c))
}

/// Whether a run of bits carries out when nothing is carried in, and when something is: the first
/// implies the second.
#[derive(Clone, Copy)]
struct Carries {
    without: Wire,
    with: Wire,
}

impl Carries {
    fn of_bits(builder: &mut Builder, a: Wire, b: Wire) -> Self {
        Self { without: builder.and(a, b), with: builder.or(a, b) }
    }

    /// `high` above `low`: where high does not carry alone but passes a carry on, low decides. As
    /// one implies the other, that is a majority, so a step of a carry tree is one level.
    fn join(builder: &mut Builder, high: Self, low: Self) -> Self {
        let mut decide = |low| builder.majority(high.without, high.with, low);
        Self { without: decide(low.without), with: decide(low.with) }
    }
}

/// `a + b` of equal widths and the carry out, about log2 of the width deep: Sklansky's parallel
/// prefix of carries.
///
/// # Panics
/// For unequal widths.
pub fn add_fast(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> (Vec<Wire>, Wire) {
    assert_eq!(a.len(), b.len(), "widths of a sum");
    // Of bits from the lowest of a block to bit i; blocks double until there is one.
    let mut runs: Vec<Carries> =
        a.iter().zip(b).map(|(&a, &b)| Carries::of_bits(builder, a, b)).collect();
    let mut block = 1;
    while block < runs.len() {
        for i in (0..runs.len()).filter(|i| i & block != 0) {
            runs[i] = Carries::join(builder, runs[i], runs[(i & !(block - 1)) - 1]);
        }
        block *= 2;
    }
    let mut carry = builder.constant(false);
    let mut sum = Vec::with_capacity(a.len());
    for (run, (&a, &b)) in runs.iter().zip(a.iter().zip(b)) {
        let half = builder.xor(a, b);
        sum.push(builder.xor(half, carry));
        carry = run.without;
    }
    (sum, carry)
}

/// Whether a < b and whether a <= b, for equal widths of at least one bit: carries of NOT a + b, as
/// a tree.
///
/// # Panics
/// For unequal widths, and for width 0.
pub fn compare(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> (Wire, Wire) {
    assert!(
        a.len() == b.len() && !a.is_empty(),
        "widths of a comparison: {} and {}",
        a.len(),
        b.len()
    );
    let carries = carries_of_difference(builder, a, b);
    (carries.without, carries.with)
}

fn carries_of_difference(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> Carries {
    if let ([a], [b]) = (a, b) {
        let not_a = builder.not(*a);
        return Carries::of_bits(builder, not_a, *b);
    }
    let middle = a.len() / 2;
    let low = carries_of_difference(builder, &a[..middle], &b[..middle]);
    let high = carries_of_difference(builder, &a[middle..], &b[middle..]);
    Carries::join(builder, high, low)
}

/// `a b` in full, of `a.len() + b.len()` bits: Dadda's tree of adders, then one fast sum.
pub fn multiply(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> Vec<Wire> {
    // Bits of equal weight.
    let mut columns: Vec<Vec<Wire>> = vec![Vec::new(); a.len() + b.len()];
    for (i, &a) in a.iter().enumerate() {
        for (j, &b) in b.iter().enumerate() {
            columns[i + j].push(builder.and(a, b));
        }
    }
    let tallest = a.len().min(b.len());
    let heights: Vec<usize> =
        std::iter::successors(Some(2), |h| Some(h * 3 / 2)).take_while(|&h| h < tallest).collect();
    for &height in heights.iter().rev() {
        reduce(builder, &mut columns, height);
    }
    let zero = builder.constant(false);
    let row = |i: usize| -> Vec<Wire> {
        columns.iter().map(|c| c.get(i).copied().unwrap_or(zero)).collect()
    };
    add_fast(builder, &row(0), &row(1)).0
}

/// One level of adders, as few as bring every column to `height`; nothing is carried out of the top
/// of a product.
fn reduce(builder: &mut Builder, columns: &mut [Vec<Wire>], height: usize) {
    let zero = builder.constant(false);
    let mut carried = Vec::new();
    for column in columns {
        let mut done = std::mem::take(&mut carried);
        while column.len() + done.len() > height {
            // A half adder takes one bit out of this column, a full adder two.
            let third = if column.len() + done.len() == height + 1 {
                zero
            } else {
                column.pop().unwrap_or(zero)
            };
            let [a, b] = [column.pop().unwrap_or(zero), column.pop().unwrap_or(zero)];
            let (sum, carry) = full_adder(builder, a, b, third);
            done.push(sum);
            carried.push(carry);
        }
        column.append(&mut done);
    }
}

/// Two inputs `a` and `b` of `width` bits each.
fn operands(builder: &mut Builder, width: usize) -> (Vec<Wire>, Vec<Wire>) {
    (builder.input("a", width), builder.input("b", width))
}

fn finish(builder: Builder) -> Netlist {
    builder.finish().expect("generators name their buses once and have outputs")
}

/// `sum = a + b` and `carry`; `fast` takes about log2 of the width levels instead of the width, and
/// more gates.
pub fn adder(width: usize, fast: bool) -> Netlist {
    let mut builder = Builder::new();
    let (a, b) = operands(&mut builder, width);
    let (sum, carry) =
        if fast { add_fast(&mut builder, &a, &b) } else { add(&mut builder, &a, &b) };
    builder.output("sum", &sum);
    builder.output("carry", &[carry]);
    finish(builder)
}

/// `less` and `equal` of a and b.
///
/// # Panics
/// For width 0.
pub fn comparator(width: usize) -> Netlist {
    let mut builder = Builder::new();
    let (a, b) = operands(&mut builder, width);
    let (less, at_most) = compare(&mut builder, &a, &b);
    let more = builder.not(at_most);
    let equal = builder.gate(GateKind::Nor, &[less, more]);
    builder.output("less", &[less]);
    builder.output("equal", &[equal]);
    finish(builder)
}

/// `product = a b` of twice the width.
///
/// # Panics
/// For width 0.
pub fn multiplier(width: usize) -> Netlist {
    let mut builder = Builder::new();
    let (a, b) = operands(&mut builder, width);
    let product = multiply(&mut builder, &a, &b);
    builder.output("product", &product);
    finish(builder)
}
