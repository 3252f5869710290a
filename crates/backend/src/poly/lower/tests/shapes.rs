//! The launches of what schemes record most: switches between bases with products of resident
//! polynomials, divisions, products of pairs. Counts are part of the contract with speed.

use std::collections::HashMap;
use std::sync::Arc;

use super::*;
use crate::poly::random::{Numbers, ring};
use crate::poly::schedule::{Form, Launch, Limb, RowSum, RowTile, Source};
use crate::poly::{
    Basis, Domain, Factor, HostPolynomials, ProgramBuilder, ResidentShape, RingShape, Schedule,
    Term,
};

/// A pair of polynomials.
#[derive(Clone, Copy)]
struct Pair(Value, Value);

/// Records over a ring whose last `special` primes are divided away after products.
struct Recorder {
    ring: Arc<RingShape>,
    builder: ProgramBuilder,
    special: Basis,
    digit: usize,
    keys: HashMap<(usize, usize), Value>,
    shapes: Vec<ResidentShape>,
    inputs: Vec<Basis>,
}

impl Recorder {
    /// Nine primes, three of them special, three to a digit.
    fn new() -> Self {
        let whole = ring(4);
        let ring = Arc::new(RingShape::new(4, whole.primes[..9].to_vec()));
        Self {
            builder: ProgramBuilder::new(ring.clone()),
            special: ring.basis(6..9),
            ring,
            digit: 3,
            keys: HashMap::new(),
            shapes: Vec::new(),
            inputs: Vec::new(),
        }
    }

    fn pair(&mut self, limbs: usize) -> Pair {
        let basis = self.ring.basis(0..limbs);
        let mut one = || {
            self.inputs.push(basis.clone());
            self.builder.input(basis.clone(), Domain::Evaluations).unwrap()
        };
        Pair(one(), one())
    }

    fn basis(&self, value: Value) -> Basis {
        self.builder.basis(value).clone()
    }

    fn resident(&mut self, basis: Basis, log2_run: u32) -> Value {
        let shape = ResidentShape { basis, log2_run };
        self.shapes.push(shape.clone());
        self.builder.resident(shape).unwrap()
    }

    /// Part `part` of key `key` for the digit that begins at prime `first`.
    fn key(&mut self, key: usize, first: u16, part: usize) -> Value {
        let number = (key, 2 * usize::from(first) + part);
        if let Some(&known) = self.keys.get(&number) {
            return known;
        }
        let all = self.ring.basis(0..self.ring.primes.len());
        let value = self.resident(all, 0);
        self.keys.insert(number, value);
        value
    }

    /// A number on every prime of `basis`, or its inverse.
    fn number(&self, basis: &Basis, number: impl Fn(girih_ring::Modulus) -> u32) -> Factor {
        let residues = basis.primes().iter().map(|&p| [number(self.modulus(p)); 2]);
        Factor::Residues(residues.collect())
    }

    fn modulus(&self, prime: u16) -> girih_ring::Modulus {
        self.ring.primes[usize::from(prime)]
    }

    fn product_of(&self, primes: &Basis, modulus: girih_ring::Modulus) -> u32 {
        let values = primes.primes().iter().map(|&p| self.modulus(p).value());
        values.fold(1, |product, p| modulus.mul(product, p % modulus.value()))
    }

    /// The digits of x, each on its own primes and the special ones.
    fn raise(&mut self, x: Value) -> Vec<(u16, Value)> {
        let basis = self.basis(x);
        let whole = basis.union(&self.special);
        let digits: Vec<Basis> = basis
            .primes()
            .chunks(self.digit)
            .map(|primes| Basis::new(primes.iter().copied()))
            .collect();
        let raise = |digit: Basis| {
            let own = self.builder.limbs(x, digit.clone()).unwrap();
            let coefficients = self.builder.transform(own, Domain::Coefficients);
            let others = whole.difference(&digit);
            let lifted = self.builder.convert(coefficients, others, false).unwrap();
            let lifted = self.builder.transform(lifted, Domain::Evaluations);
            (digit.primes()[0], self.builder.join(&[own, lifted]).unwrap())
        };
        digits.into_iter().map(raise).collect()
    }

    fn key_product(&mut self, digits: &[(u16, Value)], key: usize) -> Pair {
        let mut part = |part| {
            let terms = digits
                .iter()
                .map(|&(first, digit)| {
                    let key = self.key(key, first, part);
                    let basis = self.basis(digit);
                    let key = self.builder.limbs(key, basis).unwrap();
                    Term::product(digit, key)
                })
                .collect();
            self.builder.sum(terms).unwrap()
        };
        Pair(part(0), part(1))
    }

