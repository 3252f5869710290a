//! Every kernel of every conformance shape validates, translates to SPIR-V, Metal and HLSL, and
//! keeps to its plan.

use girih::tfhe::ParameterSet;
use girih_backend::{BackendError, PlanRequest};
use girih_conformance::shapes;
use girih_wgpu::{
    Kernel, KernelCheck, KernelVariant, Profile, Rolled, Target, Vendor, WgpuPlan, desktop_gpu,
    kernel_variants, mobile_gpu, poly_builds,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// What the check of a text under a plan found: shapes share kernels, and tests share shapes.
fn checked(variant: &KernelVariant) -> Result<KernelCheck, String> {
    type Planned = (String, Profile, usize, usize);
    static FOUND: LazyLock<Mutex<HashMap<Planned, KernelCheck>>> = LazyLock::new(Mutex::default);
    let found = || FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let (kernel, plan) = (variant.kernel, &variant.plan);
    let (bytes, threads) = (kernel.workgroup_bytes(plan), kernel.workgroup_threads(plan));
    let planned = (variant.wgsl.clone(), variant.profile, bytes, threads);
    let before = found().get(&planned).cloned();
    if let Some(check) = before {
        return Ok(check);
    }
    let check = variant.check()?;
    found().insert(planned, check.clone());
    Ok(check)
}

#[test]
fn every_kernel_translates_and_keeps_to_its_plan() {
    let (mut within_webgpu, mut larger) = (0, 0);
    // Of groups and of the native torus what is not like another; sets are below.
    let chosen = ["gd_std128_group_2", "gd_31_bits_group_4", "torus_ternary"];
    let further = shapes::grouped().into_iter().chain(shapes::torus());
    let further = further.filter(|case| chosen.contains(&case.name));
    let torus = shapes::torus_in_integers();
    let mut all = Vec::new();
    for case in shapes::all().into_iter().chain(further).chain(torus) {
        let named = [(case.name.to_string(), case.shape)];
        all.extend(match kernel_variants(&named, None, Vendor::Nvidia, &PlanRequest::default()) {
            Ok(variants) => {
                within_webgpu += 1;
                variants
            }
            Err(BackendError::DoesNotFit { .. }) => {
                larger += 1;
                kernel_variants(
                    &named,
                    Some(&desktop_gpu()),
                    Vendor::Nvidia,
                    &PlanRequest::default(),
                )
                .expect("fits a desktop GPU")
            }
            Err(error) => panic!("{}: {error}", named[0].0),
        });
    }
    let check = |variant: &KernelVariant| {
        let name = format!(
            "{} {} {} traced {}",
            variant.set,
            variant.kernel.label(),
            variant.profile,
            variant.traced
        );
        let found = checked(variant).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(found.spirv_words > 0 && found.msl_bytes > 0 && found.hlsl_bytes > 0, "{name}");
    };
    // A minute of one thread.
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(variant) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            check(variant);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    assert!(
        within_webgpu > larger,
        "{within_webgpu} shapes within WebGPU's default limits, {larger} beyond"
    );
}

/// The sets of GPUs at the packing they are run at; what every browser grants is enough for each.
#[test]
fn sets_run_within_the_default_limits_of_webgpu() {
    let packed = [("M1", 3), ("M2", 2), ("M3", 5), ("M4", 4), ("M5", 5), ("M6", 2)];
    let single = ["STD128", "G1", "G2", "G3", "G4", "G5", "TFHERS_2_2", "TFHERS_2_2_GROUP_2"]
        .map(|name| (name, 1));
    for (name, packing) in single.into_iter().chain(packed) {
        let set = ParameterSet::by_name(name)
            .and_then(|set| set.with_packing(packing))
            .expect("a built-in set");
        let variants = kernel_variants(
            &[(name.to_string(), set.shape().clone())],
            None,
            Vendor::Nvidia,
            &PlanRequest::default(),
        )
        .unwrap_or_else(|e| panic!("{name}: {e}"));
        for variant in variants.iter().filter(|v| !v.traced) {
            let found = checked(variant).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(
                found.workgroup_bytes <= 16 << 10
                    && found.workgroup_threads <= 256
                    && found.storage_buffers <= 8,
                "{name}: {found:?}"
            );
        }
    }
}

/// What a vendor's compiler makes of a form of words decides which one is taken, and never what
/// comes out: `alternatives` has all forms for each of them.
#[test]
fn plans_follow_the_compiler_of_the_vendor() {
    let set = ParameterSet::by_name("STD128").expect("built in");
    let device = &desktop_gpu();
    let form = |vendor, profile| {
        let target = Target { device, vendor, profile };
        let plan = WgpuPlan::new(set.shape(), target, &PlanRequest::default(), None);
        let plan = plan.expect("it fits");
        (plan.signed, plan.tile.items_per_thread)
    };
    for vendor in [Vendor::Nvidia, Vendor::Other] {
        assert_eq!(form(vendor, Profile::Int64), (true, 8), "{vendor:?}");
        assert_eq!(form(vendor, Profile::Core), (true, 4), "{vendor:?}");
    }
    assert_eq!(form(Vendor::Amd, Profile::Int64), (false, 4));
    assert_eq!(form(Vendor::Amd, Profile::Core), (false, 4));
    assert_eq!(form(Vendor::Intel, Profile::Int64), (false, 4));
    assert_eq!(form(Vendor::Intel, Profile::Core), (true, 4));
    // Of many columns, one polynomial an exchange where two spill.
    let chosen = |name: &str, packing, vendor, profile| {
        let set = ParameterSet::by_name(name).expect("built in");
        let set = set.with_packing(packing).expect("a packing of it");
        let target = Target { device, vendor, profile };
        let plan = WgpuPlan::new(set.shape(), target, &PlanRequest::default(), None);
        let plan = plan.expect("it fits");
        (plan.tile.staged, plan.rolled, plan.signed, plan.looped)
    };
    assert_eq!(chosen("M5", 5, Vendor::Nvidia, Profile::Core).0, 2);
    assert_eq!(chosen("M5", 5, Vendor::Amd, Profile::Core), (1, Rolled::Columns, false, false));
    assert_eq!(chosen("M5", 5, Vendor::Intel, Profile::Core), (1, Rolled::Columns, false, false));
    assert_eq!(chosen("M5", 5, Vendor::Amd, Profile::Int64).0, 2);
    // Of few columns and several primes likewise, on Intel.
    assert_eq!(chosen("G4", 1, Vendor::Intel, Profile::Core), (1, Rolled::Columns, false, false));
    assert_eq!(chosen("STD128", 1, Vendor::Intel, Profile::Core).1, Rolled::Nothing);
    // Primes of the native torus by a loop, one by one, or columns by a loop.
    let torus = |vendor, profile| chosen("GIRIH_GATE", 1, vendor, profile);
    assert!(torus(Vendor::Nvidia, Profile::Int64).3);
    assert_eq!(torus(Vendor::Intel, Profile::Int64), (2, Rolled::Nothing, false, false));
    assert_eq!(torus(Vendor::Intel, Profile::Core), (1, Rolled::Columns, false, false));
    let numbers = [0x10DE, 0x1002, 0x8086, 0x13B5].map(Vendor::of);
    assert_eq!(numbers, [Vendor::Nvidia, Vendor::Amd, Vendor::Intel, Vendor::Other]);
}

/// What docs/guide/gpus.md says of small GPUs: every set of gates and integers fits them, rows of
/// CKKS do not.
#[test]
fn every_set_keeps_to_the_limits_of_small_gpus() {
    for kibibytes in [16, 32] {
        let device = &mobile_gpu(kibibytes);
        for set in ParameterSet::all() {
            let target = Target { device, vendor: Vendor::Other, profile: Profile::Core };
            let plan = WgpuPlan::new(set.shape(), target, &PlanRequest::default(), None);
            let plan = plan.unwrap_or_else(|e| panic!("{}: {e}", set.name()));
            for kernel in Kernel::of(&plan) {
                let (threads, bytes) =
                    (kernel.workgroup_threads(&plan), kernel.workgroup_bytes(&plan));
                let name = format!("{} {}: {threads}, {bytes}", set.name(), kernel.label());
                assert!(threads <= 128 && bytes <= (kibibytes << 10) as usize, "{name}");
            }
        }
    }
    let rows = poly_builds(15, Vendor::Other).into_iter().filter(|build| build.threads() > 128);
    assert!(rows.count() > 0, "CKKS runs on small GPUs: tell it in docs/guide/gpus.md");
}
