// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=lattigo scheme=ckks" --mlir-to-ckks=min-slot-count=64
// --scheme-to-lattigo:
//
// func.func @product(%a: tensor<3x5xf32> {secret.secret}, %b: tensor<5x2xf32> {secret.secret}) -> tensor<3x2xf32> {
//   %start = arith.constant dense<0.0> : tensor<3x2xf32>
//   %c = linalg.matmul ins(%a, %b : tensor<3x5xf32>, tensor<5x2xf32>) outs(%start : tensor<3x2xf32>) -> tensor<3x2xf32>
//   return %c : tensor<3x2xf32>
// }

!ct = !lattigo.rlwe.ciphertext
!decryptor = !lattigo.rlwe.decryptor
!ekset = !lattigo.rlwe.evaluation_key_set
!encoder = !lattigo.ckks.encoder
!encryptor_pk = !lattigo.rlwe.encryptor<publicKey = true>
!evaluator = !lattigo.ckks.evaluator
!gk_g125 = !lattigo.rlwe.galois_key<galoisElement = 125 : i64>
!gk_g15625 = !lattigo.rlwe.galois_key<galoisElement = 15625 : i64>
!gk_g16873 = !lattigo.rlwe.galois_key<galoisElement = 16873 : i64>
!gk_g19025 = !lattigo.rlwe.galois_key<galoisElement = 19025 : i64>
!gk_g19813 = !lattigo.rlwe.galois_key<galoisElement = 19813 : i64>
!gk_g27337 = !lattigo.rlwe.galois_key<galoisElement = 27337 : i64>
!gk_g30177 = !lattigo.rlwe.galois_key<galoisElement = 30177 : i64>
!kgen = !lattigo.rlwe.key_generator
!param = !lattigo.ckks.parameter
!pk = !lattigo.rlwe.public_key
!pt = !lattigo.rlwe.plaintext
!rk = !lattigo.rlwe.relinearization_key
!sk = !lattigo.rlwe.secret_key
#layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (2i0 + 3i1 + slot) mod 6 = 0 and 0 <= i0 <= 2 and 0 <= i1 <= 1 and 0 <= slot <= 63 }">
#original_type = #tensor_ext.original_type<originalType = tensor<3x2xf32>, layout = #layout>
module attributes {backend.lattigo, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} {
  memref.global "private" constant @__constant_64xf32_0 : memref<64xf32> = dense<[1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> alignment = 64
  memref.global "private" constant @__constant_64xf32 : memref<64xf32> = dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00]> alignment = 64
  memref.global "private" constant @__constant_1x64xf32 : memref<1x64xf32> = dense<0.000000e+00> alignment = 64
  memref.global "private" constant @__constant_3x2xf32 : memref<3x2xf32> = dense<0.000000e+00> alignment = 64
  func.func @product__preprocessing(%param: !param, %encoder: !encoder) -> memref<2x!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "product", roles = ["server.preprocessing"]}} {
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %0 = memref.get_global @__constant_64xf32 : memref<64xf32>
    %1 = memref.get_global @__constant_64xf32_0 : memref<64xf32>
    %alloc = memref.alloc() : memref<2x!pt>
    %pt = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %1, %pt <scale = 45> : (!encoder, memref<64xf32>, !pt) -> !pt
    memref.store %pt_0, %alloc[%c0] : memref<2x!pt>
    %pt_1 = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_2 = lattigo.ckks.encode %encoder, %0, %pt_1 <scale = 45> : (!encoder, memref<64xf32>, !pt) -> !pt
    memref.store %pt_2, %alloc[%c1] : memref<2x!pt>
    return %alloc : memref<2x!pt>
  }
  func.func @product__preprocessed(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 3, 5>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<3x5xf32>, layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (5i0 - 6i1 + slot) mod 15 = 0 and 0 <= i0 <= 2 and 0 <= i1 <= 4 and 0 <= slot <= 63 }">>}, %arg1: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5, 2>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<5x2xf32>, layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (4i0 + 5i1 + slot) mod 10 = 0 and 0 <= i0 <= 4 and 0 <= i1 <= 1 and 0 <= slot <= 63 }">>}, %arg2: memref<2x!pt>) -> memref<1x!ct> attributes {heir.interface = {func_name = "product", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %c14 = arith.constant 14 : index
    %c12 = arith.constant 12 : index
    %c6 = arith.constant 6 : index
    %c8 = arith.constant 8 : index
    %c3 = arith.constant 3 : index
    %c9 = arith.constant 9 : index
    %c22 = arith.constant 22 : index
    %c1 = arith.constant 1 : index
    %ct = memref.load %arg1[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %ct_0 = memref.load %arg0[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %ct_1 = lattigo.ckks.mul_new %evaluator, %ct, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_2 = lattigo.ckks.relinearize %evaluator, %ct_1, %ct_1 : (!evaluator, !ct, !ct) -> !ct
    %ct_3 = lattigo.ckks.rotate_new %evaluator, %ct, %c8 : (!evaluator, !ct, index) -> !ct
    %ct_4 = lattigo.ckks.rotate_new %evaluator, %ct_0, %c3 : (!evaluator, !ct, index) -> !ct
    %ct_5 = lattigo.ckks.mul %evaluator, %ct_3, %ct_4, %ct_3 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_6 = lattigo.ckks.relinearize %evaluator, %ct_5, %ct_3 : (!evaluator, !ct, !ct) -> !ct
    %ct_7 = lattigo.ckks.rotate %evaluator, %ct_2, %ct_4, %c6 : (!evaluator, !ct, !ct, index) -> !ct
    %ct_8 = lattigo.ckks.rotate_new %evaluator, %ct, %c14 : (!evaluator, !ct, index) -> !ct
    %ct_9 = lattigo.ckks.rotate_new %evaluator, %ct_0, %c9 : (!evaluator, !ct, index) -> !ct
    %ct_10 = lattigo.ckks.mul %evaluator, %ct_8, %ct_9, %ct_8 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_11 = lattigo.ckks.relinearize %evaluator, %ct_10, %ct_8 : (!evaluator, !ct, !ct) -> !ct
    %ct_12 = lattigo.ckks.rotate %evaluator, %ct_2, %ct_9, %c12 : (!evaluator, !ct, !ct, index) -> !ct
    %ct_13 = lattigo.ckks.add %evaluator, %ct_2, %ct_6, %ct_1 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_14 = lattigo.ckks.add %evaluator, %ct_7, %ct_11, %ct_3 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_15 = lattigo.ckks.add %evaluator, %ct_14, %ct_12, %ct_3 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_16 = lattigo.ckks.add %evaluator, %ct_13, %ct_15, %ct_1 : (!evaluator, !ct, !ct, !ct) -> !ct
    %ct_17 = lattigo.ckks.rescale %evaluator, %ct_16, %ct_3 : (!evaluator, !ct, !ct) -> !ct
    %pt = memref.load %arg2[%c0] : memref<2x!pt>
    %ct_18 = lattigo.ckks.mul %evaluator, %ct_17, %pt, %ct_3 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_19 = lattigo.ckks.rotate %evaluator, %ct_16, %ct_1, %c22 : (!evaluator, !ct, !ct, index) -> !ct
    %ct_20 = lattigo.ckks.rescale %evaluator, %ct_19, %ct_1 : (!evaluator, !ct, !ct) -> !ct
    %pt_21 = memref.load %arg2[%c1] : memref<2x!pt>
    %ct_22 = lattigo.ckks.mul %evaluator, %ct_20, %pt_21, %ct_1 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_23 = lattigo.ckks.add %evaluator, %ct_18, %ct_22, %ct_1 : (!evaluator, !ct, !ct, !ct) -> !ct
    %alloc = memref.alloc() alignment = 64 : memref<1x!ct>
    %ct_24 = lattigo.ckks.rescale %evaluator, %ct_23, %ct_1 : (!evaluator, !ct, !ct) -> !ct
    memref.store %ct_24, %alloc[%c0] : memref<1x!ct>
    return %alloc : memref<1x!ct>
  }
  func.func @product(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 3, 5>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<3x5xf32>, layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (5i0 - 6i1 + slot) mod 15 = 0 and 0 <= i0 <= 2 and 0 <= i1 <= 4 and 0 <= slot <= 63 }">>}, %arg1: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5, 2>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<5x2xf32>, layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (4i0 + 5i1 + slot) mod 10 = 0 and 0 <= i0 <= 4 and 0 <= i1 <= 1 and 0 <= slot <= 63 }">>}) -> (memref<1x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "product", input_types = [tensor<3x5xf32>, tensor<5x2xf32>], result_types = [tensor<3x2xf32>], roles = ["entry"]}} {
    %0 = call @product__preprocessing(%param, %encoder) : (!param, !encoder) -> memref<2x!pt>
    %1 = call @product__preprocessed(%evaluator, %param, %encoder, %arg0, %arg1, %0) : (!evaluator, !param, !encoder, memref<1x!ct, strided<[?], offset: ?>>, memref<1x!ct, strided<[?], offset: ?>>, memref<2x!pt>) -> memref<1x!ct>
    return %1 : memref<1x!ct>
  }
  func.func @product__encrypt__arg0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: memref<3x5xf32, strided<[?, ?], offset: ?>>) -> memref<1x!ct> attributes {heir.interface = {func_name = "product", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c5 = arith.constant 5 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %0 = memref.get_global @__constant_1x64xf32 : memref<1x64xf32>
    %alloc = memref.alloc() alignment = 64 : memref<1x64xf32>
    memref.copy %0, %alloc : memref<1x64xf32> to memref<1x64xf32>
    scf.for %arg1 = %c0 to %c64 step %c1 {
      %1 = arith.remsi %arg1, %c3 : index
      %2 = arith.remsi %arg1, %c5 : index
      %3 = memref.load %arg0[%1, %2] : memref<3x5xf32, strided<[?, ?], offset: ?>>
      memref.store %3, %alloc[%c0, %arg1] : memref<1x64xf32>
    }
    %subview = memref.subview %alloc[0, 0] [1, 64] [1, 1] : memref<1x64xf32> to memref<64xf32, strided<[1]>>
    %pt = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %subview, %pt <scale = 45> : (!encoder, memref<64xf32, strided<[1]>>, !pt) -> !pt
    %ct = lattigo.rlwe.encrypt %encryptor, %pt_0 : (!encryptor_pk, !pt) -> !ct
    %alloc_1 = memref.alloc() alignment = 64 : memref<1x!ct>
    memref.store %ct, %alloc_1[%c0] : memref<1x!ct>
    return %alloc_1 : memref<1x!ct>
  }
  func.func @product__encrypt__arg1(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: memref<5x2xf32, strided<[?, ?], offset: ?>>) -> memref<1x!ct> attributes {heir.interface = {func_name = "product", index = 1 : i64, roles = ["client.encrypt"]}} {
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %0 = memref.get_global @__constant_1x64xf32 : memref<1x64xf32>
    %alloc = memref.alloc() alignment = 64 : memref<1x64xf32>
    memref.copy %0, %alloc : memref<1x64xf32> to memref<1x64xf32>
    scf.for %arg1 = %c0 to %c64 step %c1 {
      %1 = arith.remsi %arg1, %c5 : index
      %2 = arith.remsi %arg1, %c2 : index
      %3 = memref.load %arg0[%1, %2] : memref<5x2xf32, strided<[?, ?], offset: ?>>
      memref.store %3, %alloc[%c0, %arg1] : memref<1x64xf32>
    }
    %subview = memref.subview %alloc[0, 0] [1, 64] [1, 1] : memref<1x64xf32> to memref<64xf32, strided<[1]>>
    %pt = lattigo.ckks.new_plaintext %param <level = 2> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %subview, %pt <scale = 45> : (!encoder, memref<64xf32, strided<[1]>>, !pt) -> !pt
    %ct = lattigo.rlwe.encrypt %encryptor, %pt_0 : (!encryptor_pk, !pt) -> !ct
    %alloc_1 = memref.alloc() alignment = 64 : memref<1x!ct>
    memref.store %ct, %alloc_1[%c0] : memref<1x!ct>
    return %alloc_1 : memref<1x!ct>
  }
  func.func @product__decrypt__result0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %decryptor: !decryptor, %arg0: memref<1x!ct, strided<[?], offset: ?>> {lwe.entry_level_depth = 2 : i64}) -> memref<3x2xf32> attributes {heir.interface = {func_name = "product", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c64_i32 = arith.constant 64 : i32
    %c6_i32 = arith.constant 6 : i32
    %c5_i32 = arith.constant 5 : i32
    %c3_i32 = arith.constant 3 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c0_i32 = arith.constant 0 : i32
    %c58_i32 = arith.constant 58 : i32
    %0 = memref.get_global @__constant_3x2xf32 : memref<3x2xf32>
    %1 = memref.get_global @__constant_1x64xf32 : memref<1x64xf32>
    %ct = memref.load %arg0[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %pt = lattigo.rlwe.decrypt %decryptor, %ct : (!decryptor, !ct) -> !pt
    %alloc = memref.alloc() alignment = 64 : memref<1x64xf32>
    memref.copy %1, %alloc : memref<1x64xf32> to memref<1x64xf32>
    %2 = lattigo.ckks.decode %encoder, %pt, %alloc : (!encoder, !pt, memref<1x64xf32>) -> memref<1x64xf32>
    %alloc_0 = memref.alloc() alignment = 64 : memref<3x2xf32>
    memref.copy %0, %alloc_0 : memref<3x2xf32> to memref<3x2xf32>
    scf.for %arg1 = %c0_i32 to %c3_i32 step %c1_i32  : i32 {
      %3 = arith.subi %c2_i32, %arg1 : i32
      scf.for %arg2 = %c0_i32 to %c2_i32 step %c1_i32  : i32 {
        %4 = arith.subi %c1_i32, %arg2 : i32
        %5 = arith.muli %3, %c2_i32 : i32
        %6 = arith.muli %4, %c3_i32 : i32
        %7 = arith.addi %5, %6 : i32
        %8 = arith.addi %7, %c5_i32 : i32
        %9 = arith.floordivsi %8, %c6_i32 : i32
        %10 = arith.muli %9, %c6_i32 : i32
        %11 = arith.subi %8, %10 : i32
        %12 = arith.subi %c5_i32, %11 : i32
        scf.for %arg3 = %12 to %c64_i32 step %c6_i32  : i32 {
          %13 = arith.addi %11, %c58_i32 : i32
          %14 = arith.floordivsi %13, %c6_i32 : i32
          %15 = arith.muli %14, %c6_i32 : i32
          %16 = arith.addi %12, %15 : i32
          %17 = arith.subi %arg3, %12 : i32
          %18 = arith.subi %16, %17 : i32
          %19 = arith.index_cast %18 : i32 to index
          %20 = memref.load %2[%c0, %19] : memref<1x64xf32>
          %21 = arith.index_cast %3 : i32 to index
          %22 = arith.index_cast %4 : i32 to index
          memref.store %20, %alloc_0[%21, %22] : memref<3x2xf32>
        }
      }
    }
    return %alloc_0 : memref<3x2xf32>
  }
  func.func @product__configure() -> (!evaluator, !param, !encoder, !encryptor_pk, !decryptor) {
    %param = lattigo.ckks.new_parameters_from_literal  <paramsLiteral = <logN = 14, Q = [36028797017456641, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>> : () -> !param
    %encoder = lattigo.ckks.new_encoder %param : (!param) -> !encoder
    %kgen = lattigo.rlwe.new_key_generator %param : (!param) -> !kgen
    %secretKey, %publicKey = lattigo.rlwe.gen_key_pair %kgen : (!kgen) -> (!sk, !pk)
    %encryptor = lattigo.rlwe.new_encryptor %param, %publicKey : (!param, !pk) -> !encryptor_pk
    %decryptor = lattigo.rlwe.new_decryptor %param, %secretKey : (!param, !sk) -> !decryptor
    %rk = lattigo.rlwe.gen_relinearization_key %kgen, %secretKey : (!kgen, !sk) -> !rk
    %gk = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 16873 : i64> : (!kgen, !sk) -> !gk_g16873
    %gk_0 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 19813 : i64> : (!kgen, !sk) -> !gk_g19813
    %gk_1 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 15625 : i64> : (!kgen, !sk) -> !gk_g15625
    %gk_2 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 30177 : i64> : (!kgen, !sk) -> !gk_g30177
    %gk_3 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 27337 : i64> : (!kgen, !sk) -> !gk_g27337
    %gk_4 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 125 : i64> : (!kgen, !sk) -> !gk_g125
    %gk_5 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 19025 : i64> : (!kgen, !sk) -> !gk_g19025
    %ekset = lattigo.rlwe.new_evaluation_key_set %rk, %gk, %gk_0, %gk_1, %gk_2, %gk_3, %gk_4, %gk_5 : (!rk, !gk_g16873, !gk_g19813, !gk_g15625, !gk_g30177, !gk_g27337, !gk_g125, !gk_g19025) -> !ekset
    %evaluator = lattigo.ckks.new_evaluator %param, %ekset : (!param, !ekset) -> !evaluator
    return %evaluator, %param, %encoder, %encryptor, %decryptor : !evaluator, !param, !encoder, !encryptor_pk, !decryptor
  }
}

