// What heir-opt of heir-py 2026.11.1 makes of the function below, by
// --annotate-module="backend=openfhe scheme=ckks" --mlir-to-ckks=min-slot-count=32
// --scheme-to-openfhe:
//
// func.func @network(%w1: tensor<8x16xf32>, %b1: tensor<8xf32>, %w2: tensor<4x8xf32>, %b2: tensor<4xf32>, %x: tensor<16xf32> {secret.secret}) -> tensor<4xf32> {
//   %zero = arith.constant dense<0.0> : tensor<8xf32>
//   %h = linalg.matvec ins(%w1, %x : tensor<8x16xf32>, tensor<16xf32>) outs(%b1 : tensor<8xf32>) -> tensor<8xf32>
//   %r = arith.maximumf %h, %zero {domain_lower = -2.0, domain_upper = 2.0} : tensor<8xf32>
//   %y = linalg.matvec ins(%w2, %r : tensor<4x8xf32>, tensor<8xf32>) outs(%b2 : tensor<4xf32>) -> tensor<4xf32>
//   return %y : tensor<4xf32>
// }

!cc = !openfhe.crypto_context
!ct = !openfhe.ciphertext
!params = !openfhe.cc_params
!pk = !openfhe.public_key
!pt = !openfhe.plaintext
!sk = !openfhe.private_key
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 4 = 0 and 0 <= i0 <= 3 and 0 <= slot <= 31 }">
#original_type = #tensor_ext.original_type<originalType = tensor<4xf32>, layout = #layout>
module attributes {backend.openfhe, scheme.actual_slot_count = 16384 : i64, scheme.ckks, scheme.requested_slot_count = 32 : i64} {
  func.func private @_assign_layout_10467720790649874707(%arg0: tensor<4xf32>) -> tensor<1x32xf32> attributes {heir.interface = {func_name = "network", roles = ["client.pack"]}} {
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<1x32xf32>
    %c4_i32 = arith.constant 4 : i32
    %c0 = arith.constant 0 : index
    %c32_i32 = arith.constant 32 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x32xf32>)  : i32 {
      %1 = scf.for %arg3 = %arg1 to %c32_i32 step %c4_i32 iter_args(%arg4 = %arg2) -> (tensor<1x32xf32>)  : i32 {
        %2 = arith.index_cast %arg1 : i32 to index
        %extracted = tensor.extract %arg0[%2] : tensor<4xf32>
        %3 = arith.index_cast %arg3 : i32 to index
        %inserted = tensor.insert %extracted into %arg4[%c0, %3] : tensor<1x32xf32>
        scf.yield %inserted : tensor<1x32xf32>
      }
      scf.yield %1 : tensor<1x32xf32>
    }
    return %0 : tensor<1x32xf32>
  }
  func.func private @_assign_layout_8201432454059819713(%arg0: tensor<4x8xf32>) -> tensor<4x32xf32> attributes {heir.interface = {func_name = "network", roles = ["client.pack"]}} {
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<4x32xf32>
    %c7_i32 = arith.constant 7 : i32
    %c4_i32 = arith.constant 4 : i32
    %c8_i32 = arith.constant 8 : i32
    %c32_i32 = arith.constant 32 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<4x32xf32>)  : i32 {
      %1 = scf.for %arg3 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg4 = %arg2) -> (tensor<4x32xf32>)  : i32 {
        %2 = scf.for %arg5 = %arg1 to %c32_i32 step %c4_i32 iter_args(%arg6 = %arg4) -> (tensor<4x32xf32>)  : i32 {
          %3 = arith.subi %arg1, %arg3 : i32
          %4 = arith.addi %3, %c7_i32 : i32
          %5 = arith.floordivsi %4, %c4_i32 : i32
          %6 = arith.muli %5, %c4_i32 : i32
          %7 = arith.subi %4, %6 : i32
          %8 = arith.addi %7, %arg3 : i32
          %9 = arith.subi %8, %arg5 : i32
          %10 = arith.subi %9, %c3_i32 : i32
          %11 = arith.remsi %10, %c8_i32 : i32
          %12 = arith.cmpi eq, %11, %c0_i32 : i32
          %13 = scf.if %12 -> (tensor<4x32xf32>) {
            %14 = arith.subi %arg3, %arg5 : i32
            %15 = arith.addi %14, %c32_i32 : i32
            %16 = arith.floordivsi %15, %c8_i32 : i32
            %17 = arith.muli %16, %c8_i32 : i32
            %18 = arith.subi %15, %17 : i32
            %19 = arith.index_cast %arg1 : i32 to index
            %20 = arith.index_cast %arg3 : i32 to index
            %extracted = tensor.extract %arg0[%19, %20] : tensor<4x8xf32>
            %21 = arith.index_cast %18 : i32 to index
            %22 = arith.index_cast %arg5 : i32 to index
            %inserted = tensor.insert %extracted into %arg6[%21, %22] : tensor<4x32xf32>
            scf.yield %inserted : tensor<4x32xf32>
          } else {
            scf.yield %arg6 : tensor<4x32xf32>
          }
          scf.yield %13 : tensor<4x32xf32>
        }
        scf.yield %2 : tensor<4x32xf32>
      }
      scf.yield %1 : tensor<4x32xf32>
    }
    return %0 : tensor<4x32xf32>
  }
  func.func private @_assign_layout_4660806540558870612(%arg0: tensor<8xf32>) -> tensor<1x32xf32> attributes {heir.interface = {func_name = "network", roles = ["client.pack"]}} {
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<1x32xf32>
    %c8_i32 = arith.constant 8 : i32
    %c0 = arith.constant 0 : index
    %c32_i32 = arith.constant 32 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x32xf32>)  : i32 {
      %1 = scf.for %arg3 = %arg1 to %c32_i32 step %c8_i32 iter_args(%arg4 = %arg2) -> (tensor<1x32xf32>)  : i32 {
        %2 = arith.index_cast %arg1 : i32 to index
        %extracted = tensor.extract %arg0[%2] : tensor<8xf32>
        %3 = arith.index_cast %arg3 : i32 to index
        %inserted = tensor.insert %extracted into %arg4[%c0, %3] : tensor<1x32xf32>
        scf.yield %inserted : tensor<1x32xf32>
      }
      scf.yield %1 : tensor<1x32xf32>
    }
    return %0 : tensor<1x32xf32>
  }
  func.func private @_assign_layout_12042155747754636252(%arg0: tensor<8x16xf32>) -> tensor<8x32xf32> attributes {heir.interface = {func_name = "network", roles = ["client.pack"]}} {
    %c1_i32 = arith.constant 1 : i32
    %c7_i32 = arith.constant 7 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<8x32xf32>
    %c15_i32 = arith.constant 15 : i32
    %c8_i32 = arith.constant 8 : i32
    %c16_i32 = arith.constant 16 : i32
    %c32_i32 = arith.constant 32 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<8x32xf32>)  : i32 {
      %1 = scf.for %arg3 = %c0_i32 to %c16_i32 step %c1_i32 iter_args(%arg4 = %arg2) -> (tensor<8x32xf32>)  : i32 {
        %2 = scf.for %arg5 = %arg1 to %c32_i32 step %c8_i32 iter_args(%arg6 = %arg4) -> (tensor<8x32xf32>)  : i32 {
          %3 = arith.subi %arg1, %arg3 : i32
          %4 = arith.addi %3, %c15_i32 : i32
          %5 = arith.floordivsi %4, %c8_i32 : i32
          %6 = arith.muli %5, %c8_i32 : i32
          %7 = arith.subi %4, %6 : i32
          %8 = arith.addi %7, %arg3 : i32
          %9 = arith.subi %8, %arg5 : i32
          %10 = arith.subi %9, %c7_i32 : i32
          %11 = arith.remsi %10, %c16_i32 : i32
          %12 = arith.cmpi eq, %11, %c0_i32 : i32
          %13 = scf.if %12 -> (tensor<8x32xf32>) {
            %14 = arith.subi %arg3, %arg5 : i32
            %15 = arith.addi %14, %c32_i32 : i32
            %16 = arith.floordivsi %15, %c16_i32 : i32
            %17 = arith.muli %16, %c16_i32 : i32
            %18 = arith.subi %15, %17 : i32
            %19 = arith.index_cast %arg1 : i32 to index
            %20 = arith.index_cast %arg3 : i32 to index
            %extracted = tensor.extract %arg0[%19, %20] : tensor<8x16xf32>
            %21 = arith.index_cast %18 : i32 to index
            %22 = arith.index_cast %arg5 : i32 to index
            %inserted = tensor.insert %extracted into %arg6[%21, %22] : tensor<8x32xf32>
            scf.yield %inserted : tensor<8x32xf32>
          } else {
            scf.yield %arg6 : tensor<8x32xf32>
          }
          scf.yield %13 : tensor<8x32xf32>
        }
        scf.yield %2 : tensor<8x32xf32>
      }
      scf.yield %1 : tensor<8x32xf32>
    }
    return %0 : tensor<8x32xf32>
  }
  func.func @network__preprocessing(%cc: !cc, %arg0: tensor<4xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8x16xf32>) -> memref<21x!pt> attributes {heir.interface = {entry_arg_indices = array<i64: 3, 2, 1, 0>, func_name = "network", roles = ["server.preprocessing"]}} {
    %c32 = arith.constant 32 : index
    %c-3 = arith.constant -3 : index
    %c8 = arith.constant 8 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %cst = arith.constant dense<5.000000e-01> : tensor<8xf32>
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c12 = arith.constant 12 : index
    %c13 = arith.constant 13 : index
    %c14 = arith.constant 14 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c17 = arith.constant 17 : index
    %c18 = arith.constant 18 : index
    %c19 = arith.constant 19 : index
    %c20 = arith.constant 20 : index
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<32xf64>
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %cst_1 = arith.constant dense<1.000000e+00> : tensor<32xf64>
    %alloc = memref.alloc() : memref<21x!pt>
    %0 = call @_assign_layout_12042155747754636252(%arg3) : (tensor<8x16xf32>) -> tensor<8x32xf32>
    %1 = call @_assign_layout_4660806540558870612(%arg2) : (tensor<8xf32>) -> tensor<1x32xf32>
    %2 = call @_assign_layout_4660806540558870612(%cst) : (tensor<8xf32>) -> tensor<1x32xf32>
    %3 = call @_assign_layout_8201432454059819713(%arg1) : (tensor<4x8xf32>) -> tensor<4x32xf32>
    %4 = call @_assign_layout_10467720790649874707(%arg0) : (tensor<4xf32>) -> tensor<1x32xf32>
    %extracted_slice = tensor.extract_slice %3[2, 0] [1, 32] [1, 1] : tensor<4x32xf32> to tensor<1x32xf32>
    %extracted_slice_2 = tensor.extract_slice %3[2, 0] [1, 30] [1, 1] : tensor<4x32xf32> to tensor<1x30xf32>
    %extracted_slice_3 = tensor.extract_slice %3[2, 30] [1, 2] [1, 1] : tensor<4x32xf32> to tensor<1x2xf32>
    %inserted_slice = tensor.insert_slice %extracted_slice_2 into %extracted_slice[0, 2] [1, 30] [1, 1] : tensor<1x30xf32> into tensor<1x32xf32>
    %inserted_slice_4 = tensor.insert_slice %extracted_slice_3 into %inserted_slice[0, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<1x32xf32>
    %extracted_slice_5 = tensor.extract_slice %3[3, 0] [1, 32] [1, 1] : tensor<4x32xf32> to tensor<1x32xf32>
    %extracted_slice_6 = tensor.extract_slice %3[3, 0] [1, 30] [1, 1] : tensor<4x32xf32> to tensor<1x30xf32>
    %extracted_slice_7 = tensor.extract_slice %3[3, 30] [1, 2] [1, 1] : tensor<4x32xf32> to tensor<1x2xf32>
    %inserted_slice_8 = tensor.insert_slice %extracted_slice_6 into %extracted_slice_5[0, 2] [1, 30] [1, 1] : tensor<1x30xf32> into tensor<1x32xf32>
    %inserted_slice_9 = tensor.insert_slice %extracted_slice_7 into %inserted_slice_8[0, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<1x32xf32>
    %extracted_slice_10 = tensor.extract_slice %0[0, 0] [1, 32] [1, 1] : tensor<8x32xf32> to tensor<32xf32>
    %5 = arith.extf %extracted_slice_10 : tensor<32xf32> to tensor<32xf64>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %5 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt, %alloc[%c0] : memref<21x!pt>
    %pt_11 = openfhe.make_ckks_packed_plaintext %cc, %cst_0 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_11, %alloc[%c1] : memref<21x!pt>
    scf.for %arg4 = %c1 to %c3 step %c1 {
      %13 = arith.cmpi slt, %arg4, %c8 : index
      scf.if %13 {
        %extracted_slice_27 = tensor.extract_slice %0[%arg4, 0] [1, 32] [1, 1] : tensor<8x32xf32> to tensor<32xf32>
        %14 = arith.extf %extracted_slice_27 : tensor<32xf32> to tensor<32xf64>
        %pt_28 = openfhe.make_ckks_packed_plaintext %cc, %14 : (!cc, tensor<32xf64>) -> !pt
        %15 = arith.addi %arg4, %c1 : index
        memref.store %pt_28, %alloc[%15] : memref<21x!pt>
      }
    }
    scf.for %arg4 = %c1 to %c3 step %c1 {
      %13 = arith.muli %arg4, %c3 : index
      %14 = arith.cmpi slt, %13, %c8 : index
      scf.if %14 {
        %extracted_slice_27 = tensor.extract_slice %0[%13, 0] [1, 32] [1, 1] : tensor<8x32xf32> to tensor<1x32xf32>
        %15 = arith.muli %arg4, %c-3 : index
        %16 = arith.remsi %15, %c32 : index
        %17 = arith.addi %16, %c32 : index
        %18 = arith.remsi %17, %c32 : index
        %19 = arith.subi %c32, %18 : index
        %extracted_slice_28 = tensor.extract_slice %0[%13, 0] [1, %18] [1, 1] : tensor<8x32xf32> to tensor<1x?xf32>
        %extracted_slice_29 = tensor.extract_slice %0[%13, %18] [1, %19] [1, 1] : tensor<8x32xf32> to tensor<1x?xf32>
        %inserted_slice_30 = tensor.insert_slice %extracted_slice_28 into %extracted_slice_27[0, %19] [1, %18] [1, 1] : tensor<1x?xf32> into tensor<1x32xf32>
        %inserted_slice_31 = tensor.insert_slice %extracted_slice_29 into %inserted_slice_30[0, 0] [1, %19] [1, 1] : tensor<1x?xf32> into tensor<1x32xf32>
        %extracted_slice_32 = tensor.extract_slice %inserted_slice_31[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> to tensor<32xf32>
        %20 = arith.extf %extracted_slice_32 : tensor<32xf32> to tensor<32xf64>
        %pt_33 = openfhe.make_ckks_packed_plaintext %cc, %20 : (!cc, tensor<32xf64>) -> !pt
        %21 = arith.addi %arg4, %c3 : index
        memref.store %pt_33, %alloc[%21] : memref<21x!pt>
      } else {
        %15 = arith.addi %arg4, %c5 : index
        memref.store %pt_11, %alloc[%15] : memref<21x!pt>
      }
      scf.for %arg5 = %c1 to %c3 step %c1 {
        %15 = arith.addi %arg5, %13 : index
        %16 = arith.cmpi slt, %15, %c8 : index
        scf.if %16 {
          %extracted_slice_27 = tensor.extract_slice %0[%15, 0] [1, 32] [1, 1] : tensor<8x32xf32> to tensor<1x32xf32>
          %17 = arith.muli %arg4, %c-3 : index
          %18 = arith.remsi %17, %c32 : index
          %19 = arith.addi %18, %c32 : index
          %20 = arith.remsi %19, %c32 : index
          %21 = arith.subi %c32, %20 : index
          %extracted_slice_28 = tensor.extract_slice %0[%15, 0] [1, %20] [1, 1] : tensor<8x32xf32> to tensor<1x?xf32>
          %extracted_slice_29 = tensor.extract_slice %0[%15, %20] [1, %21] [1, 1] : tensor<8x32xf32> to tensor<1x?xf32>
          %inserted_slice_30 = tensor.insert_slice %extracted_slice_28 into %extracted_slice_27[0, %21] [1, %20] [1, 1] : tensor<1x?xf32> into tensor<1x32xf32>
          %inserted_slice_31 = tensor.insert_slice %extracted_slice_29 into %inserted_slice_30[0, 0] [1, %21] [1, 1] : tensor<1x?xf32> into tensor<1x32xf32>
          %extracted_slice_32 = tensor.extract_slice %inserted_slice_31[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> to tensor<32xf32>
          %22 = arith.extf %extracted_slice_32 : tensor<32xf32> to tensor<32xf64>
          %pt_33 = openfhe.make_ckks_packed_plaintext %cc, %22 : (!cc, tensor<32xf64>) -> !pt
          %23 = arith.addi %arg5, %c7 : index
          %24 = arith.subi %arg4, %c1 : index
          %25 = arith.muli %24, %c2 : index
          %26 = arith.addi %23, %25 : index
          memref.store %pt_33, %alloc[%26] : memref<21x!pt>
        }
      }
    }
    %extracted_slice_12 = tensor.extract_slice %1[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> to tensor<32xf32>
    %6 = arith.extf %extracted_slice_12 : tensor<32xf32> to tensor<32xf64>
    %pt_13 = openfhe.make_ckks_packed_plaintext %cc, %6 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_13, %alloc[%c12] : memref<21x!pt>
    %extracted_slice_14 = tensor.extract_slice %2[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> to tensor<32xf32>
    %7 = arith.extf %extracted_slice_14 : tensor<32xf32> to tensor<32xf64>
    %pt_15 = openfhe.make_ckks_packed_plaintext %cc, %7 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_15, %alloc[%c13] : memref<21x!pt>
    %pt_16 = openfhe.make_ckks_packed_plaintext %cc, %cst_1 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_16, %alloc[%c14] : memref<21x!pt>
    %extracted_slice_17 = tensor.extract_slice %3[0, 0] [1, 32] [1, 1] : tensor<4x32xf32> to tensor<32xf32>
    %8 = arith.extf %extracted_slice_17 : tensor<32xf32> to tensor<32xf64>
    %pt_18 = openfhe.make_ckks_packed_plaintext %cc, %8 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_18, %alloc[%c15] : memref<21x!pt>
    memref.store %pt_11, %alloc[%c16] : memref<21x!pt>
    %extracted_slice_19 = tensor.extract_slice %3[1, 0] [1, 32] [1, 1] : tensor<4x32xf32> to tensor<32xf32>
    %9 = arith.extf %extracted_slice_19 : tensor<32xf32> to tensor<32xf64>
    %pt_20 = openfhe.make_ckks_packed_plaintext %cc, %9 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_20, %alloc[%c17] : memref<21x!pt>
    %extracted_slice_21 = tensor.extract_slice %inserted_slice_4[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> to tensor<32xf32>
    %10 = arith.extf %extracted_slice_21 : tensor<32xf32> to tensor<32xf64>
    %pt_22 = openfhe.make_ckks_packed_plaintext %cc, %10 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_22, %alloc[%c18] : memref<21x!pt>
    %extracted_slice_23 = tensor.extract_slice %inserted_slice_9[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> to tensor<32xf32>
    %11 = arith.extf %extracted_slice_23 : tensor<32xf32> to tensor<32xf64>
    %pt_24 = openfhe.make_ckks_packed_plaintext %cc, %11 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_24, %alloc[%c19] : memref<21x!pt>
    %extracted_slice_25 = tensor.extract_slice %4[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> to tensor<32xf32>
    %12 = arith.extf %extracted_slice_25 : tensor<32xf32> to tensor<32xf64>
    %pt_26 = openfhe.make_ckks_packed_plaintext %cc, %12 : (!cc, tensor<32xf64>) -> !pt
    memref.store %pt_26, %alloc[%c20] : memref<21x!pt>
    return %alloc : memref<21x!pt>
  }
  func.func @network__preprocessed(%cc: !cc, %arg0: tensor<8x16xf32>, %arg1: tensor<8xf32>, %arg2: tensor<4x8xf32>, %arg3: tensor<4xf32>, %arg4: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<16xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 16 = 0 and 0 <= i0 <= 15 and 0 <= slot <= 31 }">>}, %arg5: memref<1x!ct> {client.enc_zero_arg}, %arg6: memref<21x!pt>) -> tensor<1x!ct> attributes {heir.interface = {func_name = "network", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c4 = arith.constant 4 : index
    %c12 = arith.constant 12 : index
    %c13 = arith.constant 13 : index
    %c14 = arith.constant 14 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c17 = arith.constant 17 : index
    %c18 = arith.constant 18 : index
    %c19 = arith.constant 19 : index
    %c20 = arith.constant 20 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c0 = arith.constant 0 : index
    %ct = memref.load %arg5[%c0] : memref<1x!ct>
    %0 = tensor.empty() : tensor<3x!ct>
    %inserted_slice = tensor.insert_slice %arg4 into %0[0] [1] [1] : tensor<1x!ct> into tensor<3x!ct>
    %1 = scf.for %arg7 = %c1 to %c3 step %c1 iter_args(%arg8 = %inserted_slice) -> (tensor<3x!ct>) {
      %5 = tensor.empty() : tensor<1x!ct>
      %extracted_44 = tensor.extract %arg4[%c0] : tensor<1x!ct>
      %ct_45 = openfhe.rot %cc, %extracted_44, %arg7 : (!cc, !ct, index) -> !ct
      %inserted_46 = tensor.insert %ct_45 into %5[%c0] : tensor<1x!ct>
      %inserted_slice_47 = tensor.insert_slice %inserted_46 into %arg8[%arg7] [1] [1] : tensor<1x!ct> into tensor<3x!ct>
      scf.yield %inserted_slice_47 : tensor<3x!ct>
    }
    %pt = memref.load %arg6[%c0] : memref<21x!pt>
    %extracted = tensor.extract %1[%c0] : tensor<3x!ct>
    %ct_0 = openfhe.mul_plain %cc, %extracted, %pt : (!cc, !ct, !pt) -> !ct
    %pt_1 = memref.load %arg6[%c1] : memref<21x!pt>
    %2 = tensor.empty() : tensor<1x!ct>
    %ct_2 = openfhe.add_plain_inplace %cc, %ct_0, %pt_1 : (!cc, !ct, !pt) -> !ct
    %inserted = tensor.insert %ct_2 into %2[%c0] : tensor<1x!ct>
    %3 = scf.for %arg7 = %c1 to %c3 step %c1 iter_args(%arg8 = %inserted) -> (tensor<1x!ct>) {
      %5 = arith.cmpi slt, %arg7, %c8 : index
      %6 = scf.if %5 -> (tensor<1x!ct>) {
        %7 = arith.addi %arg7, %c1 : index
        %pt_44 = memref.load %arg6[%7] : memref<21x!pt>
        %extracted_45 = tensor.extract %1[%arg7] : tensor<3x!ct>
        %ct_46 = openfhe.mul_plain %cc, %extracted_45, %pt_44 : (!cc, !ct, !pt) -> !ct
        %extracted_47 = tensor.extract %arg8[%c0] : tensor<1x!ct>
        %ct_48 = openfhe.add_inplace %cc, %extracted_47, %ct_46 : (!cc, !ct, !ct) -> !ct
        %inserted_49 = tensor.insert %ct_48 into %2[%c0] : tensor<1x!ct>
        scf.yield %inserted_49 : tensor<1x!ct>
      } else {
        scf.yield %arg8 : tensor<1x!ct>
      }
      scf.yield %6 : tensor<1x!ct>
    }
    %extracted_3 = tensor.extract %3[%c0] : tensor<1x!ct>
    %ct_4 = openfhe.add_plain_inplace %cc, %extracted_3, %pt_1 : (!cc, !ct, !pt) -> !ct
    %inserted_5 = tensor.insert %ct_4 into %2[%c0] : tensor<1x!ct>
    %4 = scf.for %arg7 = %c1 to %c3 step %c1 iter_args(%arg8 = %inserted_5) -> (tensor<1x!ct>) {
      %5 = arith.muli %arg7, %c3 : index
      %6 = arith.cmpi slt, %5, %c8 : index
      %7 = scf.if %6 -> (tensor<1x!ct>) {
        %9 = arith.addi %arg7, %c3 : index
        %pt_49 = memref.load %arg6[%9] : memref<21x!pt>
        %ct_50 = openfhe.mul_plain %cc, %extracted, %pt_49 : (!cc, !ct, !pt) -> !ct
        %ct_51 = openfhe.add_plain_inplace %cc, %ct_50, %pt_1 : (!cc, !ct, !pt) -> !ct
        %inserted_52 = tensor.insert %ct_51 into %2[%c0] : tensor<1x!ct>
        scf.yield %inserted_52 : tensor<1x!ct>
      } else {
        %9 = arith.addi %arg7, %c5 : index
        %pt_49 = memref.load %arg6[%9] : memref<21x!pt>
        %splat = tensor.splat %ct : tensor<1x!ct>
        %extracted_50 = tensor.extract %splat[%c0] : tensor<1x!ct>
        %ct_51 = openfhe.add_plain_inplace %cc, %extracted_50, %pt_49 : (!cc, !ct, !pt) -> !ct
        %inserted_52 = tensor.insert %ct_51 into %2[%c0] : tensor<1x!ct>
        scf.yield %inserted_52 : tensor<1x!ct>
      }
      %8 = scf.for %arg9 = %c1 to %c3 step %c1 iter_args(%arg10 = %7) -> (tensor<1x!ct>) {
        %9 = arith.addi %arg9, %5 : index
        %10 = arith.cmpi slt, %9, %c8 : index
        %11 = scf.if %10 -> (tensor<1x!ct>) {
          %12 = arith.addi %arg9, %c7 : index
          %13 = arith.subi %arg7, %c1 : index
          %14 = arith.muli %13, %c2 : index
          %15 = arith.addi %12, %14 : index
          %pt_49 = memref.load %arg6[%15] : memref<21x!pt>
          %extracted_50 = tensor.extract %1[%arg9] : tensor<3x!ct>
          %ct_51 = openfhe.mul_plain %cc, %extracted_50, %pt_49 : (!cc, !ct, !pt) -> !ct
          %extracted_52 = tensor.extract %arg10[%c0] : tensor<1x!ct>
          %ct_53 = openfhe.add_inplace %cc, %extracted_52, %ct_51 : (!cc, !ct, !ct) -> !ct
          %inserted_54 = tensor.insert %ct_53 into %2[%c0] : tensor<1x!ct>
          scf.yield %inserted_54 : tensor<1x!ct>
        } else {
          scf.yield %arg10 : tensor<1x!ct>
        }
        scf.yield %11 : tensor<1x!ct>
      }
      %extracted_44 = tensor.extract %8[%c0] : tensor<1x!ct>
      %ct_45 = openfhe.rot %cc, %extracted_44, %5 : (!cc, !ct, index) -> !ct
      %extracted_46 = tensor.extract %arg8[%c0] : tensor<1x!ct>
      %ct_47 = openfhe.add_inplace %cc, %extracted_46, %ct_45 : (!cc, !ct, !ct) -> !ct
      %inserted_48 = tensor.insert %ct_47 into %2[%c0] : tensor<1x!ct>
      scf.yield %inserted_48 : tensor<1x!ct>
    }
    %extracted_6 = tensor.extract %4[%c0] : tensor<1x!ct>
    %ct_7 = openfhe.rot %cc, %extracted_6, %c8 : (!cc, !ct, index) -> !ct
    %pt_8 = memref.load %arg6[%c12] : memref<21x!pt>
    %ct_9 = openfhe.add_plain_inplace %cc, %extracted_6, %pt_8 : (!cc, !ct, !pt) -> !ct
    %ct_10 = openfhe.add_inplace %cc, %ct_9, %ct_7 : (!cc, !ct, !ct) -> !ct
    %ct_11 = openfhe.mod_reduce_inplace %cc, %ct_10 : (!cc, !ct) -> !ct
    %pt_12 = memref.load %arg6[%c13] : memref<21x!pt>
    %ct_13 = openfhe.mul_plain %cc, %ct_11, %pt_12 : (!cc, !ct, !pt) -> !ct
    %ct_14 = openfhe.mod_reduce_inplace %cc, %ct_13 : (!cc, !ct) -> !ct
    %ct_15 = openfhe.eval_chebyshev_series %cc, %ct_14 <coefficients = [1.26787982056319, 1.000000e+00, 0.43075053667521668, -7.2815346119115002E-17, -0.12656936164678284, -1.7140044322155352E-17], domain_lower = -1.000000e+00 : f64, domain_upper = 1.000000e+00 : f64> : (!cc, !ct) -> !ct
    %ct_16 = openfhe.rot %cc, %ct_15, %c1 : (!cc, !ct, index) -> !ct
    %pt_17 = memref.load %arg6[%c14] : memref<21x!pt>
    %ct_18 = openfhe.mul_plain %cc, %ct_15, %pt_17 : (!cc, !ct, !pt) -> !ct
    %ct_19 = openfhe.mod_reduce_inplace %cc, %ct_18 : (!cc, !ct) -> !ct
    %pt_20 = memref.load %arg6[%c15] : memref<21x!pt>
    %ct_21 = openfhe.mul_plain %cc, %ct_19, %pt_20 : (!cc, !ct, !pt) -> !ct
    %pt_22 = memref.load %arg6[%c16] : memref<21x!pt>
    %ct_23 = openfhe.add_plain_inplace %cc, %ct_21, %pt_22 : (!cc, !ct, !pt) -> !ct
    %ct_24 = openfhe.mul_plain %cc, %ct_16, %pt_17 : (!cc, !ct, !pt) -> !ct
    %ct_25 = openfhe.mod_reduce_inplace %cc, %ct_24 : (!cc, !ct) -> !ct
    %pt_26 = memref.load %arg6[%c17] : memref<21x!pt>
    %ct_27 = openfhe.mul_plain %cc, %ct_25, %pt_26 : (!cc, !ct, !pt) -> !ct
    %ct_28 = openfhe.add_inplace %cc, %ct_23, %ct_27 : (!cc, !ct, !ct) -> !ct
    %ct_29 = openfhe.add_plain_inplace %cc, %ct_28, %pt_22 : (!cc, !ct, !pt) -> !ct
    %pt_30 = memref.load %arg6[%c18] : memref<21x!pt>
    %ct_31 = openfhe.mul_plain %cc, %ct_19, %pt_30 : (!cc, !ct, !pt) -> !ct
    %ct_32 = openfhe.add_plain_inplace %cc, %ct_31, %pt_22 : (!cc, !ct, !pt) -> !ct
    %pt_33 = memref.load %arg6[%c19] : memref<21x!pt>
    %ct_34 = openfhe.mul_plain %cc, %ct_25, %pt_33 : (!cc, !ct, !pt) -> !ct
    %ct_35 = openfhe.add_inplace %cc, %ct_32, %ct_34 : (!cc, !ct, !ct) -> !ct
    %ct_36 = openfhe.rot %cc, %ct_35, %c2 : (!cc, !ct, index) -> !ct
    %ct_37 = openfhe.add_inplace %cc, %ct_29, %ct_36 : (!cc, !ct, !ct) -> !ct
    %ct_38 = openfhe.rot %cc, %ct_37, %c4 : (!cc, !ct, index) -> !ct
    %pt_39 = memref.load %arg6[%c20] : memref<21x!pt>
    %ct_40 = openfhe.add_plain_inplace %cc, %ct_37, %pt_39 : (!cc, !ct, !pt) -> !ct
    %ct_41 = openfhe.add_inplace %cc, %ct_40, %ct_38 : (!cc, !ct, !ct) -> !ct
    %ct_42 = openfhe.mod_reduce_inplace %cc, %ct_41 : (!cc, !ct) -> !ct
    %inserted_43 = tensor.insert %ct_42 into %2[%c0] : tensor<1x!ct>
    return %inserted_43 : tensor<1x!ct>
  }
  func.func @network(%cc: !cc, %arg0: tensor<8x16xf32>, %arg1: tensor<8xf32>, %arg2: tensor<4x8xf32>, %arg3: tensor<4xf32>, %arg4: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<16xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 16 = 0 and 0 <= i0 <= 15 and 0 <= slot <= 31 }">>}, %arg5: memref<1x!ct> {client.enc_zero_arg}) -> (tensor<1x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "network", input_types = [tensor<8x16xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<16xf32>], result_types = [tensor<4xf32>], roles = ["entry"]}} {
    %0 = call @network__preprocessing(%cc, %arg3, %arg2, %arg1, %arg0) : (!cc, tensor<4xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8x16xf32>) -> memref<21x!pt>
    %1 = call @network__preprocessed(%cc, %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %0) : (!cc, tensor<8x16xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<1x!ct>, memref<1x!ct>, memref<21x!pt>) -> tensor<1x!ct>
    return %1 : tensor<1x!ct>
  }
  func.func @network__encrypt__zeros(%cc: !cc, %pk: !pk) -> memref<1x!ct> attributes {heir.interface = {func_name = "network", roles = ["client.encrypt_zero"]}} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<32xf64>
    %alloc = memref.alloc() : memref<1x!ct>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %cst : (!cc, tensor<32xf64>) -> !pt
    %ct = openfhe.encrypt %cc, %pt, %pk : (!cc, !pt, !pk) -> !ct
    memref.store %ct, %alloc[%c0] : memref<1x!ct>
    return %alloc : memref<1x!ct>
  }
  func.func @network__encrypt__arg4(%cc: !cc, %arg0: tensor<16xf32>, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "network", index = 4 : i64, roles = ["client.encrypt"]}} {
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<1x32xf32>
    %c16_i32 = arith.constant 16 : i32
    %c32_i32 = arith.constant 32 : i32
    %c0 = arith.constant 0 : index
    %0 = scf.for %arg1 = %c0_i32 to %c16_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x32xf32>)  : i32 {
      %2 = scf.for %arg3 = %arg1 to %c32_i32 step %c16_i32 iter_args(%arg4 = %arg2) -> (tensor<1x32xf32>)  : i32 {
        %3 = arith.index_cast %arg1 : i32 to index
        %extracted = tensor.extract %arg0[%3] : tensor<16xf32>
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
  func.func @network__decrypt__result0(%cc: !cc, %arg0: tensor<1x!ct>, %sk: !sk) -> tensor<4xf32> attributes {heir.interface = {func_name = "network", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c28_i32 = arith.constant 28 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<4xf32>
    %c0_i32 = arith.constant 0 : i32
    %c3_i32 = arith.constant 3 : i32
    %c1_i32 = arith.constant 1 : i32
    %c4_i32 = arith.constant 4 : i32
    %c32_i32 = arith.constant 32 : i32
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %pt = openfhe.decrypt %cc, %extracted, %sk : (!cc, !ct, !sk) -> !pt
    %0 = openfhe.decode_ckks %pt : !pt -> tensor<1x32xf32>
    %1 = scf.for %arg1 = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<4xf32>)  : i32 {
      %2 = arith.subi %c3_i32, %arg1 : i32
      %3 = scf.for %arg3 = %2 to %c32_i32 step %c4_i32 iter_args(%arg4 = %arg2) -> (tensor<4xf32>)  : i32 {
        %4 = arith.addi %arg1, %c28_i32 : i32
        %5 = arith.floordivsi %4, %c4_i32 : i32
        %6 = arith.muli %5, %c4_i32 : i32
        %7 = arith.addi %2, %6 : i32
        %8 = arith.subi %arg3, %2 : i32
        %9 = arith.subi %7, %8 : i32
        %10 = arith.index_cast %9 : i32 to index
        %extracted_0 = tensor.extract %0[%c0, %10] : tensor<1x32xf32>
        %11 = arith.index_cast %2 : i32 to index
        %inserted = tensor.insert %extracted_0 into %arg4[%11] : tensor<4xf32>
        scf.yield %inserted : tensor<4xf32>
      }
      scf.yield %3 : tensor<4xf32>
    }
    return %1 : tensor<4xf32>
  }
  func.func @network__generate_crypto_context() -> !cc {
    %params = openfhe.gen_params  <mulDepth = 7, plainMod = 0, firstModSize = 55, scalingModSize = 45> : () -> !params
    %cc = openfhe.gen_context %params <supportFHE = false, supportAdvancedSHE = true> : (!params) -> !cc
    return %cc : !cc
  }
  func.func @network__configure_crypto_context(%cc: !cc, %sk: !sk) -> !cc {
    openfhe.gen_mulkey %cc, %sk : (!cc, !sk) -> ()
    openfhe.gen_rotkey %cc, %sk <indices = [2, 4, 6, 1, 8, 3]> : (!cc, !sk) -> ()
    return %cc : !cc
  }
}

