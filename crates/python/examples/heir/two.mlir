// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=lattigo scheme=ckks" --mlir-to-ckks=min-slot-count=32
// --scheme-to-lattigo:
//
// func.func @two(%x: tensor<8xf32> {secret.secret}, %y: f32 {secret.secret}, %k: f32) -> (tensor<8xf32>, f32) {
//   %one = arith.constant dense<1.0> : tensor<8xf32>
//   %r = arith.subf %one, %x : tensor<8xf32>
//   %z = arith.mulf %y, %y : f32
//   %w = arith.mulf %z, %k : f32
//   return %r, %w : tensor<8xf32>, f32
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
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 31 }">
#layout1 = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and 0 <= slot <= 31 }">
#original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = f32, layout = #layout1>
module attributes {backend.lattigo, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 32 : i64} {
  memref.global "private" constant @__constant_32xf32 : memref<32xf32> = dense<1.000000e+00> alignment = 64
  memref.global "private" constant @__constant_8xf32 : memref<8xf32> = dense<0.000000e+00> alignment = 64
  memref.global "private" constant @__constant_1x32xf32 : memref<1x32xf32> = dense<0.000000e+00> alignment = 64
  func.func @two__preprocessing(%param: !param, %encoder: !encoder, %arg0: f32) -> memref<2x!pt> attributes {heir.interface = {entry_arg_indices = array<i64: 2>, func_name = "two", roles = ["server.preprocessing"]}} {
    %c32 = arith.constant 32 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %0 = memref.get_global @__constant_32xf32 : memref<32xf32>
    %alloc = memref.alloc() : memref<2x!pt>
    %pt = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %0, %pt <scale = 45> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_0, %alloc[%c0] : memref<2x!pt>
    %alloc_1 = memref.alloc() alignment = 64 : memref<32xf32>
    scf.for %arg1 = %c0 to %c32 step %c1 {
      memref.store %arg0, %alloc_1[%arg1] : memref<32xf32>
    }
    %pt_2 = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_3 = lattigo.ckks.encode %encoder, %alloc_1, %pt_2 <scale = 45> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_3, %alloc[%c1] : memref<2x!pt>
    return %alloc : memref<2x!pt>
  }
  func.func @two__preprocessed(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: memref<1x!ct, strided<[?], offset: ?>> {tensor_ext.original_type = #original_type1}, %arg2: f32, %arg3: memref<2x!pt>) -> (memref<1x!ct>, memref<1x!ct>) attributes {heir.interface = {func_name = "two", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pt = memref.load %arg3[%c0] : memref<2x!pt>
    %ct = memref.load %arg0[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %ct_0 = lattigo.rlwe.negate_new %evaluator, %ct : (!evaluator, !ct) -> !ct
    %ct_1 = lattigo.ckks.add %evaluator, %ct_0, %pt, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %pt_2 = memref.load %arg3[%c1] : memref<2x!pt>
    %ct_3 = memref.load %arg1[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %ct_4 = lattigo.ckks.mul_new %evaluator, %ct_3, %pt_2 : (!evaluator, !ct, !pt) -> !ct
    %ct_5 = lattigo.ckks.rescale %evaluator, %ct_4, %ct_4 : (!evaluator, !ct, !ct) -> !ct
    %ct_6 = lattigo.ckks.mul_new %evaluator, %ct_3, %pt : (!evaluator, !ct, !pt) -> !ct
    %ct_7 = lattigo.ckks.rescale %evaluator, %ct_6, %ct_6 : (!evaluator, !ct, !ct) -> !ct
    %ct_8 = lattigo.ckks.mul %evaluator, %ct_5, %ct_7, %ct_4 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_9 = lattigo.ckks.relinearize %evaluator, %ct_8, %ct_4 : (!evaluator, !ct, !ct) -> !ct
    %ct_10 = lattigo.ckks.mul %evaluator, %ct_1, %pt, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %alloc = memref.alloc() alignment = 64 : memref<1x!ct>
    %ct_11 = lattigo.ckks.rescale %evaluator, %ct_10, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %alloc_12 = memref.alloc() alignment = 64 : memref<1x!ct>
    memref.store %ct_11, %alloc_12[%c0] : memref<1x!ct>
    %ct_13 = lattigo.ckks.rescale %evaluator, %ct_9, %ct_4 : (!evaluator, !ct, !ct) -> !ct
    memref.store %ct_13, %alloc[%c0] : memref<1x!ct>
    return %alloc_12, %alloc : memref<1x!ct>, memref<1x!ct>
  }
  func.func @two(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: memref<1x!ct, strided<[?], offset: ?>> {tensor_ext.original_type = #original_type1}, %arg2: f32) -> (memref<1x!ct> {tensor_ext.original_type = #original_type}, memref<1x!ct> {tensor_ext.original_type = #original_type1}) attributes {heir.interface = {func_name = "two", input_types = [tensor<8xf32>, f32, f32], result_types = [tensor<8xf32>, f32], roles = ["entry"]}} {
    %0 = call @two__preprocessing(%param, %encoder, %arg2) : (!param, !encoder, f32) -> memref<2x!pt>
    %1:2 = call @two__preprocessed(%evaluator, %param, %encoder, %arg0, %arg1, %arg2, %0) : (!evaluator, !param, !encoder, memref<1x!ct, strided<[?], offset: ?>>, memref<1x!ct, strided<[?], offset: ?>>, f32, memref<2x!pt>) -> (memref<1x!ct>, memref<1x!ct>)
    return %1#0, %1#1 : memref<1x!ct>, memref<1x!ct>
  }
  func.func @two__encrypt__arg0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: memref<8xf32, strided<[?], offset: ?>>) -> memref<1x!ct> attributes {heir.interface = {func_name = "two", index = 0 : i64, roles = ["client.encrypt"]}} {
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
  func.func @two__encrypt__arg1(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: f32) -> memref<1x!ct> attributes {heir.interface = {func_name = "two", index = 1 : i64, roles = ["client.encrypt"]}} {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c0 = arith.constant 0 : index
    %alloc = memref.alloc() alignment = 64 : memref<32xf32>
    scf.for %arg1 = %c0 to %c32 step %c1 {
      memref.store %arg0, %alloc[%arg1] : memref<32xf32>
    }
    %pt = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %alloc, %pt <scale = 45> : (!encoder, memref<32xf32>, !pt) -> !pt
    %ct = lattigo.rlwe.encrypt %encryptor, %pt_0 : (!encryptor_pk, !pt) -> !ct
    %alloc_1 = memref.alloc() alignment = 64 : memref<1x!ct>
    memref.store %ct, %alloc_1[%c0] : memref<1x!ct>
    return %alloc_1 : memref<1x!ct>
  }
  func.func @two__decrypt__result0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %decryptor: !decryptor, %arg0: memref<1x!ct, strided<[?], offset: ?>> {lwe.entry_level_depth = 1 : i64}) -> memref<8xf32> attributes {heir.interface = {func_name = "two", index = 0 : i64, roles = ["client.decrypt"]}} {
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
  func.func @two__decrypt__result1(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %decryptor: !decryptor, %arg0: memref<1x!ct, strided<[?], offset: ?>> {lwe.entry_level_depth = 2 : i64}) -> f32 attributes {heir.interface = {func_name = "two", index = 1 : i64, roles = ["client.decrypt"]}} {
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
  func.func @two__configure() -> (!evaluator, !param, !encoder, !encryptor_pk, !decryptor) {
    %param = lattigo.ckks.new_parameters_from_literal  <paramsLiteral = <logN = 14, Q = [36028797017456641, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>> : () -> !param
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

