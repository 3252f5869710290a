//! Which plans a shape gets: the splits that are loaded beside each other, and the plans that are
//! worth measuring.

use crate::bootstrap::layout::packed_exponent;
use crate::bootstrap::plan::knobs::{self, GROUPS, SPREAD, choice, is_of_both_splits};
use crate::bootstrap::plan::{CudaPlan, Planner, Split};
use girih_backend::{PlanRequest, Result, Transform};

impl Planner<'_> {
    /// The plans that `request` allows, throughput first: each batch goes to the one that is
    /// fastest for it.
    ///
    /// # Errors
    /// As [`Planner::whole`] and [`Planner::over_blocks`] where no plan is left.
    pub fn candidates(&self, request: &PlanRequest) -> Result<Vec<CudaPlan>> {
        // Where the split over blocks is one of several, its refusals leave the others; a choice
        // that none has is the request's own fault.
        knobs::check(self.device, request)?;
        // What is asked of groups or teams is asked of whole ciphertexts alone; choices by name
        // leave the other splits in place.
        let fixed = request.groups.is_some() || request.subgroups_per_polynomial.is_some();
        match choice(request, SPREAD) {
            Some(0) => return Ok(vec![self.whole(request)?]),
            Some(_) => return Ok(vec![self.over_blocks(request)?]),
            None if fixed => return Ok(vec![self.whole(request)?]),
            None => {}
        }
        // All splits read one key, and differ in what only some of them have.
        let mut shared = request.clone();
        shared.choices.retain(|name, _| is_of_both_splits(name));
        match (self.whole(request), self.over_blocks(&shared)) {
            (Ok(whole), over) => {
                let over = over.ok();
                let others = splits_beside(whole.split, over.as_ref().map(|plan| plan.split));
                let others = others.into_iter().filter_map(|split| match split {
                    Split::Ciphertexts(groups) => self.alone(&whole, groups),
                    Split::Blocks(blocks) => {
                        let mut request = shared.clone();
                        request.choices.insert(SPREAD.to_owned(), blocks as u32);
                        self.over_blocks(&request).ok()
                    }
                });
                let others: Vec<CudaPlan> = others.collect();
                Ok(std::iter::once(whole).chain(others).collect())
            }
            // A choice that whole ciphertexts a block cannot honour is refused, not ignored.
            (Err(_), Ok(over)) if shared == *request => Ok(vec![over]),
            (Err(error), _) => Err(error),
        }
    }

    /// A plan with `groups` ciphertexts on a multiprocessor, under the key of `whole`.
    fn alone(&self, whole: &CudaPlan, groups: usize) -> Option<CudaPlan> {
        let packed = (self.transform == Transform::Fft)
            .then(|| ("packed".to_owned(), u32::from(whole.packed)));
        let choices = [("blocks".to_owned(), 1)].into_iter().chain(packed).collect();
        self.whole(&PlanRequest { groups: Some(groups), choices, ..Default::default() }).ok()
    }

    /// The plans worth measuring, the model's own first: ciphertexts a block, blocks a
    /// multiprocessor, key entries in flight, and, for the f64 FFT, where cosines are multiplied,
    /// whether keys are packed, and whether blocks keep step.
    pub fn alternatives(&self) -> Vec<PlanRequest> {
        let plan = |choices: &[(&str, usize)]| {
            let choices =
                choices.iter().map(|&(name, value)| (name.to_owned(), value as u32)).collect();
            let request = PlanRequest { choices, ..Default::default() };
            self.whole(&request).ok().map(|plan| (request, plan))
        };
        // What the model would choose is asked for by name, so that a stored plan outlives a change
        // of the model.
        let mut all: Vec<(PlanRequest, CudaPlan)> = Vec::new();
        let mut add = |choices: &[(&str, usize)]| match plan(choices) {
            Some(found) if all.iter().all(|(_, plan)| *plan != found.1) => all.push(found),
            _ => {}
        };
        let models = [None, Some(4), Some(3), Some(2), Some(1)]
            .map(|g| plan(&g.map_or(vec![], |g| vec![(GROUPS, g)])));
        for (_, model) in models.into_iter().flatten() {
            let choices = self.named(&model);
            add(&choices);
            let variation = |name: &str, value: usize| -> Vec<(&str, usize)> {
                choices.iter().map(|&(n, v)| (n, if n == name { value } else { v })).collect()
            };
            let blocks = model.blocks_per_multiprocessor;
            for blocks in [blocks + 1, blocks.saturating_sub(1)] {
                add(&variation("blocks", blocks));
            }
            for ring in [0, 4, 6, 8, 10, 12, 16] {
                add(&variation("ring", ring));
            }
            for (name, value) in [
                ("cosines", usize::from(!model.defer_cosines)),
                ("packed", usize::from(!model.packed)),
                ("pace", if model.pace > 1 { 1 } else { 2 }),
            ] {
                if choices.iter().any(|(known, _)| *known == name) {
                    add(&variation(name, value));
                }
            }
        }
        all.into_iter().map(|(request, _)| request).collect()
    }

    /// The choices that spell `plan` out.
    fn named(&self, plan: &CudaPlan) -> Vec<(&'static str, usize)> {
        let mut choices = vec![
            (GROUPS, plan.split.ciphertexts()),
            ("blocks", plan.blocks_per_multiprocessor),
            ("ring", plan.key_ring),
        ];
        if packed_exponent(self.shape, self.transform).is_some() {
            choices.push(("packed", usize::from(plan.packed)));
        }
        if self.transform == Transform::Fft {
            choices.push(("cosines", usize::from(plan.defer_cosines)));
            if self.cluster > 1 {
                choices.push(("pace", plan.pace));
            }
        }
        choices
    }
}