    /// round(x / S) on the primes of `to`, S those that x has besides.
    fn divide(&mut self, x: Value, to: &Basis) -> Value {
        let dropped = self.basis(x).difference(to);
        let rest = self.builder.limbs(x, dropped.clone()).unwrap();
        let rest = self.builder.transform(rest, Domain::Coefficients);
        let rest = self.builder.convert(rest, to.clone(), true).unwrap();
        let rest = self.builder.transform(rest, Domain::Evaluations);
        let kept = self.builder.limbs(x, to.clone()).unwrap();
        let inverse = |m: girih_ring::Modulus| m.inverse(self.product_of(&dropped, m));
        let plus = self.number(to, inverse);
        let minus = self.number(to, |m| m.neg(inverse(m)));
        self.builder.sum(vec![Term::scaled(plus, kept), Term::scaled(minus, rest)]).unwrap()
    }

    fn divide_pair(&mut self, x: Pair, to: &Basis) -> Pair {
        Pair(self.divide(x.0, to), self.divide(x.1, to))
    }

    /// `x + P y`, with x on the special primes too, P their product.
    fn add_lifted(&mut self, x: Value, y: Value) -> Value {
        let basis = self.basis(y);
        let special = self.special.clone();
        let p = self.number(&basis, |m| self.product_of(&special, m));
        let low = self.builder.limbs(x, basis.clone()).unwrap();
        let low = self.builder.sum(vec![Term::plus(low), Term::scaled(p, y)]).unwrap();
        let high = self.builder.limbs(x, special).unwrap();
        self.builder.join(&[low, high]).unwrap()
    }

    /// The image of x + a s under X -> X^g, before the division by the special primes.
    fn turned(&mut self, digits: &[(u16, Value)], b: Value, key: usize, g: u32) -> Pair {
        let Pair(kb, ka) = self.key_product(digits, key);
        let kb = self.add_lifted(kb, b);
        let mut turn = |x| self.builder.automorphism(x, g).unwrap();
        Pair(turn(kb), turn(ka))
    }

    fn rotate(&mut self, x: Pair, key: usize, g: u32) -> Pair {
        let digits = self.raise(x.1);
        let turned = self.turned(&digits, x.0, key, g);
        let to = self.basis(x.0);
        self.divide_pair(turned, &to)
    }

    fn multiply(&mut self, x: Pair, y: Pair) -> Pair {
        let mut sum = |terms| self.builder.sum(terms).unwrap();
        let d0 = sum(vec![Term::product(x.0, y.0)]);
        let d1 = sum(vec![Term::product(x.0, y.1), Term::product(x.1, y.0)]);
        let d2 = sum(vec![Term::product(x.1, y.1)]);
        let digits = self.raise(d2);
        let keys = self.key_product(&digits, 0);
        let to = self.basis(d0);
        let Pair(kb, ka) = self.divide_pair(keys, &to);
        let mut add = |x, y| self.builder.sum(vec![Term::plus(x), Term::plus(y)]).unwrap();
        Pair(add(d0, kb), add(d1, ka))
    }

    fn output(&mut self, x: Pair) {
        self.builder.output(x.0);
        self.builder.output(x.1);
    }

    /// The fused schedule, after every plan was found to yield what the interpreter yields.
    fn schedule(self) -> Schedule {
        self.schedule_by(&PolyPlan::default())
    }

    /// The same by another plan.
    fn schedule_by(self, plan: &PolyPlan) -> Schedule {
        let mut numbers = Numbers::new(1);
        let degree = self.ring.degree();
        let residents = self
            .shapes
            .iter()
            .map(|s| (s.clone(), numbers.limbs(&self.ring, &s.basis, degree >> s.log2_run)))
            .collect();
        let residents = HostPolynomials::new(&self.ring, residents).unwrap();
        let inputs: Vec<Vec<u32>> =
            self.inputs.iter().map(|b| numbers.limbs(&self.ring, b, degree)).collect();
        let program = self.builder.finish();
        let expected = interpret(&program, &residents, &inputs, &[]).unwrap();
        for plan in plans() {
            let schedule = lower(&program, &plan, &[]).unwrap();
            let ran = run_schedule(&schedule, &self.ring, &residents, &inputs).unwrap();
            assert!(ran == expected, "{plan:?}: other words");
        }
        lower(&program, plan, &[]).unwrap()
    }
}

