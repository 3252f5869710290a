// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=lattigo scheme=ckks" --mlir-to-ckks=min-slot-count=32
// --scheme-to-lattigo:
//
// func.func @dot(%a: tensor<8xf32> {secret.secret}, %b: tensor<8xf32> {secret.secret}) -> f32 {
//   %start = arith.constant dense<1.0e-01> : tensor<f32>
//   %sum = linalg.dot ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%start : tensor<f32>) -> tensor<f32>
//   %result = tensor.extract %sum[] : tensor<f32>
//   return %result : f32
// }

!ct = !lattigo.rlwe.ciphertext
!decryptor = !lattigo.rlwe.decryptor
!ekset = !lattigo.rlwe.evaluation_key_set
!encoder = !lattigo.ckks.encoder
!encryptor_pk = !lattigo.rlwe.encryptor<publicKey = true>
!evaluator = !lattigo.ckks.evaluator
!gk_g25 = !lattigo.rlwe.galois_key<galoisElement = 25 : i64>
!gk_g5 = !lattigo.rlwe.galois_key<galoisElement = 5 : i64>
!gk_g625 = !lattigo.rlwe.galois_key<galoisElement = 625 : i64>
!kgen = !lattigo.rlwe.key_generator
!param = !lattigo.ckks.parameter
!pk = !lattigo.rlwe.public_key
!pt = !lattigo.rlwe.plaintext
!rk = !lattigo.rlwe.relinearization_key
!sk = !lattigo.rlwe.secret_key
#layout = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and slot = 0 }">
#original_type = #tensor_ext.original_type<originalType = f32, layout = #layout>
module attributes {backend.lattigo, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 32 : i64} {
  memref.global "private" constant @__constant_32xf32_0 : memref<32xf32> = dense<1.000000e-01> alignment = 64
  memref.global "private" constant @__constant_32xf32 : memref<32xf32> = dense<[1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> alignment = 64
  memref.global "private" constant @__constant_1x32xf32 : memref<1x32xf32> = dense<0.000000e+00> alignment = 64
  func.func @dot__preprocessing(%param: !param, %encoder: !encoder) -> memref<2x!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "dot", roles = ["server.preprocessing"]}} {
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %0 = memref.get_global @__constant_32xf32 : memref<32xf32>
    %1 = memref.get_global @__constant_32xf32_0 : memref<32xf32>
    %alloc = memref.alloc() : memref<2x!pt>
    %pt = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %1, %pt <scale = 90> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_0, %alloc[%c0] : memref<2x!pt>
    %pt_1 = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_2 = lattigo.ckks.encode %encoder, %0, %pt_1 <scale = 45> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_2, %alloc[%c1] : memref<2x!pt>
    return %alloc : memref<2x!pt>
  }
  func.func @dot__preprocessed(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">>}, %arg1: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">>}, %arg2: memref<2x!pt>) -> memref<1x!ct> attributes {heir.interface = {func_name = "dot", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %ct = memref.load %arg0[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %ct_0 = memref.load %arg1[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %ct_1 = lattigo.ckks.mul_new %evaluator, %ct, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_2 = lattigo.ckks.relinearize %evaluator, %ct_1, %ct_1 : (!evaluator, !ct, !ct) -> !ct
    %ct_3 = lattigo.ckks.rotate_new %evaluator, %ct_2, %c1 : (!evaluator, !ct, index) -> !ct
    %ct_4 = lattigo.ckks.add %evaluator, %ct_2, %ct_3, %ct_1 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_5 = lattigo.ckks.rotate %evaluator, %ct_4, %ct_3, %c2 : (!evaluator, !ct, !ct, index) -> !ct
    %ct_6 = lattigo.ckks.add %evaluator, %ct_4, %ct_5, %ct_1 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_7 = lattigo.ckks.rotate %evaluator, %ct_6, %ct_3, %c4 : (!evaluator, !ct, !ct, index) -> !ct
    %pt = memref.load %arg2[%c0] : memref<2x!pt>
    %ct_8 = lattigo.ckks.add %evaluator, %ct_6, %pt, %ct_1 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_9 = lattigo.ckks.add %evaluator, %ct_8, %ct_7, %ct_1 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_10 = lattigo.ckks.rescale %evaluator, %ct_9, %ct_1 : (!evaluator, !ct, !ct) -> !ct
    %pt_11 = memref.load %arg2[%c1] : memref<2x!pt>
    %ct_12 = lattigo.ckks.mul %evaluator, %ct_10, %pt_11, %ct_1 : (!evaluator, !ct, !pt, !ct) -> !ct
    %alloc = memref.alloc() alignment = 64 : memref<1x!ct>
    %ct_13 = lattigo.ckks.rescale %evaluator, %ct_12, %ct_1 : (!evaluator, !ct, !ct) -> !ct
    memref.store %ct_13, %alloc[%c0] : memref<1x!ct>
    return %alloc : memref<1x!ct>
  }
  func.func @dot(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">>}, %arg1: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">>}) -> (memref<1x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "dot", input_types = [tensor<8xf32>, tensor<8xf32>], result_types = [f32], roles = ["entry"]}} {
    %0 = call @dot__preprocessing(%param, %encoder) : (!param, !encoder) -> memref<2x!pt>
    %1 = call @dot__preprocessed(%evaluator, %param, %encoder, %arg0, %arg1, %0) : (!evaluator, !param, !encoder, memref<1x!ct, strided<[?], offset: ?>>, memref<1x!ct, strided<[?], offset: ?>>, memref<2x!pt>) -> memref<1x!ct>
    return %1 : memref<1x!ct>
  }
  func.func @dot__encrypt__arg0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: memref<8xf32, strided<[?], offset: ?>>) -> memref<1x!ct> attributes {heir.interface = {func_name = "dot", index = 0 : i64, roles = ["client.encrypt"]}} {
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
    %pt = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %subview, %pt <scale = 45> : (!encoder, memref<32xf32, strided<[1]>>, !pt) -> !pt
    %ct = lattigo.rlwe.encrypt %encryptor, %pt_0 : (!encryptor_pk, !pt) -> !ct
    %alloc_1 = memref.alloc() alignment = 64 : memref<1x!ct>
    memref.store %ct, %alloc_1[%c0] : memref<1x!ct>
    return %alloc_1 : memref<1x!ct>
  }
  func.func @dot__encrypt__arg1(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: memref<8xf32, strided<[?], offset: ?>>) -> memref<1x!ct> attributes {heir.interface = {func_name = "dot", index = 1 : i64, roles = ["client.encrypt"]}} {
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
    %pt = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %subview, %pt <scale = 45> : (!encoder, memref<32xf32, strided<[1]>>, !pt) -> !pt
    %ct = lattigo.rlwe.encrypt %encryptor, %pt_0 : (!encryptor_pk, !pt) -> !ct
    %alloc_1 = memref.alloc() alignment = 64 : memref<1x!ct>
    memref.store %ct, %alloc_1[%c0] : memref<1x!ct>
    return %alloc_1 : memref<1x!ct>
  }
  func.func @dot__decrypt__result0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %decryptor: !decryptor, %arg0: memref<1x!ct, strided<[?], offset: ?>> {lwe.entry_level_depth = 2 : i64}) -> f32 attributes {heir.interface = {func_name = "dot", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %0 = memref.get_global @__constant_1x32xf32 : memref<1x32xf32>
    %ct = memref.load %arg0[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %pt = lattigo.rlwe.decrypt %decryptor, %ct : (!decryptor, !ct) -> !pt
    %alloc = memref.alloc() alignment = 64 : memref<1x32xf32>
    memref.copy %0, %alloc : memref<1x32xf32> to memref<1x32xf32>
    %1 = lattigo.ckks.decode %encoder, %pt, %alloc : (!encoder, !pt, memref<1x32xf32>) -> memref<1x32xf32>
    %2 = memref.load %1[%c0, %c0] : memref<1x32xf32>
    return %2 : f32
  }
  func.func @dot__configure() -> (!evaluator, !param, !encoder, !encryptor_pk, !decryptor) {
    %param = lattigo.ckks.new_parameters_from_literal  <paramsLiteral = <logN = 14, Q = [36028797017456641, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>> : () -> !param
    %encoder = lattigo.ckks.new_encoder %param : (!param) -> !encoder
    %kgen = lattigo.rlwe.new_key_generator %param : (!param) -> !kgen
    %secretKey, %publicKey = lattigo.rlwe.gen_key_pair %kgen : (!kgen) -> (!sk, !pk)
    %encryptor = lattigo.rlwe.new_encryptor %param, %publicKey : (!param, !pk) -> !encryptor_pk
    %decryptor = lattigo.rlwe.new_decryptor %param, %secretKey : (!param, !sk) -> !decryptor
    %rk = lattigo.rlwe.gen_relinearization_key %kgen, %secretKey : (!kgen, !sk) -> !rk
    %gk = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 25 : i64> : (!kgen, !sk) -> !gk_g25
    %gk_0 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 625 : i64> : (!kgen, !sk) -> !gk_g625
    %gk_1 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 5 : i64> : (!kgen, !sk) -> !gk_g5
    %ekset = lattigo.rlwe.new_evaluation_key_set %rk, %gk, %gk_0, %gk_1 : (!rk, !gk_g25, !gk_g625, !gk_g5) -> !ekset
    %evaluator = lattigo.ckks.new_evaluator %param, %ekset : (!param, !ekset) -> !evaluator
    return %evaluator, %param, %encoder, %encryptor, %decryptor : !evaluator, !param, !encoder, !encryptor_pk, !decryptor
  }
}

