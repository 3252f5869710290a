// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=openfhe scheme=ckks" --mlir-to-ckks=min-slot-count=32
// --scheme-to-openfhe:
//
// func.func @two(%x: tensor<8xf32> {secret.secret}, %y: f32 {secret.secret}, %k: f32) -> (tensor<8xf32>, f32) {
//   %one = arith.constant dense<1.0> : tensor<8xf32>
//   %r = arith.subf %one, %x : tensor<8xf32>
//   %z = arith.mulf %y, %y : f32
//   %w = arith.mulf %z, %k : f32
//   return %r, %w : tensor<8xf32>, f32
// }

!cc = !openfhe.crypto_context
!ct = !openfhe.ciphertext
!params = !openfhe.cc_params
!pk = !openfhe.public_key
!pt = !openfhe.plaintext
!sk = !openfhe.private_key
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">
#layout1 = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and 0 <= slot <= 31 }">
#original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = f32, layout = #layout1>
module attributes {backend.openfhe, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 32 : i64} {
  func.func @two__preprocessing(%cc: !cc, %arg0: f32) -> memref<2x!pt> attributes {heir.interface = {entry_arg_indices = array<i64: 2>, func_name = "two", roles = ["server.preprocessing"]}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant dense<1.000000e+00> : tensor<32xf64>
    %alloc = memref.alloc() : memref<2x!pt>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %cst : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt, %alloc[%c0] : memref<2x!pt>
    %splat = tensor.splat %arg0 : tensor<32xf32>
    %0 = arith.extf %splat : tensor<32xf32> to tensor<32xf64>
    %pt_0 = openfhe.make_ckks_packed_plaintext %cc, %0 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_0, %alloc[%c1] : memref<2x!pt>
    return %alloc : memref<2x!pt>
  }
  func.func @two__preprocessed(%cc: !cc, %arg0: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: tensor<1x!ct> {tensor_ext.original_type = #original_type1}, %arg2: f32, %arg3: memref<2x!pt>) -> (tensor<1x!ct>, tensor<1x!ct>) attributes {heir.interface = {func_name = "two", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pt = memref.load %arg3[%c0] : memref<2x!pt>
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %ct = openfhe.sub_plain_inplace %cc, %pt, %extracted : (!cc, !pt, !ct) -> !ct
    %pt_0 = memref.load %arg3[%c1] : memref<2x!pt>
    %extracted_1 = tensor.extract %arg1[%c0] : tensor<1x!ct>
    %ct_2 = openfhe.mul_plain %cc, %extracted_1, %pt_0 : (!cc, !ct, !pt) -> !ct
    %ct_3 = openfhe.mod_reduce_inplace %cc, %ct_2 : (!cc, !ct) -> !ct
    %ct_4 = openfhe.mul_plain %cc, %extracted_1, %pt : (!cc, !ct, !pt) -> !ct
    %ct_5 = openfhe.mod_reduce_inplace %cc, %ct_4 : (!cc, !ct) -> !ct
    %ct_6 = openfhe.mul_no_relin %cc, %ct_3, %ct_5 : (!cc, !ct, !ct) -> !ct
    %ct_7 = openfhe.relin_inplace %cc, %ct_6 : (!cc, !ct) -> !ct
    %ct_8 = openfhe.mul_plain %cc, %ct, %pt : (!cc, !ct, !pt) -> !ct
    %0 = tensor.empty() : tensor<1x!ct>
    %ct_9 = openfhe.mod_reduce_inplace %cc, %ct_8 : (!cc, !ct) -> !ct
    %inserted = tensor.insert %ct_9 into %0[%c0] : tensor<1x!ct>
    %ct_10 = openfhe.mod_reduce_inplace %cc, %ct_7 : (!cc, !ct) -> !ct
    %inserted_11 = tensor.insert %ct_10 into %0[%c0] : tensor<1x!ct>
    return %inserted, %inserted_11 : tensor<1x!ct>, tensor<1x!ct>
  }
  func.func @two(%cc: !cc, %arg0: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: tensor<1x!ct> {tensor_ext.original_type = #original_type1}, %arg2: f32) -> (tensor<1x!ct> {tensor_ext.original_type = #original_type}, tensor<1x!ct> {tensor_ext.original_type = #original_type1}) attributes {heir.interface = {func_name = "two", input_types = [tensor<8xf32>, f32, f32], result_types = [tensor<8xf32>, f32], roles = ["entry"]}} {
    %0 = call @two__preprocessing(%cc, %arg2) : (!cc, f32) -> memref<2x!pt>
    %1:2 = call @two__preprocessed(%cc, %arg0, %arg1, %arg2, %0) : (!cc, tensor<1x!ct>, tensor<1x!ct>, f32, memref<2x!pt>) -> (tensor<1x!ct>, tensor<1x!ct>)
    return %1#0, %1#1 : tensor<1x!ct>, tensor<1x!ct>
  }
  func.func @two__encrypt__arg0(%cc: !cc, %arg0: tensor<8xf32>, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "two", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<1x32xf32>
    %c8_i32 = arith.constant 8 : i32
    %c32_i32 = arith.constant 32 : i32
    %c0 = arith.constant 0 : index
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x32xf32>)  : i32 {
      %2 = scf.for %arg3 = %arg1 to %c32_i32 step %c8_i32 iter_args(%arg4 = %arg2) -> (tensor<1x32xf32>)  : i32 {
        %3 = arith.index_cast %arg1 : i32 to index
        %extracted = tensor.extract %arg0[%3] : tensor<8xf32>
        %4 = arith.index_cast %arg3 : i32 to index
        %inserted = tensor.insert %extracted into %arg4[%c0, %4] : tensor<1x32xf32>
        scf.yield %inserted : tensor<1x32xf32>
      }
      scf.yield %2 : tensor<1x32xf32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> to tensor<32xf32>
    %1 = arith.extf %extracted_slice : tensor<32xf32> to tensor<32xf64>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %1 : (!cc, tensor<32xf64>) -> !pt
    %ct = openfhe.encrypt %cc, %pt, %pk : (!cc, !pt, !pk) -> !ct
    %from_elements = tensor.from_elements %ct : tensor<1x!ct>
    return %from_elements : tensor<1x!ct>
  }
  func.func @two__encrypt__arg1(%cc: !cc, %arg0: f32, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "two", index = 1 : i64, roles = ["client.encrypt"]}} {
    %splat = tensor.splat %arg0 : tensor<32xf32>
    %0 = arith.extf %splat : tensor<32xf32> to tensor<32xf64>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %0 : (!cc, tensor<32xf64>) -> !pt
    %ct = openfhe.encrypt %cc, %pt, %pk : (!cc, !pt, !pk) -> !ct
    %from_elements = tensor.from_elements %ct : tensor<1x!ct>
    return %from_elements : tensor<1x!ct>
  }
  func.func @two__decrypt__result0(%cc: !cc, %arg0: tensor<1x!ct>, %sk: !sk) -> tensor<8xf32> attributes {heir.interface = {func_name = "two", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c24_i32 = arith.constant 24 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<8xf32>
    %c0_i32 = arith.constant 0 : i32
    %c7_i32 = arith.constant 7 : i32
    %c1_i32 = arith.constant 1 : i32
    %c8_i32 = arith.constant 8 : i32
    %c32_i32 = arith.constant 32 : i32
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %pt = openfhe.decrypt %cc, %extracted, %sk : (!cc, !ct, !sk) -> !pt
    %0 = openfhe.decode_ckks %pt : !pt -> tensor<1x32xf32>
    %1 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<8xf32>)  : i32 {
      %2 = arith.subi %c7_i32, %arg1 : i32
      %3 = scf.for %arg3 = %2 to %c32_i32 step %c8_i32 iter_args(%arg4 = %arg2) -> (tensor<8xf32>)  : i32 {
        %4 = arith.addi %arg1, %c24_i32 : i32
        %5 = arith.floordivsi %4, %c8_i32 : i32
        %6 = arith.muli %5, %c8_i32 : i32
        %7 = arith.addi %2, %6 : i32
        %8 = arith.subi %arg3, %2 : i32
        %9 = arith.subi %7, %8 : i32
        %10 = arith.index_cast %9 : i32 to index
        %extracted_0 = tensor.extract %0[%c0, %10] : tensor<1x32xf32>
        %11 = arith.index_cast %2 : i32 to index
        %inserted = tensor.insert %extracted_0 into %arg4[%11] : tensor<8xf32>
        scf.yield %inserted : tensor<8xf32>
      }
      scf.yield %3 : tensor<8xf32>
    }
    return %1 : tensor<8xf32>
  }
  func.func @two__decrypt__result1(%cc: !cc, %arg0: tensor<1x!ct>, %sk: !sk) -> f32 attributes {heir.interface = {func_name = "two", index = 1 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %pt = openfhe.decrypt %cc, %extracted, %sk : (!cc, !ct, !sk) -> !pt
    %0 = openfhe.decode_ckks %pt : !pt -> tensor<1x32xf32>
    %extracted_0 = tensor.extract %0[%c0, %c0] : tensor<1x32xf32>
    return %extracted_0 : f32
  }
  func.func @two__generate_crypto_context() -> !cc {
    %params = openfhe.gen_params  <mulDepth = 2, plainMod = 0, firstModSize = 55, scalingModSize = 45> : () -> !params
    %cc = openfhe.gen_context %params <supportFHE = false> : (!params) -> !cc
    return %cc : !cc
  }
  func.func @two__configure_crypto_context(%cc: !cc, %sk: !sk) -> !cc {
    openfhe.gen_mulkey %cc, %sk : (!cc, !sk) -> ()
    return %cc : !cc
  }
}