fn kernels(schedule: &Schedule) -> String {
    let letter = |l: &Launch| match l {
        Launch::Rows(_) => 'r',
        Launch::Columns(_) => 'c',
        Launch::Pointwise(_) => 'p',
    };
    schedule.launches.iter().map(letter).collect()
}

/// Half transforms of rows, and of columns.
fn transforms(schedule: &Schedule) -> (usize, usize) {
    let (mut rows, mut columns) = (0, 0);
    for launch in &schedule.launches {
        match launch {
            Launch::Rows(tiles) | Launch::Pointwise(tiles) => {
                let loads = tiles.iter().flat_map(|t| &t.loads);
                rows += loads.filter(|l| l.form == Form::Half).count();
                let stores = tiles.iter().flat_map(|t| &t.sums).flat_map(|s| &s.stores);
                rows += stores.filter(|s| s.form == Form::Half).count();
            }
            Launch::Columns(tiles) => {
                let loads = tiles.iter().flat_map(|t| &t.loads);
                columns += loads.filter(|(_, l)| l.form == Form::Half).count();
                let stores = tiles.iter().flat_map(|t| &t.sums).flat_map(|s| &s.stores);
                columns += stores.filter(|s| s.form == Form::Half).count();
            }
        }
    }
    (rows, columns)
}

fn rows(launch: &Launch) -> &[RowTile] {
    match launch {
        Launch::Rows(tiles) | Launch::Pointwise(tiles) => tiles,
        Launch::Columns(_) => panic!("columns"),
    }
}

#[test]
fn a_rotation_is_five_launches() {
    let mut r = Recorder::new();
    let x = r.pair(6);
    let y = r.rotate(x, 1, 5);
    r.output(y);
    let schedule = r.schedule();
    assert_eq!(kernels(&schedule), "rcrcr");
    // Six limbs back; two digits raised to six other primes each; three special limbs of each
    // part back, six forward.
    let raised = 2 * 6;
    assert_eq!(transforms(&schedule), (6 + raised + 2 * (3 + 6), 6 + raised + 2 * (3 + 6)));
    // Limbs of a digit on its own primes are read as they are, and the keys as streams.
    for tile in rows(&schedule.launches[2]) {
        let own = usize::from(tile.prime < 6);
        assert_eq!(tile.loads.len(), 2 - own);
        let streams = tile.sums.iter().flat_map(|s| &s.terms).flat_map(|t| [t.a, t.b]);
        let keys = streams.filter(
            |s| matches!(s, Some(Source::Stream(l)) if matches!(l.from, Limb::Resident { .. })),
        );
        assert_eq!(keys.count(), 4);
        assert!(tile.sums.iter().flat_map(|s| &s.stores).all(|s| s.automorphism == 5));
    }
}

#[test]
fn what_all_others_wait_for_does_no_sums_that_can_wait() {
    // One digit: on its own primes, key products are sums of what lies in memory.
    let mut r = Recorder::new();
    let x = r.pair(3);
    let y = r.rotate(x, 1, 5);
    r.output(y);
    let schedule = r.schedule();
    assert_eq!(kernels(&schedule), "rcrcr");
    let stores = |launch: usize| {
        let sums = rows(&schedule.launches[launch]).iter().flat_map(|t| &t.sums);
        sums.flat_map(|s| &s.stores).collect::<Vec<_>>()
    };
    assert_eq!(stores(0).len(), 3);
    assert!(stores(0).iter().all(|s| s.form == Form::Half));
    assert_eq!(stores(2).len(), 2 * (3 + 3));
    assert!(stores(2).iter().all(|s| s.automorphism == 5));
}

#[test]
fn a_product_is_five_launches_and_its_rescaling_none_more() {
    let mut r = Recorder::new();
    let (x, y) = (r.pair(6), r.pair(6));
    let product = r.multiply(x, y);
    r.output(product);
    let schedule = r.schedule();
    assert_eq!(kernels(&schedule), "rcrcr");
    assert_eq!(transforms(&schedule), (36, 36));
    // Products of operands are formed where they are used: the first launch stores the halves of
    // one, the last the results.
    let stores = |launch: &Launch| {
        rows(launch).iter().flat_map(|t| &t.sums).map(|s| s.stores.len()).sum::<usize>()
    };
    assert_eq!(stores(&schedule.launches[0]), 6);
    assert_eq!(stores(&schedule.launches[2]), 2 * 3);
    assert_eq!(stores(&schedule.launches[4]), 2 * 6);

    let mut r = Recorder::new();
    let (x, y) = (r.pair(6), r.pair(6));
    let product = r.multiply(x, y);
    let rescaled = r.divide_pair(product, &r.ring.basis(0..4));
    r.output(rescaled);
    assert_eq!(kernels(&r.schedule()), "rcrcr");
}

