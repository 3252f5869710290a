//! Sums, products and comparisons of unsigned words, lowest bit first.

use crate::{Builder, Netlist, Wire};

/// `a + b` of equal widths and the carry out: a chain of full adders.
///
/// Each is an XOR of three and a majority: two bootstrappings a bit, as deep as the words are wide.
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

/// `a + b` of equal widths and the carry out, about log2 of the width deep: Sklansky's parallel prefix of carries.
pub fn add_fast(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> (Vec<Wire>, Wire) {
    assert_eq!(a.len(), b.len(), "widths of a sum");
    let propagate = builder.xor_words(a, b);
    // Of bits from the lowest of a block to bit i: whether they generate a carry, and whether they pass one on.
    let mut spans: Vec<(Wire, Wire)> = a.iter().zip(b).zip(&propagate).map(|((&a, &b), &p)| (builder.and(a, b), p)).collect();
    let mut block = 1;
    while block < spans.len() {
        for i in (0..spans.len()).filter(|i| i & block != 0) {
            let (low_generates, low_passes) = spans[(i & !(block - 1)) - 1];
            let (generates, passes) = spans[i];
            // A span never both generates and passes.
            let passed = builder.and(passes, low_generates);
            spans[i] = (builder.xor(generates, passed), builder.and(passes, low_passes));
        }
        block *= 2;
    }
    let mut carry = builder.constant(false);
    let mut sum = Vec::with_capacity(a.len());
    for (&p, &(generates, _)) in propagate.iter().zip(&spans) {
        sum.push(builder.xor(p, carry));
        carry = generates;
    }
    (sum, carry)
}

/// Whether a < b and whether a = b, for equal widths: a tree, about log2 of the width deep.
pub fn less_than(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> (Wire, Wire) {
    assert_eq!(a.len(), b.len(), "widths of a comparison");
    match a.len() {
        0 => (builder.constant(false), builder.constant(true)),
        1 => {
            let not_a = builder.not(a[0]);
            let differs = builder.xor(a[0], b[0]);
            (builder.and(not_a, b[0]), builder.not(differs))
        }
        width => {
            let (low, low_equal) = less_than(builder, &a[..width / 2], &b[..width / 2]);
            let (high, high_equal) = less_than(builder, &a[width / 2..], &b[width / 2..]);
            // The high halves are never both less and equal.
            let tie = builder.and(high_equal, low);
            (builder.xor(high, tie), builder.and(high_equal, low_equal))
        }
    }
}

/// `a b` in full, of `a.len() + b.len()` bits: carry-save rows in a tree, then one fast sum.
pub fn multiply(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> Vec<Wire> {
    let width = a.len() + b.len();
    // Bits of equal weight.
    let mut columns: Vec<Vec<Wire>> = vec![Vec::new(); width];
    for (i, &a) in a.iter().enumerate() {
        for (j, &b) in b.iter().enumerate() {
            columns[i + j].push(builder.and(a, b));
        }
    }
    while columns.iter().any(|c| c.len() > 2) {
        let mut next: Vec<Vec<Wire>> = vec![Vec::new(); width + 1];
        for (weight, column) in columns.iter().enumerate() {
            for bits in column.chunks(3) {
                if let [a, b, c] = *bits {
                    let (sum, carry) = full_adder(builder, a, b, c);
                    next[weight].push(sum);
                    next[weight + 1].push(carry);
                } else {
                    next[weight].extend(bits);
                }
            }
        }
        // The product fits, so nothing is carried out of the top.
        next.truncate(width);
        columns = next;
    }
    let zero = builder.constant(false);
    let row = |i: usize| -> Vec<Wire> { columns.iter().map(|c| c.get(i).copied().unwrap_or(zero)).collect() };
    add_fast(builder, &row(0), &row(1)).0
}

/// Two inputs `a` and `b` of `width` bits each.
fn operands(builder: &mut Builder, width: usize) -> (Vec<Wire>, Vec<Wire>) {
    (builder.input("a", width), builder.input("b", width))
}

fn finish(builder: Builder) -> Netlist {
    builder.finish().expect("generators name their buses once and have outputs")
}

/// `sum = a + b` and `carry`; `fast` takes about log2 of the width levels instead of the width, and more gates.
pub fn adder(width: usize, fast: bool) -> Netlist {
    let mut builder = Builder::new();
    let (a, b) = operands(&mut builder, width);
    let (sum, carry) = if fast { add_fast(&mut builder, &a, &b) } else { add(&mut builder, &a, &b) };
    builder.output("sum", &sum);
    builder.output("carry", &[carry]);
    finish(builder)
}

/// `less` and `equal` of a and b.
pub fn comparator(width: usize) -> Netlist {
    let mut builder = Builder::new();
    let (a, b) = operands(&mut builder, width);
    let (less, equal) = less_than(&mut builder, &a, &b);
    builder.output("less", &[less]);
    builder.output("equal", &[equal]);
    finish(builder)
}

/// `product = a b` of twice the width.
pub fn multiplier(width: usize) -> Netlist {
    let mut builder = Builder::new();
    let (a, b) = operands(&mut builder, width);
    let product = multiply(&mut builder, &a, &b);
    builder.output("product", &product);
    finish(builder)
}
