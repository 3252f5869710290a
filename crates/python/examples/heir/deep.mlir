// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=lattigo scheme=ckks"
// --mlir-to-ckks="min-slot-count=32 greedy-level-budget=4" --scheme-to-lattigo:
//
// func.func @deep(%x: tensor<8xf32> {secret.secret}) -> tensor<8xf32> {
//   %half = arith.constant dense<0.5> : tensor<8xf32>
//   %a = arith.mulf %x, %x : tensor<8xf32>
//   %b = arith.addf %a, %half : tensor<8xf32>
//   %c = arith.mulf %b, %b : tensor<8xf32>
//   %d = arith.subf %c, %half : tensor<8xf32>
//   %e = arith.mulf %d, %d : tensor<8xf32>
//   %f = arith.subf %e, %half : tensor<8xf32>
//   %g = arith.mulf %f, %f : tensor<8xf32>
//   %h = arith.subf %g, %x : tensor<8xf32>
//   %i = arith.mulf %h, %h : tensor<8xf32>
//   return %i : tensor<8xf32>
// }

!bootstrapping_eval_keys = !lattigo.ckks.bootstrapping_eval_keys
!bootstrapping_evaluator = !lattigo.ckks.bootstrapping_evaluator
!bootstrapping_param = !lattigo.ckks.bootstrapping_parameter
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
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">
#original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #layout>
module attributes {backend.lattigo, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 32 : i64} {
  memref.global "private" constant @__constant_32xf32_0 : memref<32xf32> = dense<1.000000e+00> alignment = 64
  memref.global "private" constant @__constant_32xf32 : memref<32xf32> = dense<5.000000e-01> alignment = 64
  memref.global "private" constant @__constant_1x32xf32 : memref<1x32xf32> = dense<0.000000e+00> alignment = 64
  memref.global "private" constant @__constant_8xf32 : memref<8xf32> = dense<0.000000e+00> alignment = 64
  func.func @deep__preprocessing(%param: !param, %encoder: !encoder) -> memref<5x!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "deep", roles = ["server.preprocessing"]}} {
    %c4 = arith.constant 4 : index
    %c3 = arith.constant 3 : index
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %0 = memref.get_global @__constant_32xf32 : memref<32xf32>
    %1 = memref.get_global @__constant_32xf32_0 : memref<32xf32>
    %alloc = memref.alloc() : memref<5x!pt>
    %pt = lattigo.ckks.new_plaintext %param <level = 4> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %0, %pt <scale = 90> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_0, %alloc[%c0] : memref<5x!pt>
    %pt_1 = lattigo.ckks.new_plaintext %param <level = 3> : (!param) -> !pt
    %pt_2 = lattigo.ckks.encode %encoder, %0, %pt_1 <scale = 90> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_2, %alloc[%c1] : memref<5x!pt>
    %pt_3 = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_4 = lattigo.ckks.encode %encoder, %0, %pt_3 <scale = 90> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_4, %alloc[%c2] : memref<5x!pt>
    %pt_5 = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_6 = lattigo.ckks.encode %encoder, %1, %pt_5 <scale = 45> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_6, %alloc[%c3] : memref<5x!pt>
    %pt_7 = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_8 = lattigo.ckks.encode %encoder, %1, %pt_7 <scale = 45> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_8, %alloc[%c4] : memref<5x!pt>
    return %alloc : memref<5x!pt>
  }
  func.func @deep__preprocessed(%bootstrapping_evaluator: !bootstrapping_evaluator, %evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: memref<5x!pt>) -> memref<1x!ct> attributes {heir.interface = {func_name = "deep", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %ct = memref.load %arg0[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %ct_0 = lattigo.ckks.mul_new %evaluator, %ct, %ct : (!evaluator, !ct, !ct) -> !ct
    %ct_1 = lattigo.ckks.relinearize %evaluator, %ct_0, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %pt = memref.load %arg1[%c0] : memref<5x!pt>
    %ct_2 = lattigo.ckks.add %evaluator, %ct_1, %pt, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_3 = lattigo.ckks.rescale %evaluator, %ct_2, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_4 = lattigo.ckks.mul %evaluator, %ct_3, %ct_3, %ct_0 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_5 = lattigo.ckks.relinearize %evaluator, %ct_4, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %pt_6 = memref.load %arg1[%c1] : memref<5x!pt>
    %ct_7 = lattigo.ckks.sub %evaluator, %ct_5, %pt_6, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_8 = lattigo.ckks.rescale %evaluator, %ct_7, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_9 = lattigo.ckks.mul %evaluator, %ct_8, %ct_8, %ct_0 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_10 = lattigo.ckks.relinearize %evaluator, %ct_9, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %pt_11 = memref.load %arg1[%c2] : memref<5x!pt>
    %ct_12 = lattigo.ckks.sub %evaluator, %ct_10, %pt_11, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_13 = lattigo.ckks.rescale %evaluator, %ct_12, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_14 = lattigo.ckks.mul %evaluator, %ct_13, %ct_13, %ct_0 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_15 = lattigo.ckks.relinearize %evaluator, %ct_14, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_16 = lattigo.rlwe.drop_level_new %evaluator, %ct <levelToDrop = 2> : (!evaluator, !ct) -> !ct
    %pt_17 = memref.load %arg1[%c3] : memref<5x!pt>
    %ct_18 = lattigo.ckks.mul %evaluator, %ct_16, %pt_17, %ct_16 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_19 = lattigo.ckks.rescale %evaluator, %ct_18, %ct_16 : (!evaluator, !ct, !ct) -> !ct
    %pt_20 = memref.load %arg1[%c4] : memref<5x!pt>
    %ct_21 = lattigo.ckks.mul %evaluator, %ct_19, %pt_20, %ct_16 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_22 = lattigo.ckks.sub %evaluator, %ct_15, %ct_21, %ct_0 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_23 = lattigo.ckks.rescale %evaluator, %ct_22, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_24 = lattigo.ckks.bootstrap %bootstrapping_evaluator, %ct_23 : (!bootstrapping_evaluator, !ct) -> !ct
    %ct_25 = lattigo.ckks.mul %evaluator, %ct_24, %ct_24, %ct_24 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_26 = lattigo.ckks.relinearize %evaluator, %ct_25, %ct_24 : (!evaluator, !ct, !ct) -> !ct
    %alloc = memref.alloc() alignment = 64 : memref<1x!ct>
    %ct_27 = lattigo.ckks.rescale %evaluator, %ct_26, %ct_24 : (!evaluator, !ct, !ct) -> !ct
    memref.store %ct_27, %alloc[%c0] : memref<1x!ct>
    return %alloc : memref<1x!ct>
  }
  func.func @deep(%bootstrapping_evaluator: !bootstrapping_evaluator, %evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}) -> (memref<1x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "deep", input_types = [tensor<8xf32>], result_types = [tensor<8xf32>], roles = ["entry"]}} {
    %0 = call @deep__preprocessing(%param, %encoder) : (!param, !encoder) -> memref<5x!pt>
    %1 = call @deep__preprocessed(%bootstrapping_evaluator, %evaluator, %param, %encoder, %arg0, %0) : (!bootstrapping_evaluator, !evaluator, !param, !encoder, memref<1x!ct, strided<[?], offset: ?>>, memref<5x!pt>) -> memref<1x!ct>
    return %1 : memref<1x!ct>
  }
  func.func @deep__encrypt__arg0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: memref<8xf32, strided<[?], offset: ?>>) -> memref<1x!ct> attributes {heir.interface = {func_name = "deep", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c0 = arith.constant 0 : index
    %c32_i32 = arith.constant 32 : i32
    %c8_i32 = arith.constant 8 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = memref.get_global @__constant_1x32xf32 : memref<1x32xf32>
    %alloc = memref.alloc() alignment = 64 : memref<1x32xf32>
    memref.copy %0, %alloc : memref<1x32xf32> to memref<1x32xf32>
    scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32  : i32 {
      scf.for %arg2 = %arg1 to %c32_i32 step %c8_i32  : i32 {
        %1 = arith.index_cast %arg1 : i32 to index
        %2 = memref.load %arg0[%1] : memref<8xf32, strided<[?], offset: ?>>
        %3 = arith.index_cast %arg2 : i32 to index
        memref.store %2, %alloc[%c0, %3] : memref<1x32xf32>
      }
    }
    %subview = memref.subview %alloc[0, 0] [1, 32] [1, 1] : memref<1x32xf32> to memref<32xf32, strided<[1]>>
    %pt = lattigo.ckks.new_plaintext %param <level = 4> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %subview, %pt <scale = 45> : (!encoder, memref<32xf32, strided<[1]>>, !pt) -> !pt
    %ct = lattigo.rlwe.encrypt %encryptor, %pt_0 : (!encryptor_pk, !pt) -> !ct
    %alloc_1 = memref.alloc() alignment = 64 : memref<1x!ct>
    memref.store %ct, %alloc_1[%c0] : memref<1x!ct>
    return %alloc_1 : memref<1x!ct>
  }
  func.func @deep__decrypt__result0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %decryptor: !decryptor, %arg0: memref<1x!ct, strided<[?], offset: ?>> {lwe.entry_level_depth = 1 : i64}) -> memref<8xf32> attributes {heir.interface = {func_name = "deep", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c32_i32 = arith.constant 32 : i32
    %c8_i32 = arith.constant 8 : i32
    %c1_i32 = arith.constant 1 : i32
    %c7_i32 = arith.constant 7 : i32
    %c0_i32 = arith.constant 0 : i32
    %c24_i32 = arith.constant 24 : i32
    %0 = memref.get_global @__constant_8xf32 : memref<8xf32>
    %1 = memref.get_global @__constant_1x32xf32 : memref<1x32xf32>
    %ct = memref.load %arg0[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %pt = lattigo.rlwe.decrypt %decryptor, %ct : (!decryptor, !ct) -> !pt
    %alloc = memref.alloc() alignment = 64 : memref<1x32xf32>
    memref.copy %1, %alloc : memref<1x32xf32> to memref<1x32xf32>
    %2 = lattigo.ckks.decode %encoder, %pt, %alloc : (!encoder, !pt, memref<1x32xf32>) -> memref<1x32xf32>
    %alloc_0 = memref.alloc() alignment = 64 : memref<8xf32>
    memref.copy %0, %alloc_0 : memref<8xf32> to memref<8xf32>
    scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32  : i32 {
      %3 = arith.subi %c7_i32, %arg1 : i32
      scf.for %arg2 = %3 to %c32_i32 step %c8_i32  : i32 {
        %4 = arith.addi %arg1, %c24_i32 : i32
        %5 = arith.floordivsi %4, %c8_i32 : i32
        %6 = arith.muli %5, %c8_i32 : i32
        %7 = arith.addi %3, %6 : i32
        %8 = arith.subi %arg2, %3 : i32
        %9 = arith.subi %7, %8 : i32
        %10 = arith.index_cast %9 : i32 to index
        %11 = memref.load %2[%c0, %10] : memref<1x32xf32>
        %12 = arith.index_cast %3 : i32 to index
        memref.store %11, %alloc_0[%12] : memref<8xf32>
      }
    }
    return %alloc_0 : memref<8xf32>
  }
  func.func @deep__configure() -> (!bootstrapping_evaluator, !evaluator, !param, !encoder, !encryptor_pk, !decryptor) {
    %param = lattigo.ckks.new_parameters_from_literal  <paramsLiteral = <logN = 14, Q = [36028797017456641, 35184370941953, 35184372744193, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>> : () -> !param
    %encoder = lattigo.ckks.new_encoder %param : (!param) -> !encoder
    %kgen = lattigo.rlwe.new_key_generator %param : (!param) -> !kgen
    %secretKey, %publicKey = lattigo.rlwe.gen_key_pair %kgen : (!kgen) -> (!sk, !pk)
    %encryptor = lattigo.rlwe.new_encryptor %param, %publicKey : (!param, !pk) -> !encryptor_pk
    %decryptor = lattigo.rlwe.new_decryptor %param, %secretKey : (!param, !sk) -> !decryptor
    %rk = lattigo.rlwe.gen_relinearization_key %kgen, %secretKey : (!kgen, !sk) -> !rk
    %ekset = lattigo.rlwe.new_evaluation_key_set %rk : (!rk) -> !ekset
    %bootstrapping_param = lattigo.ckks.new_bootstrapping_parameters_from_literal %param <btParamsLiteral = <logN = 14>> : (!param) -> !bootstrapping_param
    %bootstrapping_eval_keys = lattigo.ckks.gen_evaluation_keys_bootstrapping %bootstrapping_param, %secretKey : (!bootstrapping_param, !sk) -> !bootstrapping_eval_keys
    %bootstrapping_evaluator = lattigo.ckks.new_bootstrapping_evaluator %bootstrapping_param, %bootstrapping_eval_keys : (!bootstrapping_param, !bootstrapping_eval_keys) -> !bootstrapping_evaluator
    %evaluator = lattigo.ckks.new_evaluator %param, %ekset : (!param, !ekset) -> !evaluator
    return %bootstrapping_evaluator, %evaluator, %param, %encoder, %encryptor, %decryptor : !bootstrapping_evaluator, !evaluator, !param, !encoder, !encryptor_pk, !decryptor
  }
}