#[test]
fn a_merged_division_is_five_launches_and_a_division_three() {
    let mut r = Recorder::new();
    let x = r.pair(6);
    let digits = r.raise(x.1);
    let turned = r.turned(&digits, x.0, 1, 5);
    let merged = r.divide_pair(turned, &r.ring.basis(0..4));
    r.output(merged);
    assert_eq!(kernels(&r.schedule()), "rcrcr");

    let mut r = Recorder::new();
    let x = r.pair(6);
    let divided = r.divide_pair(x, &r.ring.basis(0..4));
    // What follows in evaluations stays in the last launch, and so does an inverse transform.
    let square = r.builder.sum(vec![Term::product(divided.1, divided.1)]).unwrap();
    r.builder.output(square);
    let schedule = r.schedule();
    assert_eq!(kernels(&schedule), "rcr");
    assert_eq!(transforms(&schedule), (2 + 4, 2 + 4));
}

#[test]
fn operations_that_follow_one_another_share_phases() {
    // Divide, then rotate: the digits of the quotient are raised where the quotient is formed.
    let mut r = Recorder::new();
    let x = r.pair(6);
    let divided = r.divide_pair(x, &r.ring.basis(0..4));
    let rotated = r.rotate(divided, 1, 5);
    r.output(rotated);
    assert_eq!(kernels(&r.schedule()), "rcrcr");

    // Independent ones share all launches; two products under one key read it together.
    let mut r = Recorder::new();
    let (x, y) = (r.pair(6), r.pair(6));
    for z in [x, y] {
        let square = r.multiply(z, z);
        r.output(square);
    }
    let schedule = r.schedule();
    assert_eq!(kernels(&schedule), "rcrcr");
    assert_eq!(rows(&schedule.launches[2]).len(), 3);
    assert_eq!(rows(&schedule.launches[4]).len(), 6);
}

#[test]
fn hoisted_rotations_transform_their_digits_once() {
    let schedule = hoisted_rotations().schedule();
    assert_eq!(kernels(&schedule), "rcrrcr");
    assert_eq!(transforms(&schedule), (36, 36));
    // Three pairs on nine primes each.
    assert_eq!(stored_evaluations(&schedule.launches[2]), 3 * 2 * 9);
}

#[test]
fn few_limbs_go_through_memory_instead_of_many_products() {
    let plan = PolyPlan { turn_operands: true, ..PolyPlan::default() };
    let schedule = hoisted_rotations().schedule_by(&plan);
    assert_eq!(kernels(&schedule), "rcrrcr");
    assert_eq!(transforms(&schedule), (36, 36));
    // Two digits on six primes that are not their own; then sums of three products.
    assert_eq!(stored_evaluations(&schedule.launches[2]), 2 * 6);
    for tile in rows(&schedule.launches[3]) {
        let moved = |sum: &&RowSum| {
            let sources = sum.terms.iter().flat_map(|t| [t.a, t.b]).flatten();
            let mut streams = sources.filter_map(|s| match s {
                Source::Stream(load) => Some(load.automorphism),
                Source::Slot(_) => None,
            });
            streams.next().is_some_and(|g| g != 1 && streams.all(|other| other == g))
        };
        assert_eq!(tile.sums.iter().filter(moved).count(), 3 * 2);
    }

    // One rotation alone would store more than it does.
    let mut r = Recorder::new();
    r.digit = 1;
    let x = r.pair(6);
    let digits = r.raise(x.1);
    let turned = r.turned(&digits, x.0, 1, 5);
    let sum = r.builder.sum(vec![Term::plus(turned.0), Term::plus(turned.1)]).unwrap();
    r.builder.output(sum);
    let schedule = r.schedule_by(&plan);
    assert_eq!(stored_evaluations(&schedule.launches[2]), 2 * 9);
}