/// The splits that serve small batches and what whole waves leave, beside the one for throughput
/// and the model's own over blocks, where there is one: half of the ciphertexts and a single one on
/// a multiprocessor, then a ciphertext over a whole cluster and over a pair.
fn splits_beside(whole: Split, over: Option<Split>) -> Vec<Split> {
    let groups = whole.ciphertexts();
    let half = (groups / 2 > 1).then_some(Split::Ciphertexts(groups / 2));
    let single = (groups > 1).then_some(Split::Ciphertexts(1));
    let pair = over.filter(|split| split.blocks() > 2).map(|_| Split::Blocks(2));
    [half, single, over, pair].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::limits::{MAX_CLUSTER, limits_of};
    use crate::bootstrap::plan::knobs::SPREAD_ITEMS;
    use crate::bootstrap::plan::only_transform;
    use crate::bootstrap::test_shapes;
    use girih_backend::{BootstrapShape, DeviceLimits, SecretKind};

    fn planner<'a>(
        shape: &'a BootstrapShape,
        transform: Transform,
        limits: &'a DeviceLimits,
    ) -> Planner<'a> {
        Planner { device: "cuda", shape, transform, limits, cluster: MAX_CLUSTER }
    }

    fn chosen(choices: &[(&str, u32)]) -> PlanRequest {
        let choices = choices.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
        PlanRequest { choices, ..Default::default() }
    }

    /// What a device would take of its own accord must be what its kernels run.
    #[test]
    fn shapes_that_one_transform_runs_have_only_that() {
        let limits = limits_of(90);
        for name in ["word_3x7", "words_1x25", "raised_16", "torus"] {
            for grouping in [1, 2, 3, 4] {
                let secret = SecretKind::Binary;
                let mut shape = BootstrapShape { grouping, secret, ..test_shapes::shape(name, 1) };
                shape.lwe_dimension = shape.lwe_dimension.next_multiple_of(12);
                let request = PlanRequest::default();
                let both = [Transform::Ntt, Transform::Fft].map(|transform| {
                    planner(&shape, transform, &limits).candidates(&request).is_ok()
                });
                let expected = match only_transform(&shape) {
                    Some(Transform::Fft) => [false, true],
                    Some(Transform::Ntt) => [true, false],
                    None => [true, true],
                };
                assert_eq!(both, expected, "{name}, {grouping} indices a step");
            }
        }
    }

    #[test]
    fn splits_are_a_list() {
        use Split::{Blocks, Ciphertexts};
        let beside =
            |groups, blocks: Option<usize>| splits_beside(Ciphertexts(groups), blocks.map(Blocks));
        assert_eq!(beside(4, Some(8)), [Ciphertexts(2), Ciphertexts(1), Blocks(8), Blocks(2)]);
        assert_eq!(beside(3, Some(4)), [Ciphertexts(1), Blocks(4), Blocks(2)]);
        assert_eq!(beside(2, Some(2)), [Ciphertexts(1), Blocks(2)]);
        assert_eq!(beside(1, Some(1)), [Blocks(1)]);
        assert!(beside(1, None).is_empty());
    }

    #[test]
    fn alternatives_begin_with_the_model_and_keep_every_split() {
        let limits = limits_of(90);
        for (name, packing) in [
            ("word_3x7", 1),
            ("words_1x25", 1),
            ("word_5x5", 1),
            ("raised_18_k3", 5),
            ("raised_16", 3),
            ("torus", 1),
        ] {
            let shape = test_shapes::shape(name, packing);
            for transform in [Transform::Fft, Transform::Ntt] {
                let planner = planner(&shape, transform, &limits);
                let all = planner.alternatives();
                let Ok(model) = planner.whole(&PlanRequest::default()) else {
                    assert!(all.is_empty());
                    continue;
                };
                assert!(all.len() >= 3, "{name} {transform}: {all:?}");
                let found: Vec<CudaPlan> = all
                    .iter()
                    .map(|request| planner.whole(request).expect("it was planned"))
                    .collect();
                assert_eq!(found[0], model, "{name} {transform}");
                assert!(
                    found.iter().enumerate().all(|(i, p)| !found[..i].contains(p)),
                    "{name} {transform}: one plan twice"
                );
                for request in &all {
                    let candidates = planner.candidates(request).expect("it was planned");
                    assert!(
                        candidates.iter().any(|plan| plan.split.is_spread()),
                        "{name} {transform} {request}: no split for small batches"
                    );
                }
            }
        }
    }

    #[test]
    fn blocks_keep_step_only_under_heavy_keys_and_in_clusters() {
        let limits = limits_of(90);
        for (name, r, paces) in [
            ("raised_18_k2", 4, [2, 1]),
            ("word_3x7", 3, [2, 1]),
            ("raised_18_k3", 5, [1, 1]),
            ("raised_19_k3", 5, [1, 1]),
            ("word_3x8", 4, [1, 1]),
        ] {
            let shape = test_shapes::shape(name, r);
            for (cluster, pace) in [MAX_CLUSTER, 1].into_iter().zip(paces) {
                let planner = Planner { cluster, ..planner(&shape, Transform::Fft, &limits) };
                let plan = planner.whole(&PlanRequest::default()).expect("it fits");
                assert_eq!(plan.pace, pace, "{name} r={r}, clusters of {cluster}");
                let asked = planner.whole(&chosen(&[("pace", 4)]));
                match cluster {
                    1 => assert!(
                        asked.expect_err("no clusters").to_string().contains("sm_90"),
                        "{name}"
                    ),
                    _ => assert_eq!(asked.expect("it fits").pace, 4, "{name}"),
                }
            }
        }
    }

    #[test]
    fn a_choice_that_no_kernel_honours_is_refused_by_name() {
        let (shape, limits) = (test_shapes::shape("word_3x7", 1), limits_of(90));
        let planner = planner(&shape, Transform::Fft, &limits);
        for (name, value) in [
            ("ring", 7),
            ("ring", 25),
            ("blocks", 0),
            ("rings", 4),
            ("pace", 3),
            (SPREAD_ITEMS, 3),
            (SPREAD, 3),
            (GROUPS, 0),
        ] {
            let error = planner.candidates(&chosen(&[(name, value)])).expect_err(name).to_string();
            let what = if name == SPREAD { "3 blocks" } else { name };
            assert!(error.contains(what), "{error}");
        }
        for value in [0, usize::MAX] {
            let open = PlanRequest::default();
            for request in [
                PlanRequest { groups: Some(value), ..open.clone() },
                PlanRequest { subgroups_per_polynomial: Some(value), ..open },
            ] {
                let error = planner.candidates(&request).expect_err("out of range").to_string();
                assert!(error.contains(&format!("= {value}")), "{error}");
            }
        }
    }

    /// A kernel that takes the key for another layout than the first plan's reads past its end.
    #[test]
    fn all_splits_of_a_shape_read_one_key() {
        let limits = limits_of(90);
        for name in test_shapes::names() {
            for r in [1, 2, 5] {
                let shape = test_shapes::shape(name, r);
                for choices in [
                    &[][..],
                    &[("packed", 0)],
                    &[("packed", 1)],
                    &[("ring", 0)],
                    &[("packed", 1), ("blocks", 1)],
                ] {
                    let planner = planner(&shape, Transform::Fft, &limits);
                    let Ok(plans) = planner.candidates(&chosen(choices)) else { continue };
                    assert!(
                        plans.iter().all(|p| p.packed == plans[0].packed),
                        "{name} r={r} {choices:?}"
                    );
                    assert!(
                        plans.iter().any(|p| p.split.is_spread()),
                        "{name} r={r} {choices:?} leaves no split over blocks"
                    );
                }
            }
        }
    }
}
