// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=lattigo scheme=ckks" --mlir-to-ckks=min-slot-count=32
// --scheme-to-lattigo:
//
// func.func @large(%a: tensor<40xf32> {secret.secret}, %b: tensor<40xf32> {secret.secret}) -> tensor<40xf32> {
//   %c = arith.mulf %a, %b : tensor<40xf32>
//   %d = arith.subf %c, %b : tensor<40xf32>
//   return %d : tensor<40xf32>
// }

!ct = !lattigo.rlwe.ciphertext
!decryptor = !lattigo.rlwe.decryptor
!ekset = !lattigo.rlwe.evaluation_key_set
!encoder = !lattigo.ckks.encoder
!encryptor_pk = !lattigo.rlwe.encryptor<publicKey = true>
!evaluator = !lattigo.ckks.evaluator
!kgen = !lattigo.rlwe.key_generator
!param = !lattigo.ckks.parameter
!pk = !lattigo.rlwe.public_key
!pt = !lattigo.rlwe.plaintext
!rk = !lattigo.rlwe.relinearization_key
!sk = !lattigo.rlwe.secret_key
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : (-i0 + slot + 32*floor((i0)/32)) mod 64 = 0 and 0 <= i0 <= 39 and 0 <= ct <= 1 and -31 + i0 <= 32ct <= i0 and 0 <= slot <= 31 }">
#original_type = #tensor_ext.original_type<originalType = tensor<40xf32>, layout = #layout>
module attributes {backend.lattigo, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 32 : i64} {
  memref.global "private" constant @__constant_32xf32 : memref<32xf32> = dense<1.000000e+00> alignment = 64
  memref.global "private" constant @__constant_2x32xf32 : memref<2x32xf32> = dense<0.000000e+00> alignment = 64
  memref.global "private" constant @__constant_1x32xf32 : memref<1x32xf32> = dense<0.000000e+00> alignment = 64
  memref.global "private" constant @__constant_40xf32 : memref<40xf32> = dense<0.000000e+00> alignment = 64
  func.func @large__preprocessing(%param: !param, %encoder: !encoder) -> memref<1x!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "large", roles = ["server.preprocessing"]}} {
    %c0 = arith.constant 0 : index
    %0 = memref.get_global @__constant_32xf32 : memref<32xf32>
    %alloc = memref.alloc() : memref<1x!pt>
    %pt = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %0, %pt <scale = 45> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_0, %alloc[%c0] : memref<1x!pt>
    return %alloc : memref<1x!pt>
  }
  func.func @large__preprocessed(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<2x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 40>}, tensor_ext.original_type = #original_type}, %arg1: memref<2x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 40>}, tensor_ext.original_type = #original_type}, %arg2: memref<1x!pt>) -> memref<2x!ct> attributes {heir.interface = {func_name = "large", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %alloc = memref.alloc() alignment = 64 : memref<2x!ct>
    scf.for %arg3 = %c0 to %c2 step %c1 {
      %ct = memref.load %arg0[%arg3] : memref<2x!ct, strided<[?], offset: ?>>
      %ct_3 = memref.load %arg1[%arg3] : memref<2x!ct, strided<[?], offset: ?>>
      %ct_4 = lattigo.ckks.mul_new %evaluator, %ct, %ct_3 : (!evaluator, !ct, !ct) -> !ct
      memref.store %ct_4, %alloc[%arg3] : memref<2x!ct>
    }
    %alloc_0 = memref.alloc() alignment = 64 : memref<2x!ct>
    scf.for %arg3 = %c0 to %c2 step %c1 {
      %ct = memref.load %alloc[%arg3] : memref<2x!ct>
      %ct_3 = lattigo.ckks.relinearize_new %evaluator, %ct : (!evaluator, !ct) -> !ct
      memref.store %ct_3, %alloc_0[%arg3] : memref<2x!ct>
    }
    %pt = memref.load %arg2[%c0] : memref<1x!pt>
    %alloc_1 = memref.alloc() alignment = 64 : memref<2x!pt>
    memref.store %pt, %alloc_1[%c0] : memref<2x!pt>
    memref.store %pt, %alloc_1[%c1] : memref<2x!pt>
    scf.for %arg3 = %c0 to %c2 step %c1 {
      %ct = memref.load %arg1[%arg3] : memref<2x!ct, strided<[?], offset: ?>>
      %pt_3 = memref.load %alloc_1[%arg3] : memref<2x!pt>
      %ct_4 = lattigo.ckks.mul_new %evaluator, %ct, %pt_3 : (!evaluator, !ct, !pt) -> !ct
      memref.store %ct_4, %alloc[%arg3] : memref<2x!ct>
    }
    %alloc_2 = memref.alloc() alignment = 64 : memref<2x!ct>
    scf.for %arg3 = %c0 to %c2 step %c1 {
      %ct = memref.load %alloc_0[%arg3] : memref<2x!ct>
      %ct_3 = memref.load %alloc[%arg3] : memref<2x!ct>
      %ct_4 = lattigo.ckks.sub_new %evaluator, %ct, %ct_3 : (!evaluator, !ct, !ct) -> !ct
      memref.store %ct_4, %alloc_2[%arg3] : memref<2x!ct>
    }
    scf.for %arg3 = %c0 to %c2 step %c1 {
      %ct = memref.load %alloc_2[%arg3] : memref<2x!ct>
      %ct_3 = lattigo.ckks.rescale_new %evaluator, %ct : (!evaluator, !ct) -> !ct
      memref.store %ct_3, %alloc[%arg3] : memref<2x!ct>
    }
    return %alloc : memref<2x!ct>
  }
  func.func @large(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<2x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 40>}, tensor_ext.original_type = #original_type}, %arg1: memref<2x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 40>}, tensor_ext.original_type = #original_type}) -> (memref<2x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "large", input_types = [tensor<40xf32>, tensor<40xf32>], result_types = [tensor<40xf32>], roles = ["entry"]}} {
    %0 = call @large__preprocessing(%param, %encoder) : (!param, !encoder) -> memref<1x!pt>
    %1 = call @large__preprocessed(%evaluator, %param, %encoder, %arg0, %arg1, %0) : (!evaluator, !param, !encoder, memref<2x!ct, strided<[?], offset: ?>>, memref<2x!ct, strided<[?], offset: ?>>, memref<1x!pt>) -> memref<2x!ct>
    return %1 : memref<2x!ct>
  }
  func.func @large__encrypt__arg0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: memref<40xf32, strided<[?], offset: ?>>) -> memref<2x!ct> attributes {heir.interface = {func_name = "large", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %c32_i32 = arith.constant 32 : i32
    %c40_i32 = arith.constant 40 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = memref.get_global @__constant_2x32xf32 : memref<2x32xf32>
    %alloc = memref.alloc() alignment = 64 : memref<2x32xf32>
    memref.copy %0, %alloc : memref<2x32xf32> to memref<2x32xf32>
    scf.for %arg1 = %c0_i32 to %c40_i32 step %c1_i32  : i32 {
      %1 = arith.floordivsi %arg1, %c32_i32 : i32
      %2 = arith.muli %1, %c32_i32 : i32
      %3 = arith.subi %arg1, %2 : i32
      %4 = arith.index_cast %arg1 : i32 to index
      %5 = memref.load %arg0[%4] : memref<40xf32, strided<[?], offset: ?>>
      %6 = arith.index_cast %1 : i32 to index
      %7 = arith.index_cast %3 : i32 to index
      memref.store %5, %alloc[%6, %7] : memref<2x32xf32>
    }
    %subview = memref.subview %alloc[0, 0] [1, 32] [1, 1] : memref<2x32xf32> to memref<32xf32, strided<[1]>>
    %pt = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %subview, %pt <scale = 45> : (!encoder, memref<32xf32, strided<[1]>>, !pt) -> !pt
    %ct = lattigo.rlwe.encrypt %encryptor, %pt_0 : (!encryptor_pk, !pt) -> !ct
    %subview_1 = memref.subview %alloc[1, 0] [1, 32] [1, 1] : memref<2x32xf32> to memref<32xf32, strided<[1], offset: 32>>
    %pt_2 = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_3 = lattigo.ckks.encode %encoder, %subview_1, %pt_2 <scale = 45> : (!encoder, memref<32xf32, strided<[1], offset: 32>>, !pt) -> !pt
    %ct_4 = lattigo.rlwe.encrypt %encryptor, %pt_3 : (!encryptor_pk, !pt) -> !ct
    %alloc_5 = memref.alloc() alignment = 64 : memref<2x!ct>
    memref.store %ct, %alloc_5[%c0] : memref<2x!ct>
    memref.store %ct_4, %alloc_5[%c1] : memref<2x!ct>
    return %alloc_5 : memref<2x!ct>
  }
  func.func @large__encrypt__arg1(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: memref<40xf32, strided<[?], offset: ?>>) -> memref<2x!ct> attributes {heir.interface = {func_name = "large", index = 1 : i64, roles = ["client.encrypt"]}} {
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %c32_i32 = arith.constant 32 : i32
    %c40_i32 = arith.constant 40 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = memref.get_global @__constant_2x32xf32 : memref<2x32xf32>
    %alloc = memref.alloc() alignment = 64 : memref<2x32xf32>
    memref.copy %0, %alloc : memref<2x32xf32> to memref<2x32xf32>
    scf.for %arg1 = %c0_i32 to %c40_i32 step %c1_i32  : i32 {
      %1 = arith.floordivsi %arg1, %c32_i32 : i32
      %2 = arith.muli %1, %c32_i32 : i32
      %3 = arith.subi %arg1, %2 : i32
      %4 = arith.index_cast %arg1 : i32 to index
      %5 = memref.load %arg0[%4] : memref<40xf32, strided<[?], offset: ?>>
      %6 = arith.index_cast %1 : i32 to index
      %7 = arith.index_cast %3 : i32 to index
      memref.store %5, %alloc[%6, %7] : memref<2x32xf32>
    }
    %subview = memref.subview %alloc[0, 0] [1, 32] [1, 1] : memref<2x32xf32> to memref<32xf32, strided<[1]>>
    %pt = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %subview, %pt <scale = 45> : (!encoder, memref<32xf32, strided<[1]>>, !pt) -> !pt
    %ct = lattigo.rlwe.encrypt %encryptor, %pt_0 : (!encryptor_pk, !pt) -> !ct
    %subview_1 = memref.subview %alloc[1, 0] [1, 32] [1, 1] : memref<2x32xf32> to memref<32xf32, strided<[1], offset: 32>>
    %pt_2 = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_3 = lattigo.ckks.encode %encoder, %subview_1, %pt_2 <scale = 45> : (!encoder, memref<32xf32, strided<[1], offset: 32>>, !pt) -> !pt
    %ct_4 = lattigo.rlwe.encrypt %encryptor, %pt_3 : (!encryptor_pk, !pt) -> !ct
    %alloc_5 = memref.alloc() alignment = 64 : memref<2x!ct>
    memref.store %ct, %alloc_5[%c0] : memref<2x!ct>
    memref.store %ct_4, %alloc_5[%c1] : memref<2x!ct>
    return %alloc_5 : memref<2x!ct>
  }
  func.func @large__decrypt__result0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %decryptor: !decryptor, %arg0: memref<2x!ct, strided<[?], offset: ?>> {lwe.entry_level_depth = 1 : i64}) -> memref<40xf32> attributes {heir.interface = {func_name = "large", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c40_i32 = arith.constant 40 : i32
    %c32_i32 = arith.constant 32 : i32
    %c1_i32 = arith.constant 1 : i32
    %c39_i32 = arith.constant 39 : i32
    %c0_i32 = arith.constant 0 : i32
    %c1 = arith.constant 1 : index
    %0 = memref.get_global @__constant_40xf32 : memref<40xf32>
    %1 = memref.get_global @__constant_1x32xf32 : memref<1x32xf32>
    %ct = memref.load %arg0[%c0] : memref<2x!ct, strided<[?], offset: ?>>
    %pt = lattigo.rlwe.decrypt %decryptor, %ct : (!decryptor, !ct) -> !pt
    %alloc = memref.alloc() alignment = 64 : memref<1x32xf32>
    memref.copy %1, %alloc : memref<1x32xf32> to memref<1x32xf32>
    %2 = lattigo.ckks.decode %encoder, %pt, %alloc : (!encoder, !pt, memref<1x32xf32>) -> memref<1x32xf32>
    %ct_0 = memref.load %arg0[%c1] : memref<2x!ct, strided<[?], offset: ?>>
    %pt_1 = lattigo.rlwe.decrypt %decryptor, %ct_0 : (!decryptor, !ct) -> !pt
    %alloc_2 = memref.alloc() alignment = 64 : memref<1x32xf32>
    memref.copy %1, %alloc_2 : memref<1x32xf32> to memref<1x32xf32>
    %3 = lattigo.ckks.decode %encoder, %pt_1, %alloc_2 : (!encoder, !pt, memref<1x32xf32>) -> memref<1x32xf32>
    %alloc_3 = memref.alloc() alignment = 64 : memref<2x32xf32>
    %subview = memref.subview %alloc_3[0, 0] [1, 32] [1, 1] : memref<2x32xf32> to memref<1x32xf32, strided<[32, 1]>>
    memref.copy %2, %subview : memref<1x32xf32> to memref<1x32xf32, strided<[32, 1]>>
    %subview_4 = memref.subview %alloc_3[1, 0] [1, 32] [1, 1] : memref<2x32xf32> to memref<1x32xf32, strided<[32, 1], offset: 32>>
    memref.copy %3, %subview_4 : memref<1x32xf32> to memref<1x32xf32, strided<[32, 1], offset: 32>>
    %alloc_5 = memref.alloc() alignment = 64 : memref<40xf32>
    memref.copy %0, %alloc_5 : memref<40xf32> to memref<40xf32>
    scf.for %arg1 = %c0_i32 to %c40_i32 step %c1_i32  : i32 {
      %4 = arith.subi %c39_i32, %arg1 : i32
      %5 = arith.floordivsi %4, %c32_i32 : i32
      %6 = arith.muli %5, %c32_i32 : i32
      %7 = arith.subi %4, %6 : i32
      %8 = arith.index_cast %5 : i32 to index
      %9 = arith.index_cast %7 : i32 to index
      %10 = memref.load %alloc_3[%8, %9] : memref<2x32xf32>
      %11 = arith.index_cast %4 : i32 to index
      memref.store %10, %alloc_5[%11] : memref<40xf32>
    }
    return %alloc_5 : memref<40xf32>
  }
  func.func @large__configure() -> (!evaluator, !param, !encoder, !encryptor_pk, !decryptor) {
    %param = lattigo.ckks.new_parameters_from_literal  <paramsLiteral = <logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>> : () -> !param
    %encoder = lattigo.ckks.new_encoder %param : (!param) -> !encoder
    %kgen = lattigo.rlwe.new_key_generator %param : (!param) -> !kgen
    %secretKey, %publicKey = lattigo.rlwe.gen_key_pair %kgen : (!kgen) -> (!sk, !pk)
    %encryptor = lattigo.rlwe.new_encryptor %param, %publicKey : (!param, !pk) -> !encryptor_pk
    %decryptor = lattigo.rlwe.new_decryptor %param, %secretKey : (!param, !sk) -> !decryptor
    %rk = lattigo.rlwe.gen_relinearization_key %kgen, %secretKey : (!kgen, !sk) -> !rk
    %ekset = lattigo.rlwe.new_evaluation_key_set %rk : (!rk) -> !ekset
    %evaluator = lattigo.ckks.new_evaluator %param, %ekset : (!param, !ekset) -> !evaluator
    return %evaluator, %param, %encoder, %encryptor, %decryptor : !evaluator, !param, !encoder, !encryptor_pk, !decryptor
  }
}

