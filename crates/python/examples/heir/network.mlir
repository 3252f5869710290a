// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=lattigo scheme=ckks" --mlir-to-ckks=min-slot-count=32
// --scheme-to-lattigo:
//
// func.func @network(%w1: tensor<8x16xf32>, %b1: tensor<8xf32>, %w2: tensor<4x8xf32>, %b2: tensor<4xf32>, %x: tensor<16xf32> {secret.secret}) -> tensor<4xf32> {
//   %zero = arith.constant dense<0.0> : tensor<8xf32>
//   %h = linalg.matvec ins(%w1, %x : tensor<8x16xf32>, tensor<16xf32>) outs(%b1 : tensor<8xf32>) -> tensor<8xf32>
//   %r = arith.maximumf %h, %zero {domain_lower = -2.0, domain_upper = 2.0} : tensor<8xf32>
//   %y = linalg.matvec ins(%w2, %r : tensor<4x8xf32>, tensor<8xf32>) outs(%b2 : tensor<4xf32>) -> tensor<4xf32>
//   return %y : tensor<4xf32>
// }

!ct = !lattigo.rlwe.ciphertext
!decryptor = !lattigo.rlwe.decryptor
!ekset = !lattigo.rlwe.evaluation_key_set
!encoder = !lattigo.ckks.encoder
!encryptor_pk = !lattigo.rlwe.encryptor<publicKey = true>
!evaluator = !lattigo.ckks.evaluator
!gk_g15625 = !lattigo.rlwe.galois_key<galoisElement = 15625 : i64>
!gk_g25 = !lattigo.rlwe.galois_key<galoisElement = 25 : i64>
!gk_g5 = !lattigo.rlwe.galois_key<galoisElement = 5 : i64>
!gk_g625 = !lattigo.rlwe.galois_key<galoisElement = 625 : i64>
!gk_g62945 = !lattigo.rlwe.galois_key<galoisElement = 62945 : i64>
!kgen = !lattigo.rlwe.key_generator
!linear_transformation = !lattigo.ckks.linear_transformation
!param = !lattigo.ckks.parameter
!pk = !lattigo.rlwe.public_key
!poly_evaluator = !lattigo.ckks.polynomial_evaluator
!pt = !lattigo.rlwe.plaintext
!rk = !lattigo.rlwe.relinearization_key
!sk = !lattigo.rlwe.secret_key
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 4 = 0 and 0 <= i0 <= 3 and 0 <= slot <= 31 }">
#original_type = #tensor_ext.original_type<originalType = tensor<4xf32>, layout = #layout>
module attributes {backend.lattigo, scheme.actual_slot_count = 16384 : i64, scheme.ckks, scheme.requested_slot_count = 32 : i64} {
  memref.global "private" constant @__constant_32xf32 : memref<32xf32> = dense<1.000000e+00> alignment = 64
  memref.global "private" constant @__constant_8xf32 : memref<8xf32> = dense<5.000000e-01> alignment = 64
  memref.global "private" constant @__constant_4x32xf32 : memref<4x32xf32> = dense<0.000000e+00> alignment = 64
  memref.global "private" constant @__constant_8x32xf32 : memref<8x32xf32> = dense<0.000000e+00> alignment = 64
  memref.global "private" constant @__constant_1x32xf32 : memref<1x32xf32> = dense<0.000000e+00> alignment = 64
  memref.global "private" constant @__constant_4xf32 : memref<4xf32> = dense<0.000000e+00> alignment = 64
  func.func private @_assign_layout_3786749564158598342(%arg0: memref<4xf32, strided<[?], offset: ?>>) -> memref<1x32xf32> attributes {heir.interface = {func_name = "network", roles = ["client.pack"]}} {
    %c32_i32 = arith.constant 32 : i32
    %c0 = arith.constant 0 : index
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = memref.get_global @__constant_1x32xf32 : memref<1x32xf32>
    %alloc = memref.alloc() alignment = 64 : memref<1x32xf32>
    memref.copy %0, %alloc : memref<1x32xf32> to memref<1x32xf32>
    scf.for %arg1 = %c0_i32 to %c4_i32 step %c1_i32  : i32 {
      scf.for %arg2 = %arg1 to %c32_i32 step %c4_i32  : i32 {
        %1 = arith.index_cast %arg1 : i32 to index
        %2 = memref.load %arg0[%1] : memref<4xf32, strided<[?], offset: ?>>
        %3 = arith.index_cast %arg2 : i32 to index
        memref.store %2, %alloc[%c0, %3] : memref<1x32xf32>
      }
    }
    return %alloc : memref<1x32xf32>
  }
  func.func private @_assign_layout_14243622180815032803(%arg0: memref<4x8xf32, strided<[?, ?], offset: ?>>) -> memref<4x32xf32> attributes {heir.interface = {func_name = "network", roles = ["client.pack"]}} {
    %c32_i32 = arith.constant 32 : i32
    %c8_i32 = arith.constant 8 : i32
    %c4_i32 = arith.constant 4 : i32
    %c7_i32 = arith.constant 7 : i32
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = memref.get_global @__constant_4x32xf32 : memref<4x32xf32>
    %alloc = memref.alloc() alignment = 64 : memref<4x32xf32>
    memref.copy %0, %alloc : memref<4x32xf32> to memref<4x32xf32>
    scf.for %arg1 = %c0_i32 to %c4_i32 step %c1_i32  : i32 {
      scf.for %arg2 = %c0_i32 to %c8_i32 step %c1_i32  : i32 {
        scf.for %arg3 = %arg1 to %c32_i32 step %c4_i32  : i32 {
          %1 = arith.subi %arg1, %arg2 : i32
          %2 = arith.addi %1, %c7_i32 : i32
          %3 = arith.floordivsi %2, %c4_i32 : i32
          %4 = arith.muli %3, %c4_i32 : i32
          %5 = arith.subi %2, %4 : i32
          %6 = arith.addi %5, %arg2 : i32
          %7 = arith.subi %6, %arg3 : i32
          %8 = arith.subi %7, %c3_i32 : i32
          %9 = arith.remsi %8, %c8_i32 : i32
          %10 = arith.cmpi eq, %9, %c0_i32 : i32
          scf.if %10 {
            %11 = arith.subi %arg2, %arg3 : i32
            %12 = arith.addi %11, %c32_i32 : i32
            %13 = arith.floordivsi %12, %c8_i32 : i32
            %14 = arith.muli %13, %c8_i32 : i32
            %15 = arith.subi %12, %14 : i32
            %16 = arith.index_cast %arg1 : i32 to index
            %17 = arith.index_cast %arg2 : i32 to index
            %18 = memref.load %arg0[%16, %17] : memref<4x8xf32, strided<[?, ?], offset: ?>>
            %19 = arith.index_cast %15 : i32 to index
            %20 = arith.index_cast %arg3 : i32 to index
            memref.store %18, %alloc[%19, %20] : memref<4x32xf32>
          }
        }
      }
    }
    return %alloc : memref<4x32xf32>
  }
  func.func private @_assign_layout_12960034111623794214(%arg0: memref<8xf32, strided<[?], offset: ?>>) -> memref<1x32xf32> attributes {heir.interface = {func_name = "network", roles = ["client.pack"]}} {
    %c32_i32 = arith.constant 32 : i32
    %c0 = arith.constant 0 : index
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
    return %alloc : memref<1x32xf32>
  }
  func.func private @_assign_layout_14297751333967614451(%arg0: memref<8x16xf32, strided<[?, ?], offset: ?>>) -> memref<8x32xf32> attributes {heir.interface = {func_name = "network", roles = ["client.pack"]}} {
    %c32_i32 = arith.constant 32 : i32
    %c16_i32 = arith.constant 16 : i32
    %c8_i32 = arith.constant 8 : i32
    %c15_i32 = arith.constant 15 : i32
    %c1_i32 = arith.constant 1 : i32
    %c7_i32 = arith.constant 7 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = memref.get_global @__constant_8x32xf32 : memref<8x32xf32>
    %alloc = memref.alloc() alignment = 64 : memref<8x32xf32>
    memref.copy %0, %alloc : memref<8x32xf32> to memref<8x32xf32>
    scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32  : i32 {
      scf.for %arg2 = %c0_i32 to %c16_i32 step %c1_i32  : i32 {
        scf.for %arg3 = %arg1 to %c32_i32 step %c8_i32  : i32 {
          %1 = arith.subi %arg1, %arg2 : i32
          %2 = arith.addi %1, %c15_i32 : i32
          %3 = arith.floordivsi %2, %c8_i32 : i32
          %4 = arith.muli %3, %c8_i32 : i32
          %5 = arith.subi %2, %4 : i32
          %6 = arith.addi %5, %arg2 : i32
          %7 = arith.subi %6, %arg3 : i32
          %8 = arith.subi %7, %c7_i32 : i32
          %9 = arith.remsi %8, %c16_i32 : i32
          %10 = arith.cmpi eq, %9, %c0_i32 : i32
          scf.if %10 {
            %11 = arith.subi %arg2, %arg3 : i32
            %12 = arith.addi %11, %c32_i32 : i32
            %13 = arith.floordivsi %12, %c16_i32 : i32
            %14 = arith.muli %13, %c16_i32 : i32
            %15 = arith.subi %12, %14 : i32
            %16 = arith.index_cast %arg1 : i32 to index
            %17 = arith.index_cast %arg2 : i32 to index
            %18 = memref.load %arg0[%16, %17] : memref<8x16xf32, strided<[?, ?], offset: ?>>
            %19 = arith.index_cast %15 : i32 to index
            %20 = arith.index_cast %arg3 : i32 to index
            memref.store %18, %alloc[%19, %20] : memref<8x32xf32>
          }
        }
      }
    }
    return %alloc : memref<8x32xf32>
  }
  func.func @network__preprocessing(%param: !param, %encoder: !encoder, %arg0: memref<4xf32, strided<[?], offset: ?>>, %arg1: memref<4x8xf32, strided<[?, ?], offset: ?>>, %arg2: memref<8xf32, strided<[?], offset: ?>>, %arg3: memref<8x16xf32, strided<[?, ?], offset: ?>>) -> (memref<2x!linear_transformation>, memref<5x!pt>) attributes {heir.interface = {entry_arg_indices = array<i64: 3, 2, 1, 0>, func_name = "network", roles = ["server.preprocessing"]}} {
    %c4 = arith.constant 4 : index
    %c3 = arith.constant 3 : index
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %0 = memref.get_global @__constant_8xf32 : memref<8xf32>
    %1 = memref.get_global @__constant_32xf32 : memref<32xf32>
    %alloc = memref.alloc() : memref<2x!linear_transformation>
    %alloc_0 = memref.alloc() : memref<5x!pt>
    %2 = call @_assign_layout_14297751333967614451(%arg3) : (memref<8x16xf32, strided<[?, ?], offset: ?>>) -> memref<8x32xf32>
    %3 = call @_assign_layout_12960034111623794214(%arg2) : (memref<8xf32, strided<[?], offset: ?>>) -> memref<1x32xf32>
    %cast = memref.cast %0 : memref<8xf32> to memref<8xf32, strided<[?], offset: ?>>
    %4 = call @_assign_layout_12960034111623794214(%cast) : (memref<8xf32, strided<[?], offset: ?>>) -> memref<1x32xf32>
    %5 = call @_assign_layout_14243622180815032803(%arg1) : (memref<4x8xf32, strided<[?, ?], offset: ?>>) -> memref<4x32xf32>
    %6 = call @_assign_layout_3786749564158598342(%arg0) : (memref<4xf32, strided<[?], offset: ?>>) -> memref<1x32xf32>
    %linear_transformation = lattigo.ckks.prepare_linear_transform %param, %encoder, %2 <diagonal_indices = [0, 1, 2, 3, 4, 5, 6, 7], levelQ = 8 : i64, logSlots = 5 : i64, logBabyStepGiantStepRatio = 0 : i64> : (!param, !encoder, memref<8x32xf32>) -> !linear_transformation
    memref.store %linear_transformation, %alloc[%c0] : memref<2x!linear_transformation>
    %subview = memref.subview %3[0, 0] [1, 32] [1, 1] : memref<1x32xf32> to memref<32xf32, strided<[1]>>
    %pt = lattigo.ckks.new_plaintext %param <level = 7> : (!param) -> !pt
    %pt_1 = lattigo.ckks.encode %encoder, %subview, %pt <scale = 45> : (!encoder, memref<32xf32, strided<[1]>>, !pt) -> !pt
    memref.store %pt_1, %alloc_0[%c0] : memref<5x!pt>
    %pt_2 = lattigo.ckks.new_plaintext %param <level = 7> : (!param) -> !pt
    %pt_3 = lattigo.ckks.encode %encoder, %1, %pt_2 <scale = 45> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_3, %alloc_0[%c1] : memref<5x!pt>
    %subview_4 = memref.subview %4[0, 0] [1, 32] [1, 1] : memref<1x32xf32> to memref<32xf32, strided<[1]>>
    %pt_5 = lattigo.ckks.new_plaintext %param <level = 6> : (!param) -> !pt
    %pt_6 = lattigo.ckks.encode %encoder, %subview_4, %pt_5 <scale = 45> : (!encoder, memref<32xf32, strided<[1]>>, !pt) -> !pt
    memref.store %pt_6, %alloc_0[%c2] : memref<5x!pt>
    %linear_transformation_7 = lattigo.ckks.prepare_linear_transform %param, %encoder, %5 <diagonal_indices = [0, 1, 2, 3], levelQ = 2 : i64, logSlots = 5 : i64, logBabyStepGiantStepRatio = 0 : i64> : (!param, !encoder, memref<4x32xf32>) -> !linear_transformation
    memref.store %linear_transformation_7, %alloc[%c1] : memref<2x!linear_transformation>
    %subview_8 = memref.subview %6[0, 0] [1, 32] [1, 1] : memref<1x32xf32> to memref<32xf32, strided<[1]>>
    %pt_9 = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_10 = lattigo.ckks.encode %encoder, %subview_8, %pt_9 <scale = 45> : (!encoder, memref<32xf32, strided<[1]>>, !pt) -> !pt
    memref.store %pt_10, %alloc_0[%c3] : memref<5x!pt>
    %pt_11 = lattigo.ckks.new_plaintext %param <level = 1> : (!param) -> !pt
    %pt_12 = lattigo.ckks.encode %encoder, %1, %pt_11 <scale = 45> : (!encoder, memref<32xf32>, !pt) -> !pt
    memref.store %pt_12, %alloc_0[%c4] : memref<5x!pt>
    return %alloc, %alloc_0 : memref<2x!linear_transformation>, memref<5x!pt>
  }
  func.func @network__preprocessed(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<8x16xf32, strided<[?, ?], offset: ?>>, %arg1: memref<8xf32, strided<[?], offset: ?>>, %arg2: memref<4x8xf32, strided<[?, ?], offset: ?>>, %arg3: memref<4xf32, strided<[?], offset: ?>>, %arg4: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<16xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 16 = 0 and 0 <= i0 <= 15 and 0 <= slot <= 31 }">>}, %arg5: memref<2x!linear_transformation>, %arg6: memref<5x!pt>) -> memref<1x!ct> attributes {heir.interface = {func_name = "network", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %poly_evaluator = lattigo.ckks.new_polynomial_evaluator %param, %evaluator : (!param, !evaluator) -> !poly_evaluator
    %linear_transformation = memref.load %arg5[%c0] : memref<2x!linear_transformation>
    %ct = memref.load %arg4[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %ct_0 = lattigo.ckks.apply_linear_transform %evaluator, %ct, %linear_transformation : (!evaluator, !ct, !linear_transformation) -> !ct
    %ct_1 = lattigo.ckks.rescale %evaluator, %ct_0, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_2 = lattigo.ckks.rotate_new %evaluator, %ct_1, %c8 : (!evaluator, !ct, index) -> !ct
    %pt = memref.load %arg6[%c0] : memref<5x!pt>
    %ct_3 = lattigo.ckks.add %evaluator, %ct_1, %pt, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_4 = lattigo.ckks.add %evaluator, %ct_3, %ct_2, %ct_0 : (!evaluator, !ct, !ct, !ct) -> !ct
    %pt_5 = memref.load %arg6[%c1] : memref<5x!pt>
    %ct_6 = lattigo.ckks.mul %evaluator, %ct_4, %pt_5, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_7 = lattigo.ckks.rescale %evaluator, %ct_6, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %pt_8 = memref.load %arg6[%c2] : memref<5x!pt>
    %ct_9 = lattigo.ckks.mul %evaluator, %ct_7, %pt_8, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_10 = lattigo.ckks.rescale %evaluator, %ct_9, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_11 = lattigo.ckks.chebyshev %poly_evaluator, %ct_10 <coefficients = [0.63393991028159502, 1.000000e+00, 0.43075053667521668, -7.2815346119115002E-17, -0.12656936164678284, -1.7140044322155352E-17], targetScale = 35184372088832 : i64, domain = [-1.000000e+00, 1.000000e+00]> : (!poly_evaluator, !ct) -> !ct
    %linear_transformation_12 = memref.load %arg5[%c1] : memref<2x!linear_transformation>
    %ct_13 = lattigo.ckks.apply_linear_transform %evaluator, %ct_11, %linear_transformation_12 : (!evaluator, !ct, !linear_transformation) -> !ct
    %ct_14 = lattigo.ckks.rescale %evaluator, %ct_13, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    %ct_15 = lattigo.ckks.rotate %evaluator, %ct_14, %ct_2, %c4 : (!evaluator, !ct, !ct, index) -> !ct
    %pt_16 = memref.load %arg6[%c3] : memref<5x!pt>
    %ct_17 = lattigo.ckks.add %evaluator, %ct_14, %pt_16, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %ct_18 = lattigo.ckks.add %evaluator, %ct_17, %ct_15, %ct_0 : (!evaluator, !ct, !ct, !ct) -> !ct
    %pt_19 = memref.load %arg6[%c4] : memref<5x!pt>
    %ct_20 = lattigo.ckks.mul %evaluator, %ct_18, %pt_19, %ct_0 : (!evaluator, !ct, !pt, !ct) -> !ct
    %alloc = memref.alloc() alignment = 64 : memref<1x!ct>
    %ct_21 = lattigo.ckks.rescale %evaluator, %ct_20, %ct_0 : (!evaluator, !ct, !ct) -> !ct
    memref.store %ct_21, %alloc[%c0] : memref<1x!ct>
    return %alloc : memref<1x!ct>
  }
  func.func @network(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %arg0: memref<8x16xf32, strided<[?, ?], offset: ?>>, %arg1: memref<8xf32, strided<[?], offset: ?>>, %arg2: memref<4x8xf32, strided<[?, ?], offset: ?>>, %arg3: memref<4xf32, strided<[?], offset: ?>>, %arg4: memref<1x!ct, strided<[?], offset: ?>> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<16xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 16 = 0 and 0 <= i0 <= 15 and 0 <= slot <= 31 }">>}) -> (memref<1x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "network", input_types = [tensor<8x16xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<16xf32>], result_types = [tensor<4xf32>], roles = ["entry"]}} {
    %0:2 = call @network__preprocessing(%param, %encoder, %arg3, %arg2, %arg1, %arg0) : (!param, !encoder, memref<4xf32, strided<[?], offset: ?>>, memref<4x8xf32, strided<[?, ?], offset: ?>>, memref<8xf32, strided<[?], offset: ?>>, memref<8x16xf32, strided<[?, ?], offset: ?>>) -> (memref<2x!linear_transformation>, memref<5x!pt>)
    %1 = call @network__preprocessed(%evaluator, %param, %encoder, %arg0, %arg1, %arg2, %arg3, %arg4, %0#0, %0#1) : (!evaluator, !param, !encoder, memref<8x16xf32, strided<[?, ?], offset: ?>>, memref<8xf32, strided<[?], offset: ?>>, memref<4x8xf32, strided<[?, ?], offset: ?>>, memref<4xf32, strided<[?], offset: ?>>, memref<1x!ct, strided<[?], offset: ?>>, memref<2x!linear_transformation>, memref<5x!pt>) -> memref<1x!ct>
    return %1 : memref<1x!ct>
  }
  func.func @network__encrypt__arg4(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %encryptor: !encryptor_pk, %arg0: memref<16xf32, strided<[?], offset: ?>>) -> memref<1x!ct> attributes {heir.interface = {func_name = "network", index = 4 : i64, roles = ["client.encrypt"]}} {
    %c0 = arith.constant 0 : index
    %c32_i32 = arith.constant 32 : i32
    %c16_i32 = arith.constant 16 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = memref.get_global @__constant_1x32xf32 : memref<1x32xf32>
    %alloc = memref.alloc() alignment = 64 : memref<1x32xf32>
    memref.copy %0, %alloc : memref<1x32xf32> to memref<1x32xf32>
    scf.for %arg1 = %c0_i32 to %c16_i32 step %c1_i32  : i32 {
      scf.for %arg2 = %arg1 to %c32_i32 step %c16_i32  : i32 {
        %1 = arith.index_cast %arg1 : i32 to index
        %2 = memref.load %arg0[%1] : memref<16xf32, strided<[?], offset: ?>>
        %3 = arith.index_cast %arg2 : i32 to index
        memref.store %2, %alloc[%c0, %3] : memref<1x32xf32>
      }
    }
    %subview = memref.subview %alloc[0, 0] [1, 32] [1, 1] : memref<1x32xf32> to memref<32xf32, strided<[1]>>
    %pt = lattigo.ckks.new_plaintext %param <level = 8> : (!param) -> !pt
    %pt_0 = lattigo.ckks.encode %encoder, %subview, %pt <scale = 45> : (!encoder, memref<32xf32, strided<[1]>>, !pt) -> !pt
    %ct = lattigo.rlwe.encrypt %encryptor, %pt_0 : (!encryptor_pk, !pt) -> !ct
    %alloc_1 = memref.alloc() alignment = 64 : memref<1x!ct>
    memref.store %ct, %alloc_1[%c0] : memref<1x!ct>
    return %alloc_1 : memref<1x!ct>
  }
  func.func @network__decrypt__result0(%evaluator: !evaluator, %param: !param, %encoder: !encoder, %decryptor: !decryptor, %arg0: memref<1x!ct, strided<[?], offset: ?>> {lwe.entry_level_depth = 8 : i64}) -> memref<4xf32> attributes {heir.interface = {func_name = "network", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c32_i32 = arith.constant 32 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c0_i32 = arith.constant 0 : i32
    %c28_i32 = arith.constant 28 : i32
    %0 = memref.get_global @__constant_4xf32 : memref<4xf32>
    %1 = memref.get_global @__constant_1x32xf32 : memref<1x32xf32>
    %ct = memref.load %arg0[%c0] : memref<1x!ct, strided<[?], offset: ?>>
    %pt = lattigo.rlwe.decrypt %decryptor, %ct : (!decryptor, !ct) -> !pt
    %alloc = memref.alloc() alignment = 64 : memref<1x32xf32>
    memref.copy %1, %alloc : memref<1x32xf32> to memref<1x32xf32>
    %2 = lattigo.ckks.decode %encoder, %pt, %alloc : (!encoder, !pt, memref<1x32xf32>) -> memref<1x32xf32>
    %alloc_0 = memref.alloc() alignment = 64 : memref<4xf32>
    memref.copy %0, %alloc_0 : memref<4xf32> to memref<4xf32>
    scf.for %arg1 = %c0_i32 to %c4_i32 step %c1_i32  : i32 {
      %3 = arith.subi %c3_i32, %arg1 : i32
      scf.for %arg2 = %3 to %c32_i32 step %c4_i32  : i32 {
        %4 = arith.addi %arg1, %c28_i32 : i32
        %5 = arith.floordivsi %4, %c4_i32 : i32
        %6 = arith.muli %5, %c4_i32 : i32
        %7 = arith.addi %3, %6 : i32
        %8 = arith.subi %arg2, %3 : i32
        %9 = arith.subi %7, %8 : i32
        %10 = arith.index_cast %9 : i32 to index
        %11 = memref.load %2[%c0, %10] : memref<1x32xf32>
        %12 = arith.index_cast %3 : i32 to index
        memref.store %11, %alloc_0[%12] : memref<4xf32>
      }
    }
    return %alloc_0 : memref<4xf32>
  }
  func.func @network__configure() -> (!evaluator, !param, !encoder, !encryptor_pk, !decryptor) {
    %param = lattigo.ckks.new_parameters_from_literal  <paramsLiteral = <logN = 15, Q = [36028797017456641, 35184366911489, 35184376545281, 35184367828993, 35184373989377, 35184368025601, 35184373006337, 35184368877569, 35184372744193], P = [1152921504608747521, 1152921504614055937, 1152921504615628801], logDefaultScale = 45>> : () -> !param
    %encoder = lattigo.ckks.new_encoder %param : (!param) -> !encoder
    %kgen = lattigo.rlwe.new_key_generator %param : (!param) -> !kgen
    %secretKey, %publicKey = lattigo.rlwe.gen_key_pair %kgen : (!kgen) -> (!sk, !pk)
    %encryptor = lattigo.rlwe.new_encryptor %param, %publicKey : (!param, !pk) -> !encryptor_pk
    %decryptor = lattigo.rlwe.new_decryptor %param, %secretKey : (!param, !sk) -> !decryptor
    %rk = lattigo.rlwe.gen_relinearization_key %kgen, %secretKey : (!kgen, !sk) -> !rk
    %gk = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 25 : i64> : (!kgen, !sk) -> !gk_g25
    %gk_0 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 625 : i64> : (!kgen, !sk) -> !gk_g625
    %gk_1 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 15625 : i64> : (!kgen, !sk) -> !gk_g15625
    %gk_2 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 5 : i64> : (!kgen, !sk) -> !gk_g5
    %gk_3 = lattigo.rlwe.gen_galois_key %kgen, %secretKey <galoisElement = 62945 : i64> : (!kgen, !sk) -> !gk_g62945
    %ekset = lattigo.rlwe.new_evaluation_key_set %rk, %gk, %gk_0, %gk_1, %gk_2, %gk_3 : (!rk, !gk_g25, !gk_g625, !gk_g15625, !gk_g5, !gk_g62945) -> !ekset
    %evaluator = lattigo.ckks.new_evaluator %param, %ekset : (!param, !ekset) -> !evaluator
    return %evaluator, %param, %encoder, %encryptor, %decryptor : !evaluator, !param, !encoder, !encryptor_pk, !decryptor
  }
}

