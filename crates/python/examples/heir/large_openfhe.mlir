// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=openfhe scheme=ckks" --mlir-to-ckks=min-slot-count=32
// --scheme-to-openfhe:
//
// func.func @large(%a: tensor<40xf32> {secret.secret}, %b: tensor<40xf32> {secret.secret}) -> tensor<40xf32> {
//   %c = arith.mulf %a, %b : tensor<40xf32>
//   %d = arith.subf %c, %b : tensor<40xf32>
//   return %d : tensor<40xf32>
// }

!cc = !openfhe.crypto_context
!ct = !openfhe.ciphertext
!params = !openfhe.cc_params
!pk = !openfhe.public_key
!pt = !openfhe.plaintext
!sk = !openfhe.private_key
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : (-i0 + slot + 32*floor((i0)/32)) mod 64 = 0 and 0 <= i0 <= 39 and 0 <= ct <= 1 and -31 + i0 <= 32ct <= i0 and 0 <= slot <= 31 }">
#original_type = #tensor_ext.original_type<originalType = tensor<40xf32>, layout = #layout>
module attributes {backend.openfhe, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 32 : i64} {
  func.func @large__preprocessing(%cc: !cc) -> memref<1x!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "large", roles = ["server.preprocessing"]}} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<1.000000e+00> : tensor<32xf64>
    %alloc = memref.alloc() : memref<1x!pt>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %cst : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt, %alloc[%c0] : memref<1x!pt>
    return %alloc : memref<1x!pt>
  }
  func.func @large__preprocessed(%cc: !cc, %arg0: tensor<2x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 40>}, tensor_ext.original_type = #original_type}, %arg1: tensor<2x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 40>}, tensor_ext.original_type = #original_type}, %arg2: memref<1x!pt>) -> tensor<2x!ct> attributes {heir.interface = {func_name = "large", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %0 = tensor.empty() : tensor<2x!ct>
    %1 = affine.for %arg3 = 0 to 2 iter_args(%arg4 = %0) -> (tensor<2x!ct>) {
      %extracted = tensor.extract %arg0[%arg3] : tensor<2x!ct>
      %extracted_0 = tensor.extract %arg1[%arg3] : tensor<2x!ct>
      %ct = openfhe.mul_no_relin %cc, %extracted, %extracted_0 : (!cc, !ct, !ct) -> !ct
      %inserted = tensor.insert %ct into %arg4[%arg3] : tensor<2x!ct>
      affine.yield %inserted : tensor<2x!ct>
    }
    %2 = affine.for %arg3 = 0 to 2 iter_args(%arg4 = %0) -> (tensor<2x!ct>) {
      %extracted = tensor.extract %1[%arg3] : tensor<2x!ct>
      %ct = openfhe.relin_inplace %cc, %extracted : (!cc, !ct) -> !ct
      %inserted = tensor.insert %ct into %arg4[%arg3] : tensor<2x!ct>
      affine.yield %inserted : tensor<2x!ct>
    }
    %pt = memref.load %arg2[%c0] : memref<1x!pt>
    %from_elements = tensor.from_elements %pt, %pt : tensor<2x!pt>
    %3 = affine.for %arg3 = 0 to 2 iter_args(%arg4 = %0) -> (tensor<2x!ct>) {
      %extracted = tensor.extract %arg1[%arg3] : tensor<2x!ct>
      %extracted_0 = tensor.extract %from_elements[%arg3] : tensor<2x!pt>
      %ct = openfhe.mul_plain %cc, %extracted, %extracted_0 : (!cc, !ct, !pt) -> !ct
      %inserted = tensor.insert %ct into %arg4[%arg3] : tensor<2x!ct>
      affine.yield %inserted : tensor<2x!ct>
    }
    %4 = affine.for %arg3 = 0 to 2 iter_args(%arg4 = %0) -> (tensor<2x!ct>) {
      %extracted = tensor.extract %2[%arg3] : tensor<2x!ct>
      %extracted_0 = tensor.extract %3[%arg3] : tensor<2x!ct>
      %ct = openfhe.sub_inplace %cc, %extracted, %extracted_0 : (!cc, !ct, !ct) -> !ct
      %inserted = tensor.insert %ct into %arg4[%arg3] : tensor<2x!ct>
      affine.yield %inserted : tensor<2x!ct>
    }
    %5 = affine.for %arg3 = 0 to 2 iter_args(%arg4 = %0) -> (tensor<2x!ct>) {
      %extracted = tensor.extract %4[%arg3] : tensor<2x!ct>
      %ct = openfhe.mod_reduce_inplace %cc, %extracted : (!cc, !ct) -> !ct
      %inserted = tensor.insert %ct into %arg4[%arg3] : tensor<2x!ct>
      affine.yield %inserted : tensor<2x!ct>
    }
    return %5 : tensor<2x!ct>
  }
  func.func @large(%cc: !cc, %arg0: tensor<2x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 40>}, tensor_ext.original_type = #original_type}, %arg1: tensor<2x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 40>}, tensor_ext.original_type = #original_type}) -> (tensor<2x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "large", input_types = [tensor<40xf32>, tensor<40xf32>], result_types = [tensor<40xf32>], roles = ["entry"]}} {
    %0 = call @large__preprocessing(%cc) : (!cc) -> memref<1x!pt>
    %1 = call @large__preprocessed(%cc, %arg0, %arg1, %0) : (!cc, tensor<2x!ct>, tensor<2x!ct>, memref<1x!pt>) -> tensor<2x!ct>
    return %1 : tensor<2x!ct>
  }
  func.func @large__encrypt__arg0(%cc: !cc, %arg0: tensor<40xf32>, %pk: !pk) -> tensor<2x!ct> attributes {heir.interface = {func_name = "large", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c40_i32 = arith.constant 40 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<2x32xf32>
    %c32_i32 = arith.constant 32 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c40_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<2x32xf32>)  : i32 {
      %3 = arith.floordivsi %arg1, %c32_i32 : i32
      %4 = arith.muli %3, %c32_i32 : i32
      %5 = arith.subi %arg1, %4 : i32
      %6 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%6] : tensor<40xf32>
      %7 = arith.index_cast %3 : i32 to index
      %8 = arith.index_cast %5 : i32 to index
      %inserted = tensor.insert %extracted into %arg2[%7, %8] : tensor<2x32xf32>
      scf.yield %inserted : tensor<2x32xf32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 32] [1, 1] : tensor<2x32xf32> to tensor<32xf32>
    %1 = arith.extf %extracted_slice : tensor<32xf32> to tensor<32xf64>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %1 : (!cc, tensor<32xf64>) -> !pt
    %ct = openfhe.encrypt %cc, %pt, %pk : (!cc, !pt, !pk) -> !ct
    %extracted_slice_0 = tensor.extract_slice %0[1, 0] [1, 32] [1, 1] : tensor<2x32xf32> to tensor<32xf32>
    %2 = arith.extf %extracted_slice_0 : tensor<32xf32> to tensor<32xf64>
    %pt_1 = openfhe.make_ckks_packed_plaintext %cc, %2 : (!cc, tensor<32xf64>) -> !pt
    %ct_2 = openfhe.encrypt %cc, %pt_1, %pk : (!cc, !pt, !pk) -> !ct
    %from_elements = tensor.from_elements %ct, %ct_2 : tensor<2x!ct>
    return %from_elements : tensor<2x!ct>
  }
  func.func @large__encrypt__arg1(%cc: !cc, %arg0: tensor<40xf32>, %pk: !pk) -> tensor<2x!ct> attributes {heir.interface = {func_name = "large", index = 1 : i64, roles = ["client.encrypt"]}} {
    %c40_i32 = arith.constant 40 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<2x32xf32>
    %c32_i32 = arith.constant 32 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c40_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<2x32xf32>)  : i32 {
      %3 = arith.floordivsi %arg1, %c32_i32 : i32
      %4 = arith.muli %3, %c32_i32 : i32
      %5 = arith.subi %arg1, %4 : i32
      %6 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%6] : tensor<40xf32>
      %7 = arith.index_cast %3 : i32 to index
      %8 = arith.index_cast %5 : i32 to index
      %inserted = tensor.insert %extracted into %arg2[%7, %8] : tensor<2x32xf32>
      scf.yield %inserted : tensor<2x32xf32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 32] [1, 1] : tensor<2x32xf32> to tensor<32xf32>
    %1 = arith.extf %extracted_slice : tensor<32xf32> to tensor<32xf64>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %1 : (!cc, tensor<32xf64>) -> !pt
    %ct = openfhe.encrypt %cc, %pt, %pk : (!cc, !pt, !pk) -> !ct
    %extracted_slice_0 = tensor.extract_slice %0[1, 0] [1, 32] [1, 1] : tensor<2x32xf32> to tensor<32xf32>
    %2 = arith.extf %extracted_slice_0 : tensor<32xf32> to tensor<32xf64>
    %pt_1 = openfhe.make_ckks_packed_plaintext %cc, %2 : (!cc, tensor<32xf64>) -> !pt
    %ct_2 = openfhe.encrypt %cc, %pt_1, %pk : (!cc, !pt, !pk) -> !ct
    %from_elements = tensor.from_elements %ct, %ct_2 : tensor<2x!ct>
    return %from_elements : tensor<2x!ct>
  }
  func.func @large__decrypt__result0(%cc: !cc, %arg0: tensor<2x!ct>, %sk: !sk) -> tensor<40xf32> attributes {heir.interface = {func_name = "large", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c1 = arith.constant 1 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<40xf32>
    %c0_i32 = arith.constant 0 : i32
    %c39_i32 = arith.constant 39 : i32
    %c1_i32 = arith.constant 1 : i32
    %c32_i32 = arith.constant 32 : i32
    %c40_i32 = arith.constant 40 : i32
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<2x!ct>
    %pt = openfhe.decrypt %cc, %extracted, %sk : (!cc, !ct, !sk) -> !pt
    %0 = openfhe.decode_ckks %pt : !pt -> tensor<1x32xf32>
    %extracted_0 = tensor.extract %arg0[%c1] : tensor<2x!ct>
    %pt_1 = openfhe.decrypt %cc, %extracted_0, %sk : (!cc, !ct, !sk) -> !pt
    %1 = openfhe.decode_ckks %pt_1 : !pt -> tensor<1x32xf32>
    %2 = tensor.empty() : tensor<2x32xf32>
    %inserted_slice = tensor.insert_slice %0 into %2[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> into tensor<2x32xf32>
    %inserted_slice_2 = tensor.insert_slice %1 into %inserted_slice[1, 0] [1, 32] [1, 1] : tensor<1x32xf32> into tensor<2x32xf32>
    %3 = scf.for %arg1 = %c0_i32 to %c40_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<40xf32>)  : i32 {
      %4 = arith.subi %c39_i32, %arg1 : i32
      %5 = arith.floordivsi %4, %c32_i32 : i32
      %6 = arith.muli %5, %c32_i32 : i32
      %7 = arith.subi %4, %6 : i32
      %8 = arith.index_cast %5 : i32 to index
      %9 = arith.index_cast %7 : i32 to index
      %extracted_3 = tensor.extract %inserted_slice_2[%8, %9] : tensor<2x32xf32>
      %10 = arith.index_cast %4 : i32 to index
      %inserted = tensor.insert %extracted_3 into %arg2[%10] : tensor<40xf32>
      scf.yield %inserted : tensor<40xf32>
    }
    return %3 : tensor<40xf32>
  }
  func.func @large__generate_crypto_context() -> !cc {
    %params = openfhe.gen_params  <mulDepth = 1, plainMod = 0, firstModSize = 55, scalingModSize = 45> : () -> !params
    %cc = openfhe.gen_context %params <supportFHE = false> : (!params) -> !cc
    return %cc : !cc
  }
  func.func @large__configure_crypto_context(%cc: !cc, %sk: !sk) -> !cc {
    openfhe.gen_mulkey %cc, %sk : (!cc, !sk) -> ()
    return %cc : !cc
  }
}

