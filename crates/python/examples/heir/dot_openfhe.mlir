// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=openfhe scheme=ckks" --mlir-to-ckks=min-slot-count=32
// --scheme-to-openfhe:
//
// func.func @dot(%a: tensor<8xf32> {secret.secret}, %b: tensor<8xf32> {secret.secret}) -> f32 {
//   %start = arith.constant dense<1.0e-01> : tensor<f32>
//   %sum = linalg.dot ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%start : tensor<f32>) -> tensor<f32>
//   %result = tensor.extract %sum[] : tensor<f32>
//   return %result : f32
// }

!cc = !openfhe.crypto_context
!ct = !openfhe.ciphertext
!params = !openfhe.cc_params
!pk = !openfhe.public_key
!pt = !openfhe.plaintext
!sk = !openfhe.private_key
#layout = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and slot = 0 }">
#original_type = #tensor_ext.original_type<originalType = f32, layout = #layout>
module attributes {backend.openfhe, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 32 : i64} {
  func.func @dot__preprocessing(%cc: !cc) -> memref<2x!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "dot", roles = ["server.preprocessing"]}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant dense<0.10000000149011612> : tensor<32xf64>
    %cst_0 = arith.constant dense<[1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<32xf64>
    %alloc = memref.alloc() : memref<2x!pt>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %cst : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt, %alloc[%c0] : memref<2x!pt>
    %pt_1 = openfhe.make_ckks_packed_plaintext %cc, %cst_0 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_1, %alloc[%c1] : memref<2x!pt>
    return %alloc : memref<2x!pt>
  }
  func.func @dot__preprocessed(%cc: !cc, %arg0: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">>}, %arg1: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">>}, %arg2: memref<2x!pt>) -> tensor<1x!ct> attributes {heir.interface = {func_name = "dot", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %extracted_0 = tensor.extract %arg1[%c0] : tensor<1x!ct>
    %ct = openfhe.mul_no_relin %cc, %extracted, %extracted_0 : (!cc, !ct, !ct) -> !ct
    %ct_1 = openfhe.relin_inplace %cc, %ct : (!cc, !ct) -> !ct
    %ct_2 = openfhe.rot %cc, %ct_1, %c1 : (!cc, !ct, index) -> !ct
    %ct_3 = openfhe.add_inplace %cc, %ct_1, %ct_2 : (!cc, !ct, !ct) -> !ct
    %ct_4 = openfhe.rot %cc, %ct_3, %c2 : (!cc, !ct, index) -> !ct
    %ct_5 = openfhe.add_inplace %cc, %ct_3, %ct_4 : (!cc, !ct, !ct) -> !ct
    %ct_6 = openfhe.rot %cc, %ct_5, %c4 : (!cc, !ct, index) -> !ct
    %pt = memref.load %arg2[%c0] : memref<2x!pt>
    %ct_7 = openfhe.add_plain_inplace %cc, %ct_5, %pt : (!cc, !ct, !pt) -> !ct
    %ct_8 = openfhe.add_inplace %cc, %ct_7, %ct_6 : (!cc, !ct, !ct) -> !ct
    %ct_9 = openfhe.mod_reduce_inplace %cc, %ct_8 : (!cc, !ct) -> !ct
    %pt_10 = memref.load %arg2[%c1] : memref<2x!pt>
    %ct_11 = openfhe.mul_plain %cc, %ct_9, %pt_10 : (!cc, !ct, !pt) -> !ct
    %0 = tensor.empty() : tensor<1x!ct>
    %ct_12 = openfhe.mod_reduce_inplace %cc, %ct_11 : (!cc, !ct) -> !ct
    %inserted = tensor.insert %ct_12 into %0[%c0] : tensor<1x!ct>
    return %inserted : tensor<1x!ct>
  }
  func.func @dot(%cc: !cc, %arg0: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">>}, %arg1: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">>}) -> (tensor<1x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "dot", input_types = [tensor<8xf32>, tensor<8xf32>], result_types = [f32], roles = ["entry"]}} {
    %0 = call @dot__preprocessing(%cc) : (!cc) -> memref<2x!pt>
    %1 = call @dot__preprocessed(%cc, %arg0, %arg1, %0) : (!cc, tensor<1x!ct>, tensor<1x!ct>, memref<2x!pt>) -> tensor<1x!ct>
    return %1 : tensor<1x!ct>
  }
  func.func @dot__encrypt__arg0(%cc: !cc, %arg0: tensor<8xf32>, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "dot", index = 0 : i64, roles = ["client.encrypt"]}} {
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
  func.func @dot__encrypt__arg1(%cc: !cc, %arg0: tensor<8xf32>, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "dot", index = 1 : i64, roles = ["client.encrypt"]}} {
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
  func.func @dot__decrypt__result0(%cc: !cc, %arg0: tensor<1x!ct>, %sk: !sk) -> f32 attributes {heir.interface = {func_name = "dot", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %pt = openfhe.decrypt %cc, %extracted, %sk : (!cc, !ct, !sk) -> !pt
    %0 = openfhe.decode_ckks %pt : !pt -> tensor<1x32xf32>
    %extracted_0 = tensor.extract %0[%c0, %c0] : tensor<1x32xf32>
    return %extracted_0 : f32
  }
  func.func @dot__generate_crypto_context() -> !cc {
    %params = openfhe.gen_params  <mulDepth = 2, plainMod = 0, firstModSize = 55, scalingModSize = 45> : () -> !params
    %cc = openfhe.gen_context %params <supportFHE = false> : (!params) -> !cc
    return %cc : !cc
  }
  func.func @dot__configure_crypto_context(%cc: !cc, %sk: !sk) -> !cc {
    openfhe.gen_mulkey %cc, %sk : (!cc, !sk) -> ()
    openfhe.gen_rotkey %cc, %sk <indices = [2, 4, 1]> : (!cc, !sk) -> ()
    return %cc : !cc
  }
}

