// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=openfhe scheme=ckks" --mlir-to-ckks=min-slot-count=64
// --scheme-to-openfhe:
//
// func.func @product(%a: tensor<3x5xf32> {secret.secret}, %b: tensor<5x2xf32> {secret.secret}) -> tensor<3x2xf32> {
//   %start = arith.constant dense<0.0> : tensor<3x2xf32>
//   %c = linalg.matmul ins(%a, %b : tensor<3x5xf32>, tensor<5x2xf32>) outs(%start : tensor<3x2xf32>) -> tensor<3x2xf32>
//   return %c : tensor<3x2xf32>
// }

!cc = !openfhe.crypto_context
!ct = !openfhe.ciphertext
!digit_decomp = !openfhe.digit_decomp
!params = !openfhe.cc_params
!pk = !openfhe.public_key
!pt = !openfhe.plaintext
!sk = !openfhe.private_key
#layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (2i0 + 3i1 + slot) mod 6 = 0 and 0 <= i0 <= 2 and 0 <= i1 <= 1 and 0 <= slot <= 63 }">
#original_type = #tensor_ext.original_type<originalType = tensor<3x2xf32>, layout = #layout>
module attributes {backend.openfhe, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} {
  func.func @product__preprocessing(%cc: !cc) -> memref<2x!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "product", roles = ["server.preprocessing"]}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant dense<[1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<64xf64>
    %cst_0 = arith.constant dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00]> : tensor<64xf64>
    %alloc = memref.alloc() : memref<2x!pt>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %cst : (!cc, tensor<64xf64>) -> !pt
    memref.store %pt, %alloc[%c0] : memref<2x!pt>
    %pt_1 = openfhe.make_ckks_packed_plaintext %cc, %cst_0 : (!cc, tensor<64xf64>) -> !pt
    memref.store %pt_1, %alloc[%c1] : memref<2x!pt>
    return %alloc : memref<2x!pt>
  }
  func.func @product__preprocessed(%cc: !cc, %arg0: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 3, 5>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<3x5xf32>, layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (5i0 - 6i1 + slot) mod 15 = 0 and 0 <= i0 <= 2 and 0 <= i1 <= 4 and 0 <= slot <= 63 }">>}, %arg1: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5, 2>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<5x2xf32>, layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (4i0 + 5i1 + slot) mod 10 = 0 and 0 <= i0 <= 4 and 0 <= i1 <= 1 and 0 <= slot <= 63 }">>}, %arg2: memref<2x!pt>) -> tensor<1x!ct> attributes {heir.interface = {func_name = "product", roles = ["client.preprocessed", "server.evaluate"]}} {
    %cst = arith.constant dense<[12, 6]> : tensor<2xindex>
    %cst_0 = arith.constant dense<[9, 3]> : tensor<2xindex>
    %cst_1 = arith.constant dense<[8, 14]> : tensor<2xindex>
    %c0 = arith.constant 0 : index
    %c22 = arith.constant 22 : index
    %c1 = arith.constant 1 : index
    %extracted = tensor.extract %arg1[%c0] : tensor<1x!ct>
    %digit_decomp = openfhe.fast_rotation_precompute %cc, %extracted : (!cc, !ct) -> !digit_decomp
    %extracted_2 = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %digit_decomp_3 = openfhe.fast_rotation_precompute %cc, %extracted_2 : (!cc, !ct) -> !digit_decomp
    %ct = openfhe.mul_no_relin %cc, %extracted, %extracted_2 : (!cc, !ct, !ct) -> !ct
    %ct_4 = openfhe.relin_inplace %cc, %ct : (!cc, !ct) -> !ct
    %digit_decomp_5 = openfhe.fast_rotation_precompute %cc, %ct_4 : (!cc, !ct) -> !digit_decomp
    %0 = tensor.empty() : tensor<2x!ct>
    %1 = scf.forall (%arg3) in (2) shared_outs(%arg4 = %0) -> (tensor<2x!ct>) {
      %extracted_28 = tensor.extract %cst_1[%arg3] : tensor<2xindex>
      %ct_29 = openfhe.fast_rotation %cc, %extracted, %extracted_28, %digit_decomp <cyclotomicOrder = 0> : (!cc, !ct, index, !digit_decomp) -> !ct
      %from_elements = tensor.from_elements %ct_29 : tensor<1x!ct>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %from_elements into %arg4[%arg3] [1] [1] : tensor<1x!ct> into tensor<2x!ct>
      }
    }
    %extracted_6 = tensor.extract %1[%c0] : tensor<2x!ct>
    %extracted_7 = tensor.extract %1[%c1] : tensor<2x!ct>
    %pt = memref.load %arg2[%c0] : memref<2x!pt>
    %pt_8 = memref.load %arg2[%c1] : memref<2x!pt>
    %2 = tensor.empty() : tensor<1x!ct>
    %3 = scf.forall (%arg3) in (2) shared_outs(%arg4 = %0) -> (tensor<2x!ct>) {
      %extracted_28 = tensor.extract %cst_0[%arg3] : tensor<2xindex>
      %ct_29 = openfhe.fast_rotation %cc, %extracted_2, %extracted_28, %digit_decomp_3 <cyclotomicOrder = 0> : (!cc, !ct, index, !digit_decomp) -> !ct
      %from_elements = tensor.from_elements %ct_29 : tensor<1x!ct>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %from_elements into %arg4[%arg3] [1] [1] : tensor<1x!ct> into tensor<2x!ct>
      }
    }
    %extracted_9 = tensor.extract %3[%c0] : tensor<2x!ct>
    %extracted_10 = tensor.extract %3[%c1] : tensor<2x!ct>
    %ct_11 = openfhe.mul_no_relin %cc, %extracted_6, %extracted_10 : (!cc, !ct, !ct) -> !ct
    %ct_12 = openfhe.relin_inplace %cc, %ct_11 : (!cc, !ct) -> !ct
    %4 = scf.forall (%arg3) in (2) shared_outs(%arg4 = %0) -> (tensor<2x!ct>) {
      %extracted_28 = tensor.extract %cst[%arg3] : tensor<2xindex>
      %ct_29 = openfhe.fast_rotation %cc, %ct_4, %extracted_28, %digit_decomp_5 <cyclotomicOrder = 0> : (!cc, !ct, index, !digit_decomp) -> !ct
      %from_elements = tensor.from_elements %ct_29 : tensor<1x!ct>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %from_elements into %arg4[%arg3] [1] [1] : tensor<1x!ct> into tensor<2x!ct>
      }
    }
    %extracted_13 = tensor.extract %4[%c0] : tensor<2x!ct>
    %extracted_14 = tensor.extract %4[%c1] : tensor<2x!ct>
    %ct_15 = openfhe.mul_no_relin %cc, %extracted_7, %extracted_9 : (!cc, !ct, !ct) -> !ct
    %ct_16 = openfhe.relin_inplace %cc, %ct_15 : (!cc, !ct) -> !ct
    %ct_17 = openfhe.add_inplace %cc, %ct_4, %ct_12 : (!cc, !ct, !ct) -> !ct
    %ct_18 = openfhe.add_inplace %cc, %extracted_14, %ct_16 : (!cc, !ct, !ct) -> !ct
    %ct_19 = openfhe.add_inplace %cc, %ct_18, %extracted_13 : (!cc, !ct, !ct) -> !ct
    %ct_20 = openfhe.add_inplace %cc, %ct_17, %ct_19 : (!cc, !ct, !ct) -> !ct
    %ct_21 = openfhe.mod_reduce %cc, %ct_20 : (!cc, !ct) -> !ct
    %ct_22 = openfhe.mul_plain %cc, %ct_21, %pt : (!cc, !ct, !pt) -> !ct
    %ct_23 = openfhe.rot %cc, %ct_20, %c22 : (!cc, !ct, index) -> !ct
    %ct_24 = openfhe.mod_reduce_inplace %cc, %ct_23 : (!cc, !ct) -> !ct
    %ct_25 = openfhe.mul_plain %cc, %ct_24, %pt_8 : (!cc, !ct, !pt) -> !ct
    %ct_26 = openfhe.add_inplace %cc, %ct_22, %ct_25 : (!cc, !ct, !ct) -> !ct
    %ct_27 = openfhe.mod_reduce_inplace %cc, %ct_26 : (!cc, !ct) -> !ct
    %inserted = tensor.insert %ct_27 into %2[%c0] : tensor<1x!ct>
    return %inserted : tensor<1x!ct>
  }
  func.func @product(%cc: !cc, %arg0: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 3, 5>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<3x5xf32>, layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (5i0 - 6i1 + slot) mod 15 = 0 and 0 <= i0 <= 2 and 0 <= i1 <= 4 and 0 <= slot <= 63 }">>}, %arg1: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5, 2>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<5x2xf32>, layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (4i0 + 5i1 + slot) mod 10 = 0 and 0 <= i0 <= 4 and 0 <= i1 <= 1 and 0 <= slot <= 63 }">>}) -> (tensor<1x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "product", input_types = [tensor<3x5xf32>, tensor<5x2xf32>], result_types = [tensor<3x2xf32>], roles = ["entry"]}} {
    %0 = call @product__preprocessing(%cc) : (!cc) -> memref<2x!pt>
    %1 = call @product__preprocessed(%cc, %arg0, %arg1, %0) : (!cc, tensor<1x!ct>, tensor<1x!ct>, memref<2x!pt>) -> tensor<1x!ct>
    return %1 : tensor<1x!ct>
  }
  func.func @product__encrypt__arg0(%cc: !cc, %arg0: tensor<3x5xf32>, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "product", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c5 = arith.constant 5 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<1x64xf32>
    %0 = scf.for %arg1 = %c0 to %c64 step %c1 iter_args(%arg2 = %cst) -> (tensor<1x64xf32>) {
      %2 = arith.remsi %arg1, %c3 : index
      %3 = arith.remsi %arg1, %c5 : index
      %extracted = tensor.extract %arg0[%2, %3] : tensor<3x5xf32>
      %inserted = tensor.insert %extracted into %arg2[%c0, %arg1] : tensor<1x64xf32>
      scf.yield %inserted : tensor<1x64xf32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
    %1 = arith.extf %extracted_slice : tensor<64xf32> to tensor<64xf64>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %1 : (!cc, tensor<64xf64>) -> !pt
    %ct = openfhe.encrypt %cc, %pt, %pk : (!cc, !pt, !pk) -> !ct
    %from_elements = tensor.from_elements %ct : tensor<1x!ct>
    return %from_elements : tensor<1x!ct>
  }
  func.func @product__encrypt__arg1(%cc: !cc, %arg0: tensor<5x2xf32>, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "product", index = 1 : i64, roles = ["client.encrypt"]}} {
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<1x64xf32>
    %0 = scf.for %arg1 = %c0 to %c64 step %c1 iter_args(%arg2 = %cst) -> (tensor<1x64xf32>) {
      %2 = arith.remsi %arg1, %c5 : index
      %3 = arith.remsi %arg1, %c2 : index
      %extracted = tensor.extract %arg0[%2, %3] : tensor<5x2xf32>
      %inserted = tensor.insert %extracted into %arg2[%c0, %arg1] : tensor<1x64xf32>
      scf.yield %inserted : tensor<1x64xf32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
    %1 = arith.extf %extracted_slice : tensor<64xf32> to tensor<64xf64>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %1 : (!cc, tensor<64xf64>) -> !pt
    %ct = openfhe.encrypt %cc, %pt, %pk : (!cc, !pt, !pk) -> !ct
    %from_elements = tensor.from_elements %ct : tensor<1x!ct>
    return %from_elements : tensor<1x!ct>
  }
  func.func @product__decrypt__result0(%cc: !cc, %arg0: tensor<1x!ct>, %sk: !sk) -> tensor<3x2xf32> attributes {heir.interface = {func_name = "product", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c58_i32 = arith.constant 58 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<3x2xf32>
    %c0_i32 = arith.constant 0 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c5_i32 = arith.constant 5 : i32
    %c6_i32 = arith.constant 6 : i32
    %c64_i32 = arith.constant 64 : i32
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %pt = openfhe.decrypt %cc, %extracted, %sk : (!cc, !ct, !sk) -> !pt
    %0 = openfhe.decode_ckks %pt : !pt -> tensor<1x64xf32>
    %1 = scf.for %arg1 = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<3x2xf32>)  : i32 {
      %2 = arith.subi %c2_i32, %arg1 : i32
      %3 = scf.for %arg3 = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%arg4 = %arg2) -> (tensor<3x2xf32>)  : i32 {
        %4 = arith.subi %c1_i32, %arg3 : i32
        %5 = arith.muli %2, %c2_i32 : i32
        %6 = arith.muli %4, %c3_i32 : i32
        %7 = arith.addi %5, %6 : i32
        %8 = arith.addi %7, %c5_i32 : i32
        %9 = arith.floordivsi %8, %c6_i32 : i32
        %10 = arith.muli %9, %c6_i32 : i32
        %11 = arith.subi %8, %10 : i32
        %12 = arith.subi %c5_i32, %11 : i32
        %13 = scf.for %arg5 = %12 to %c64_i32 step %c6_i32 iter_args(%arg6 = %arg4) -> (tensor<3x2xf32>)  : i32 {
          %14 = arith.addi %11, %c58_i32 : i32
          %15 = arith.floordivsi %14, %c6_i32 : i32
          %16 = arith.muli %15, %c6_i32 : i32
          %17 = arith.addi %12, %16 : i32
          %18 = arith.subi %arg5, %12 : i32
          %19 = arith.subi %17, %18 : i32
          %20 = arith.index_cast %19 : i32 to index
          %extracted_0 = tensor.extract %0[%c0, %20] : tensor<1x64xf32>
          %21 = arith.index_cast %2 : i32 to index
          %22 = arith.index_cast %4 : i32 to index
          %inserted = tensor.insert %extracted_0 into %arg6[%21, %22] : tensor<3x2xf32>
          scf.yield %inserted : tensor<3x2xf32>
        }
        scf.yield %13 : tensor<3x2xf32>
      }
      scf.yield %3 : tensor<3x2xf32>
    }
    return %1 : tensor<3x2xf32>
  }
  func.func @product__generate_crypto_context() -> !cc {
    %params = openfhe.gen_params  <mulDepth = 2, plainMod = 0, firstModSize = 55, scalingModSize = 45> : () -> !params
    %cc = openfhe.gen_context %params <supportFHE = false> : (!params) -> !cc
    return %cc : !cc
  }
  func.func @product__configure_crypto_context(%cc: !cc, %sk: !sk) -> !cc {
    openfhe.gen_mulkey %cc, %sk : (!cc, !sk) -> ()
    openfhe.gen_rotkey %cc, %sk <indices = [14, 9, 6, 8, 22, 3, 12]> : (!cc, !sk) -> ()
    return %cc : !cc
  }
}