/// Both halves of a sum of products under automorphisms are formed together, though only one of
/// them is needed at once: what is moved comes from memory for both.
#[test]
fn what_both_halves_read_under_automorphisms_is_read_once() {
    let mut r = Recorder::new();
    let x = r.pair(6);
    let basis = r.basis(x.0);
    let mut sums = [Vec::new(), Vec::new()];
    for g in [5, 25, 29, 13] {
        let moved = r.builder.automorphism(x.0, g).unwrap();
        for sum in &mut sums {
            let key = r.resident(basis.clone(), 0);
            let key = r.builder.automorphism(key, g).unwrap();
            sum.push(Term::product(moved, key));
        }
    }
    let [b, a] = sums.map(|terms| r.builder.sum(terms).unwrap());
    // a is raised first; b waits for what comes of it.
    let product = r.raise(a).into_iter().map(|(_, digit)| r.builder.limbs(digit, basis.clone()));
    let terms = product.map(|digit| Term::product(digit.unwrap(), x.1)).collect::<Vec<_>>();
    let sum = r.builder.sum([vec![Term::plus(b)], terms].concat()).unwrap();
    r.builder.output(sum);
    let schedule = r.schedule();
    let reads = |launch: &Launch| match launch {
        Launch::Columns(_) => 0,
        _ => {
            let terms = rows(launch).iter().flat_map(|t| &t.sums).flat_map(|s| &s.terms);
            let streams = terms.flat_map(|t| [t.a, t.b]).flatten();
            streams.filter(|s| matches!(s, Source::Stream(l) if l.automorphism != 1)).count()
        }
    };
    let found: Vec<usize> = schedule.launches.iter().map(reads).collect();
    assert_eq!(found, [4 * 2 * 2 * 6, 0, 0], "{}", kernels(&schedule));
}

/// Three rotations of one pair, times a diagonal each.
fn hoisted_rotations() -> Recorder {
    let mut r = Recorder::new();
    let x = r.pair(6);
    let digits = r.raise(x.1);
    let basis = r.basis(x.0);
    let mut sums = [Vec::new(), Vec::new()];
    for (key, g) in [(1, 5), (2, 25), (3, 29)] {
        let turned = r.turned(&digits, x.0, key, g);
        let all = basis.union(&r.special);
        let diagonal = r.resident(all, 2);
        sums[0].push(Term::product(turned.0, diagonal));
        sums[1].push(Term::product(turned.1, diagonal));
    }
    let [b, a] = sums.map(|terms| r.builder.sum(terms).unwrap());
    let result = r.divide_pair(Pair(b, a), &basis);
    r.output(result);
    r
}

fn stored_evaluations(launch: &Launch) -> usize {
    let stores = rows(launch).iter().flat_map(|t| &t.sums).flat_map(|s| &s.stores);
    stores.filter(|s| s.form == Form::Evaluations).count()
}

#[test]
fn giant_steps_never_return_to_evaluations() {
    let mut r = Recorder::new();
    let x = r.pair(6);
    let digits = r.raise(x.1);
    let basis = r.basis(x.0);
    let all = basis.union(&r.special);
    let baby: Vec<Pair> = [(1, 5), (2, 25)].map(|(key, g)| r.turned(&digits, x.0, key, g)).to_vec();
    let mut sum = [Vec::new(), Vec::new()];
    for (key, g) in [(3, 9), (4, 17), (5, 27)] {
        let mut terms = [Vec::new(), Vec::new()];
        for t in &baby {
            let diagonal = r.resident(all.clone(), 0);
            terms[0].push(Term::product(t.0, diagonal));
            terms[1].push(Term::product(t.1, diagonal));
        }
        let [ub, ua] = terms.map(|terms| r.builder.sum(terms).unwrap());
        let ua = r.divide(ua, &basis);
        let digits = r.raise(ua);
        let Pair(kb, ka) = r.key_product(&digits, key);
        let kb = r.builder.sum(vec![Term::plus(kb), Term::plus(ub)]).unwrap();
        sum[0].push(Term::plus(r.builder.automorphism(kb, g).unwrap()));
        sum[1].push(Term::plus(r.builder.automorphism(ka, g).unwrap()));
    }
    let [b, a] = sum.map(|terms| r.builder.sum(terms).unwrap());
    let result = r.divide_pair(Pair(b, a), &r.ring.basis(0..4));
    r.output(result);
    let schedule = r.schedule();
    // Raise; baby steps; diagonals; divide and raise; giant steps; their sum; divide.
    assert_eq!(kernels(&schedule), "rcrrcrrcr");
    let Launch::Columns(tiles) = &schedule.launches[4] else { panic!("columns") };
    assert_eq!(tiles.len(), 3 * 2);
    assert!(tiles.iter().all(|t| t.conversions.len() == 2));
}
