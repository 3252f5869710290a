//! Every kernel of every conformance shape validates, translates to SPIR-V, Metal and HLSL, and keeps to its plan.

use girih_backend::BackendError;
use girih_conformance::shapes;
use girih_wgpu::{desktop_gpu, kernel_variants};

#[test]
fn every_kernel_translates_and_keeps_to_its_plan() {
    let (mut within_webgpu, mut larger) = (0, 0);
    for case in shapes::all() {
        let named = [(case.name.to_string(), case.shape)];
        let variants = match kernel_variants(&named, None) {
            Ok(variants) => {
                within_webgpu += 1;
                variants
            }
            Err(BackendError::DoesNotFit { .. }) => {
                larger += 1;
                kernel_variants(&named, Some(&desktop_gpu())).expect("fits a desktop GPU")
            }
            Err(error) => panic!("{}: {error}", named[0].0),
        };
        for variant in variants {
            let name = format!("{} {} {} traced {}", variant.set, variant.kernel.name(), variant.profile, variant.traced);
            let found = variant.check().unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(found.spirv_words > 0 && found.msl_bytes > 0 && found.hlsl_bytes > 0, "{name}");
        }
    }
    assert!(within_webgpu > larger, "{within_webgpu} shapes within WebGPU's default limits, {larger} beyond");
}
