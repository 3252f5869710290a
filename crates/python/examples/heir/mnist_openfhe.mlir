// What heir-opt makes by --annotate-module=backend=openfhe scheme=ckks --mlir-to-ckks=min-slot-count=64 --scheme-to-openfhe.

!cc = !openfhe.crypto_context
!ct = !openfhe.ciphertext
!params = !openfhe.cc_params
!pk = !openfhe.public_key
!pt = !openfhe.plaintext
!sk = !openfhe.private_key
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 16 = 0 and 0 <= i0 <= 9 and 0 <= slot <= 63 }">
#original_type = #tensor_ext.original_type<originalType = tensor<10xf32>, layout = #layout>
module attributes {backend.openfhe, scheme.actual_slot_count = 16384 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} {
  func.func private @_assign_layout_16644702015128499883(%arg0: tensor<10xf32>) -> tensor<1x64xf32> attributes {heir.interface = {func_name = "mnist", roles = ["client.pack"]}} {
    %c10_i32 = arith.constant 10 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<1x64xf32>
    %c16_i32 = arith.constant 16 : i32
    %c0 = arith.constant 0 : index
    %c64_i32 = arith.constant 64 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c10_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x64xf32>)  : i32 {
      %1 = scf.for %arg3 = %arg1 to %c64_i32 step %c16_i32 iter_args(%arg4 = %arg2) -> (tensor<1x64xf32>)  : i32 {
        %2 = arith.index_cast %arg1 : i32 to index
        %extracted = tensor.extract %arg0[%2] : tensor<10xf32>
        %3 = arith.index_cast %arg3 : i32 to index
        %inserted = tensor.insert %extracted into %arg4[%c0, %3] : tensor<1x64xf32>
        scf.yield %inserted : tensor<1x64xf32>
      }
      scf.yield %1 : tensor<1x64xf32>
    }
    return %0 : tensor<1x64xf32>
  }
  func.func private @_assign_layout_2165067735082728809(%arg0: tensor<10x8xf32>) -> tensor<8x64xf32> attributes {heir.interface = {func_name = "mnist", roles = ["client.pack"]}} {
    %c10_i32 = arith.constant 10 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<8x64xf32>
    %c16_i32 = arith.constant 16 : i32
    %c8_i32 = arith.constant 8 : i32
    %c64_i32 = arith.constant 64 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c10_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<8x64xf32>)  : i32 {
      %1 = scf.for %arg3 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg4 = %arg2) -> (tensor<8x64xf32>)  : i32 {
        %2 = scf.for %arg5 = %arg1 to %c64_i32 step %c16_i32 iter_args(%arg6 = %arg4) -> (tensor<8x64xf32>)  : i32 {
          %3 = arith.subi %c0_i32, %arg1 : i32
          %4 = arith.addi %3, %arg3 : i32
          %5 = arith.addi %4, %c16_i32 : i32
          %6 = arith.floordivsi %5, %c8_i32 : i32
          %7 = arith.muli %6, %c8_i32 : i32
          %8 = arith.subi %5, %7 : i32
          %9 = arith.index_cast %arg1 : i32 to index
          %10 = arith.index_cast %arg3 : i32 to index
          %extracted = tensor.extract %arg0[%9, %10] : tensor<10x8xf32>
          %11 = arith.index_cast %8 : i32 to index
          %12 = arith.index_cast %arg5 : i32 to index
          %inserted = tensor.insert %extracted into %arg6[%11, %12] : tensor<8x64xf32>
          scf.yield %inserted : tensor<8x64xf32>
        }
        scf.yield %2 : tensor<8x64xf32>
      }
      scf.yield %1 : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
  func.func private @_assign_layout_466822436421957978(%arg0: tensor<8xf32>) -> tensor<1x64xf32> attributes {heir.interface = {func_name = "mnist", roles = ["client.pack"]}} {
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<1x64xf32>
    %c8_i32 = arith.constant 8 : i32
    %c0 = arith.constant 0 : index
    %c64_i32 = arith.constant 64 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x64xf32>)  : i32 {
      %1 = scf.for %arg3 = %arg1 to %c64_i32 step %c8_i32 iter_args(%arg4 = %arg2) -> (tensor<1x64xf32>)  : i32 {
        %2 = arith.index_cast %arg1 : i32 to index
        %extracted = tensor.extract %arg0[%2] : tensor<8xf32>
        %3 = arith.index_cast %arg3 : i32 to index
        %inserted = tensor.insert %extracted into %arg4[%c0, %3] : tensor<1x64xf32>
        scf.yield %inserted : tensor<1x64xf32>
      }
      scf.yield %1 : tensor<1x64xf32>
    }
    return %0 : tensor<1x64xf32>
  }
  func.func private @_assign_layout_8696179055502415924(%arg0: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {heir.interface = {func_name = "mnist", roles = ["client.pack"]}} {
    %c1_i32 = arith.constant 1 : i32
    %c7_i32 = arith.constant 7 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<8x64xf32>
    %c63_i32 = arith.constant 63 : i32
    %c8_i32 = arith.constant 8 : i32
    %c64_i32 = arith.constant 64 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<8x64xf32>)  : i32 {
      %1 = scf.for %arg3 = %c0_i32 to %c64_i32 step %c1_i32 iter_args(%arg4 = %arg2) -> (tensor<8x64xf32>)  : i32 {
        %2 = scf.for %arg5 = %arg1 to %c64_i32 step %c8_i32 iter_args(%arg6 = %arg4) -> (tensor<8x64xf32>)  : i32 {
          %3 = arith.subi %arg1, %arg3 : i32
          %4 = arith.addi %3, %c63_i32 : i32
          %5 = arith.floordivsi %4, %c8_i32 : i32
          %6 = arith.muli %5, %c8_i32 : i32
          %7 = arith.subi %4, %6 : i32
          %8 = arith.addi %7, %arg3 : i32
          %9 = arith.subi %8, %arg5 : i32
          %10 = arith.subi %9, %c7_i32 : i32
          %11 = arith.remsi %10, %c64_i32 : i32
          %12 = arith.cmpi eq, %11, %c0_i32 : i32
          %13 = scf.if %12 -> (tensor<8x64xf32>) {
            %14 = arith.subi %arg3, %arg5 : i32
            %15 = arith.addi %14, %c64_i32 : i32
            %16 = arith.floordivsi %15, %c64_i32 : i32
            %17 = arith.muli %16, %c64_i32 : i32
            %18 = arith.subi %15, %17 : i32
            %19 = arith.index_cast %arg1 : i32 to index
            %20 = arith.index_cast %arg3 : i32 to index
            %extracted = tensor.extract %arg0[%19, %20] : tensor<8x64xf32>
            %21 = arith.index_cast %18 : i32 to index
            %22 = arith.index_cast %arg5 : i32 to index
            %inserted = tensor.insert %extracted into %arg6[%21, %22] : tensor<8x64xf32>
            scf.yield %inserted : tensor<8x64xf32>
          } else {
            scf.yield %arg6 : tensor<8x64xf32>
          }
          scf.yield %13 : tensor<8x64xf32>
        }
        scf.yield %2 : tensor<8x64xf32>
      }
      scf.yield %1 : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
  func.func @mnist__preprocessing(%cc: !cc, %arg0: tensor<10xf32>, %arg1: tensor<10x8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8x64xf32>) -> memref<28x!pt> attributes {heir.interface = {entry_arg_indices = array<i64: 3, 2, 1, 0>, func_name = "mnist", roles = ["server.preprocessing"]}} {
    %c64 = arith.constant 64 : index
    %c-3 = arith.constant -3 : index
    %c8 = arith.constant 8 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %cst = arith.constant dense<2.500000e-01> : tensor<8xf32>
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c12 = arith.constant 12 : index
    %c13 = arith.constant 13 : index
    %c14 = arith.constant 14 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c27 = arith.constant 27 : index
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64xf64>
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %cst_1 = arith.constant dense<1.000000e+00> : tensor<64xf64>
    %c18 = arith.constant 18 : index
    %c20 = arith.constant 20 : index
    %c22 = arith.constant 22 : index
    %alloc = memref.alloc() : memref<28x!pt>
    %0 = call @_assign_layout_8696179055502415924(%arg3) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %1 = call @_assign_layout_466822436421957978(%arg2) : (tensor<8xf32>) -> tensor<1x64xf32>
    %2 = call @_assign_layout_466822436421957978(%cst) : (tensor<8xf32>) -> tensor<1x64xf32>
    %3 = call @_assign_layout_2165067735082728809(%arg1) : (tensor<10x8xf32>) -> tensor<8x64xf32>
    %4 = call @_assign_layout_16644702015128499883(%arg0) : (tensor<10xf32>) -> tensor<1x64xf32>
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<64xf32>
    %5 = arith.extf %extracted_slice : tensor<64xf32> to tensor<64xf64>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %5 : (!cc, tensor<64xf64>) -> !pt
    memref.store %pt, %alloc[%c0] : memref<28x!pt>
    %pt_2 = openfhe.make_ckks_packed_plaintext %cc, %cst_0 : (!cc, tensor<64xf64>) -> !pt
    memref.store %pt_2, %alloc[%c1] : memref<28x!pt>
    scf.for %arg4 = %c1 to %c3 step %c1 {
      %10 = arith.cmpi slt, %arg4, %c8 : index
      scf.if %10 {
        %extracted_slice_12 = tensor.extract_slice %0[%arg4, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<64xf32>
        %11 = arith.extf %extracted_slice_12 : tensor<64xf32> to tensor<64xf64>
        %pt_13 = openfhe.make_ckks_packed_plaintext %cc, %11 : (!cc, tensor<64xf64>) -> !pt
        %12 = arith.addi %arg4, %c1 : index
        memref.store %pt_13, %alloc[%12] : memref<28x!pt>
      }
    }
    scf.for %arg4 = %c1 to %c3 step %c1 {
      %10 = arith.muli %arg4, %c3 : index
      %11 = arith.cmpi slt, %10, %c8 : index
      scf.if %11 {
        %extracted_slice_12 = tensor.extract_slice %0[%10, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
        %12 = arith.muli %arg4, %c-3 : index
        %13 = arith.remsi %12, %c64 : index
        %14 = arith.addi %13, %c64 : index
        %15 = arith.remsi %14, %c64 : index
        %16 = arith.subi %c64, %15 : index
        %extracted_slice_13 = tensor.extract_slice %0[%10, 0] [1, %15] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
        %extracted_slice_14 = tensor.extract_slice %0[%10, %15] [1, %16] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
        %inserted_slice = tensor.insert_slice %extracted_slice_13 into %extracted_slice_12[0, %16] [1, %15] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
        %inserted_slice_15 = tensor.insert_slice %extracted_slice_14 into %inserted_slice[0, 0] [1, %16] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
        %extracted_slice_16 = tensor.extract_slice %inserted_slice_15[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
        %17 = arith.extf %extracted_slice_16 : tensor<64xf32> to tensor<64xf64>
        %pt_17 = openfhe.make_ckks_packed_plaintext %cc, %17 : (!cc, tensor<64xf64>) -> !pt
        %18 = arith.addi %arg4, %c3 : index
        memref.store %pt_17, %alloc[%18] : memref<28x!pt>
      } else {
        %12 = arith.addi %arg4, %c5 : index
        memref.store %pt_2, %alloc[%12] : memref<28x!pt>
      }
      scf.for %arg5 = %c1 to %c3 step %c1 {
        %12 = arith.addi %arg5, %10 : index
        %13 = arith.cmpi slt, %12, %c8 : index
        scf.if %13 {
          %extracted_slice_12 = tensor.extract_slice %0[%12, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
          %14 = arith.muli %arg4, %c-3 : index
          %15 = arith.remsi %14, %c64 : index
          %16 = arith.addi %15, %c64 : index
          %17 = arith.remsi %16, %c64 : index
          %18 = arith.subi %c64, %17 : index
          %extracted_slice_13 = tensor.extract_slice %0[%12, 0] [1, %17] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
          %extracted_slice_14 = tensor.extract_slice %0[%12, %17] [1, %18] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
          %inserted_slice = tensor.insert_slice %extracted_slice_13 into %extracted_slice_12[0, %18] [1, %17] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
          %inserted_slice_15 = tensor.insert_slice %extracted_slice_14 into %inserted_slice[0, 0] [1, %18] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
          %extracted_slice_16 = tensor.extract_slice %inserted_slice_15[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
          %19 = arith.extf %extracted_slice_16 : tensor<64xf32> to tensor<64xf64>
          %pt_17 = openfhe.make_ckks_packed_plaintext %cc, %19 : (!cc, tensor<64xf64>) -> !pt
          %20 = arith.addi %arg5, %c7 : index
          %21 = arith.subi %arg4, %c1 : index
          %22 = arith.muli %21, %c2 : index
          %23 = arith.addi %20, %22 : index
          memref.store %pt_17, %alloc[%23] : memref<28x!pt>
        }
      }
    }
    %extracted_slice_3 = tensor.extract_slice %1[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
    %6 = arith.extf %extracted_slice_3 : tensor<64xf32> to tensor<64xf64>
    %pt_4 = openfhe.make_ckks_packed_plaintext %cc, %6 : (!cc, tensor<64xf64>) -> !pt
    memref.store %pt_4, %alloc[%c12] : memref<28x!pt>
    %extracted_slice_5 = tensor.extract_slice %2[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
    %7 = arith.extf %extracted_slice_5 : tensor<64xf32> to tensor<64xf64>
    %pt_6 = openfhe.make_ckks_packed_plaintext %cc, %7 : (!cc, tensor<64xf64>) -> !pt
    memref.store %pt_6, %alloc[%c13] : memref<28x!pt>
    %pt_7 = openfhe.make_ckks_packed_plaintext %cc, %cst_1 : (!cc, tensor<64xf64>) -> !pt
    memref.store %pt_7, %alloc[%c14] : memref<28x!pt>
    %extracted_slice_8 = tensor.extract_slice %3[0, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<64xf32>
    %8 = arith.extf %extracted_slice_8 : tensor<64xf32> to tensor<64xf64>
    %pt_9 = openfhe.make_ckks_packed_plaintext %cc, %8 : (!cc, tensor<64xf64>) -> !pt
    memref.store %pt_9, %alloc[%c15] : memref<28x!pt>
    memref.store %pt_2, %alloc[%c16] : memref<28x!pt>
    scf.for %arg4 = %c1 to %c3 step %c1 {
      %10 = arith.cmpi slt, %arg4, %c8 : index
      scf.if %10 {
        %extracted_slice_12 = tensor.extract_slice %3[%arg4, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<64xf32>
        %11 = arith.extf %extracted_slice_12 : tensor<64xf32> to tensor<64xf64>
        %pt_13 = openfhe.make_ckks_packed_plaintext %cc, %11 : (!cc, tensor<64xf64>) -> !pt
        %12 = arith.addi %arg4, %c16 : index
        memref.store %pt_13, %alloc[%12] : memref<28x!pt>
      }
    }
    scf.for %arg4 = %c1 to %c3 step %c1 {
      %10 = arith.muli %arg4, %c3 : index
      %11 = arith.cmpi slt, %10, %c8 : index
      scf.if %11 {
        %extracted_slice_12 = tensor.extract_slice %3[%10, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
        %12 = arith.muli %arg4, %c-3 : index
        %13 = arith.remsi %12, %c64 : index
        %14 = arith.addi %13, %c64 : index
        %15 = arith.remsi %14, %c64 : index
        %16 = arith.subi %c64, %15 : index
        %extracted_slice_13 = tensor.extract_slice %3[%10, 0] [1, %15] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
        %extracted_slice_14 = tensor.extract_slice %3[%10, %15] [1, %16] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
        %inserted_slice = tensor.insert_slice %extracted_slice_13 into %extracted_slice_12[0, %16] [1, %15] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
        %inserted_slice_15 = tensor.insert_slice %extracted_slice_14 into %inserted_slice[0, 0] [1, %16] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
        %extracted_slice_16 = tensor.extract_slice %inserted_slice_15[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
        %17 = arith.extf %extracted_slice_16 : tensor<64xf32> to tensor<64xf64>
        %pt_17 = openfhe.make_ckks_packed_plaintext %cc, %17 : (!cc, tensor<64xf64>) -> !pt
        %18 = arith.addi %arg4, %c18 : index
        memref.store %pt_17, %alloc[%18] : memref<28x!pt>
      } else {
        %12 = arith.addi %arg4, %c20 : index
        memref.store %pt_2, %alloc[%12] : memref<28x!pt>
      }
      scf.for %arg5 = %c1 to %c3 step %c1 {
        %12 = arith.addi %arg5, %10 : index
        %13 = arith.cmpi slt, %12, %c8 : index
        scf.if %13 {
          %extracted_slice_12 = tensor.extract_slice %3[%12, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
          %14 = arith.muli %arg4, %c-3 : index
          %15 = arith.remsi %14, %c64 : index
          %16 = arith.addi %15, %c64 : index
          %17 = arith.remsi %16, %c64 : index
          %18 = arith.subi %c64, %17 : index
          %extracted_slice_13 = tensor.extract_slice %3[%12, 0] [1, %17] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
          %extracted_slice_14 = tensor.extract_slice %3[%12, %17] [1, %18] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
          %inserted_slice = tensor.insert_slice %extracted_slice_13 into %extracted_slice_12[0, %18] [1, %17] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
          %inserted_slice_15 = tensor.insert_slice %extracted_slice_14 into %inserted_slice[0, 0] [1, %18] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
          %extracted_slice_16 = tensor.extract_slice %inserted_slice_15[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
          %19 = arith.extf %extracted_slice_16 : tensor<64xf32> to tensor<64xf64>
          %pt_17 = openfhe.make_ckks_packed_plaintext %cc, %19 : (!cc, tensor<64xf64>) -> !pt
          %20 = arith.addi %arg5, %c22 : index
          %21 = arith.subi %arg4, %c1 : index
          %22 = arith.muli %21, %c2 : index
          %23 = arith.addi %20, %22 : index
          memref.store %pt_17, %alloc[%23] : memref<28x!pt>
        }
      }
    }
    %extracted_slice_10 = tensor.extract_slice %4[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
    %9 = arith.extf %extracted_slice_10 : tensor<64xf32> to tensor<64xf64>
    %pt_11 = openfhe.make_ckks_packed_plaintext %cc, %9 : (!cc, tensor<64xf64>) -> !pt
    memref.store %pt_11, %alloc[%c27] : memref<28x!pt>
    return %alloc : memref<28x!pt>
  }
  func.func @mnist__preprocessed(%cc: !cc, %arg0: tensor<8x64xf32>, %arg1: tensor<8xf32>, %arg2: tensor<10x8xf32>, %arg3: tensor<10xf32>, %arg4: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 64>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<64xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 64 = 0 and 0 <= i0 <= 63 and 0 <= slot <= 63 }">>}, %arg5: memref<2x!ct> {client.enc_zero_arg}, %arg6: memref<28x!pt>) -> tensor<1x!ct> attributes {heir.interface = {func_name = "mnist", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %c2 = arith.constant 2 : index
    %c12 = arith.constant 12 : index
    %c13 = arith.constant 13 : index
    %c14 = arith.constant 14 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c27 = arith.constant 27 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c18 = arith.constant 18 : index
    %c20 = arith.constant 20 : index
    %c22 = arith.constant 22 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %ct = memref.load %arg5[%c0] : memref<2x!ct>
    %ct_0 = memref.load %arg5[%c1] : memref<2x!ct>
    %0 = tensor.empty() : tensor<3x!ct>
    %inserted_slice = tensor.insert_slice %arg4 into %0[0] [1] [1] : tensor<1x!ct> into tensor<3x!ct>
    %1 = scf.for %arg7 = %c1 to %c3 step %c1 iter_args(%arg8 = %inserted_slice) -> (tensor<3x!ct>) {
      %9 = tensor.empty() : tensor<1x!ct>
      %extracted_34 = tensor.extract %arg4[%c0] : tensor<1x!ct>
      %ct_35 = openfhe.rot %cc, %extracted_34, %arg7 : (!cc, !ct, index) -> !ct
      %inserted_36 = tensor.insert %ct_35 into %9[%c0] : tensor<1x!ct>
      %inserted_slice_37 = tensor.insert_slice %inserted_36 into %arg8[%arg7] [1] [1] : tensor<1x!ct> into tensor<3x!ct>
      scf.yield %inserted_slice_37 : tensor<3x!ct>
    }
    %pt = memref.load %arg6[%c0] : memref<28x!pt>
    %extracted = tensor.extract %1[%c0] : tensor<3x!ct>
    %ct_1 = openfhe.mul_plain %cc, %extracted, %pt : (!cc, !ct, !pt) -> !ct
    %pt_2 = memref.load %arg6[%c1] : memref<28x!pt>
    %2 = tensor.empty() : tensor<1x!ct>
    %ct_3 = openfhe.add_plain_inplace %cc, %ct_1, %pt_2 : (!cc, !ct, !pt) -> !ct
    %inserted = tensor.insert %ct_3 into %2[%c0] : tensor<1x!ct>
    %3 = scf.for %arg7 = %c1 to %c3 step %c1 iter_args(%arg8 = %inserted) -> (tensor<1x!ct>) {
      %9 = arith.cmpi slt, %arg7, %c8 : index
      %10 = scf.if %9 -> (tensor<1x!ct>) {
        %11 = arith.addi %arg7, %c1 : index
        %pt_34 = memref.load %arg6[%11] : memref<28x!pt>
        %extracted_35 = tensor.extract %1[%arg7] : tensor<3x!ct>
        %ct_36 = openfhe.mul_plain %cc, %extracted_35, %pt_34 : (!cc, !ct, !pt) -> !ct
        %extracted_37 = tensor.extract %arg8[%c0] : tensor<1x!ct>
        %ct_38 = openfhe.add_inplace %cc, %extracted_37, %ct_36 : (!cc, !ct, !ct) -> !ct
        %inserted_39 = tensor.insert %ct_38 into %2[%c0] : tensor<1x!ct>
        scf.yield %inserted_39 : tensor<1x!ct>
      } else {
        scf.yield %arg8 : tensor<1x!ct>
      }
      scf.yield %10 : tensor<1x!ct>
    }
    %extracted_4 = tensor.extract %3[%c0] : tensor<1x!ct>
    %ct_5 = openfhe.add_plain_inplace %cc, %extracted_4, %pt_2 : (!cc, !ct, !pt) -> !ct
    %inserted_6 = tensor.insert %ct_5 into %2[%c0] : tensor<1x!ct>
    %4 = scf.for %arg7 = %c1 to %c3 step %c1 iter_args(%arg8 = %inserted_6) -> (tensor<1x!ct>) {
      %9 = arith.muli %arg7, %c3 : index
      %10 = arith.cmpi slt, %9, %c8 : index
      %11 = scf.if %10 -> (tensor<1x!ct>) {
        %13 = arith.addi %arg7, %c3 : index
        %pt_39 = memref.load %arg6[%13] : memref<28x!pt>
        %ct_40 = openfhe.mul_plain %cc, %extracted, %pt_39 : (!cc, !ct, !pt) -> !ct
        %ct_41 = openfhe.add_plain_inplace %cc, %ct_40, %pt_2 : (!cc, !ct, !pt) -> !ct
        %inserted_42 = tensor.insert %ct_41 into %2[%c0] : tensor<1x!ct>
        scf.yield %inserted_42 : tensor<1x!ct>
      } else {
        %13 = arith.addi %arg7, %c5 : index
        %pt_39 = memref.load %arg6[%13] : memref<28x!pt>
        %splat = tensor.splat %ct : tensor<1x!ct>
        %extracted_40 = tensor.extract %splat[%c0] : tensor<1x!ct>
        %ct_41 = openfhe.add_plain_inplace %cc, %extracted_40, %pt_39 : (!cc, !ct, !pt) -> !ct
        %inserted_42 = tensor.insert %ct_41 into %2[%c0] : tensor<1x!ct>
        scf.yield %inserted_42 : tensor<1x!ct>
      }
      %12 = scf.for %arg9 = %c1 to %c3 step %c1 iter_args(%arg10 = %11) -> (tensor<1x!ct>) {
        %13 = arith.addi %arg9, %9 : index
        %14 = arith.cmpi slt, %13, %c8 : index
        %15 = scf.if %14 -> (tensor<1x!ct>) {
          %16 = arith.addi %arg9, %c7 : index
          %17 = arith.subi %arg7, %c1 : index
          %18 = arith.muli %17, %c2 : index
          %19 = arith.addi %16, %18 : index
          %pt_39 = memref.load %arg6[%19] : memref<28x!pt>
          %extracted_40 = tensor.extract %1[%arg9] : tensor<3x!ct>
          %ct_41 = openfhe.mul_plain %cc, %extracted_40, %pt_39 : (!cc, !ct, !pt) -> !ct
          %extracted_42 = tensor.extract %arg10[%c0] : tensor<1x!ct>
          %ct_43 = openfhe.add_inplace %cc, %extracted_42, %ct_41 : (!cc, !ct, !ct) -> !ct
          %inserted_44 = tensor.insert %ct_43 into %2[%c0] : tensor<1x!ct>
          scf.yield %inserted_44 : tensor<1x!ct>
        } else {
          scf.yield %arg10 : tensor<1x!ct>
        }
        scf.yield %15 : tensor<1x!ct>
      }
      %extracted_34 = tensor.extract %12[%c0] : tensor<1x!ct>
      %ct_35 = openfhe.rot %cc, %extracted_34, %9 : (!cc, !ct, index) -> !ct
      %extracted_36 = tensor.extract %arg8[%c0] : tensor<1x!ct>
      %ct_37 = openfhe.add_inplace %cc, %extracted_36, %ct_35 : (!cc, !ct, !ct) -> !ct
      %inserted_38 = tensor.insert %ct_37 into %2[%c0] : tensor<1x!ct>
      scf.yield %inserted_38 : tensor<1x!ct>
    }
    %5:2 = scf.for %arg7 = %c0 to %c3 step %c1 iter_args(%arg8 = %4, %arg9 = %c32) -> (tensor<1x!ct>, index) {
      %extracted_34 = tensor.extract %arg8[%c0] : tensor<1x!ct>
      %ct_35 = openfhe.rot %cc, %extracted_34, %arg9 : (!cc, !ct, index) -> !ct
      %ct_36 = openfhe.add_inplace %cc, %extracted_34, %ct_35 : (!cc, !ct, !ct) -> !ct
      %inserted_37 = tensor.insert %ct_36 into %2[%c0] : tensor<1x!ct>
      %9 = arith.divsi %arg9, %c2 : index
      scf.yield %inserted_37, %9 : tensor<1x!ct>, index
    }
    %pt_7 = memref.load %arg6[%c12] : memref<28x!pt>
    %extracted_8 = tensor.extract %5#0[%c0] : tensor<1x!ct>
    %ct_9 = openfhe.add_plain_inplace %cc, %extracted_8, %pt_7 : (!cc, !ct, !pt) -> !ct
    %ct_10 = openfhe.mod_reduce_inplace %cc, %ct_9 : (!cc, !ct) -> !ct
    %pt_11 = memref.load %arg6[%c13] : memref<28x!pt>
    %ct_12 = openfhe.mul_plain %cc, %ct_10, %pt_11 : (!cc, !ct, !pt) -> !ct
    %ct_13 = openfhe.mod_reduce_inplace %cc, %ct_12 : (!cc, !ct) -> !ct
    %ct_14 = openfhe.eval_chebyshev_series %cc, %ct_13 <coefficients = [2.5357596411263801, 2.000000e+00, 0.86150107335043335, -1.4563069223823E-16, -0.25313872329356568, -3.4280088644310704E-17], domain_lower = -1.000000e+00 : f64, domain_upper = 1.000000e+00 : f64> : (!cc, !ct) -> !ct
    %inserted_15 = tensor.insert %ct_14 into %2[%c0] : tensor<1x!ct>
    %inserted_slice_16 = tensor.insert_slice %inserted_15 into %0[0] [1] [1] : tensor<1x!ct> into tensor<3x!ct>
    %6 = scf.for %arg7 = %c1 to %c3 step %c1 iter_args(%arg8 = %inserted_slice_16) -> (tensor<3x!ct>) {
      %ct_34 = openfhe.rot %cc, %ct_14, %arg7 : (!cc, !ct, index) -> !ct
      %inserted_35 = tensor.insert %ct_34 into %2[%c0] : tensor<1x!ct>
      %inserted_slice_36 = tensor.insert_slice %inserted_35 into %arg8[%arg7] [1] [1] : tensor<1x!ct> into tensor<3x!ct>
      scf.yield %inserted_slice_36 : tensor<3x!ct>
    }
    %pt_17 = memref.load %arg6[%c14] : memref<28x!pt>
    %extracted_18 = tensor.extract %6[%c0] : tensor<3x!ct>
    %ct_19 = openfhe.mul_plain %cc, %extracted_18, %pt_17 : (!cc, !ct, !pt) -> !ct
    %ct_20 = openfhe.mod_reduce_inplace %cc, %ct_19 : (!cc, !ct) -> !ct
    %pt_21 = memref.load %arg6[%c15] : memref<28x!pt>
    %ct_22 = openfhe.mul_plain %cc, %ct_20, %pt_21 : (!cc, !ct, !pt) -> !ct
    %pt_23 = memref.load %arg6[%c16] : memref<28x!pt>
    %ct_24 = openfhe.add_plain_inplace %cc, %ct_22, %pt_23 : (!cc, !ct, !pt) -> !ct
    %inserted_25 = tensor.insert %ct_24 into %2[%c0] : tensor<1x!ct>
    %7 = scf.for %arg7 = %c1 to %c3 step %c1 iter_args(%arg8 = %inserted_25) -> (tensor<1x!ct>) {
      %9 = arith.cmpi slt, %arg7, %c8 : index
      %10 = scf.if %9 -> (tensor<1x!ct>) {
        %extracted_34 = tensor.extract %6[%arg7] : tensor<3x!ct>
        %ct_35 = openfhe.mul_plain %cc, %extracted_34, %pt_17 : (!cc, !ct, !pt) -> !ct
        %ct_36 = openfhe.mod_reduce_inplace %cc, %ct_35 : (!cc, !ct) -> !ct
        %11 = arith.addi %arg7, %c16 : index
        %pt_37 = memref.load %arg6[%11] : memref<28x!pt>
        %ct_38 = openfhe.mul_plain %cc, %ct_36, %pt_37 : (!cc, !ct, !pt) -> !ct
        %extracted_39 = tensor.extract %arg8[%c0] : tensor<1x!ct>
        %ct_40 = openfhe.add_inplace %cc, %extracted_39, %ct_38 : (!cc, !ct, !ct) -> !ct
        %inserted_41 = tensor.insert %ct_40 into %2[%c0] : tensor<1x!ct>
        scf.yield %inserted_41 : tensor<1x!ct>
      } else {
        scf.yield %arg8 : tensor<1x!ct>
      }
      scf.yield %10 : tensor<1x!ct>
    }
    %extracted_26 = tensor.extract %7[%c0] : tensor<1x!ct>
    %ct_27 = openfhe.add_plain_inplace %cc, %extracted_26, %pt_23 : (!cc, !ct, !pt) -> !ct
    %inserted_28 = tensor.insert %ct_27 into %2[%c0] : tensor<1x!ct>
    %8 = scf.for %arg7 = %c1 to %c3 step %c1 iter_args(%arg8 = %inserted_28) -> (tensor<1x!ct>) {
      %9 = arith.muli %arg7, %c3 : index
      %10 = arith.cmpi slt, %9, %c8 : index
      %11 = scf.if %10 -> (tensor<1x!ct>) {
        %13 = arith.addi %arg7, %c18 : index
        %pt_39 = memref.load %arg6[%13] : memref<28x!pt>
        %ct_40 = openfhe.mul_plain %cc, %ct_20, %pt_39 : (!cc, !ct, !pt) -> !ct
        %ct_41 = openfhe.add_plain_inplace %cc, %ct_40, %pt_23 : (!cc, !ct, !pt) -> !ct
        %inserted_42 = tensor.insert %ct_41 into %2[%c0] : tensor<1x!ct>
        scf.yield %inserted_42 : tensor<1x!ct>
      } else {
        %13 = arith.addi %arg7, %c20 : index
        %pt_39 = memref.load %arg6[%13] : memref<28x!pt>
        %splat = tensor.splat %ct_0 : tensor<1x!ct>
        %extracted_40 = tensor.extract %splat[%c0] : tensor<1x!ct>
        %ct_41 = openfhe.add_plain_inplace %cc, %extracted_40, %pt_39 : (!cc, !ct, !pt) -> !ct
        %inserted_42 = tensor.insert %ct_41 into %2[%c0] : tensor<1x!ct>
        scf.yield %inserted_42 : tensor<1x!ct>
      }
      %12 = scf.for %arg9 = %c1 to %c3 step %c1 iter_args(%arg10 = %11) -> (tensor<1x!ct>) {
        %13 = arith.addi %arg9, %9 : index
        %14 = arith.cmpi slt, %13, %c8 : index
        %15 = scf.if %14 -> (tensor<1x!ct>) {
          %extracted_39 = tensor.extract %6[%arg9] : tensor<3x!ct>
          %ct_40 = openfhe.mul_plain %cc, %extracted_39, %pt_17 : (!cc, !ct, !pt) -> !ct
          %ct_41 = openfhe.mod_reduce_inplace %cc, %ct_40 : (!cc, !ct) -> !ct
          %16 = arith.addi %arg9, %c22 : index
          %17 = arith.subi %arg7, %c1 : index
          %18 = arith.muli %17, %c2 : index
          %19 = arith.addi %16, %18 : index
          %pt_42 = memref.load %arg6[%19] : memref<28x!pt>
          %ct_43 = openfhe.mul_plain %cc, %ct_41, %pt_42 : (!cc, !ct, !pt) -> !ct
          %extracted_44 = tensor.extract %arg10[%c0] : tensor<1x!ct>
          %ct_45 = openfhe.add_inplace %cc, %extracted_44, %ct_43 : (!cc, !ct, !ct) -> !ct
          %inserted_46 = tensor.insert %ct_45 into %2[%c0] : tensor<1x!ct>
          scf.yield %inserted_46 : tensor<1x!ct>
        } else {
          scf.yield %arg10 : tensor<1x!ct>
        }
        scf.yield %15 : tensor<1x!ct>
      }
      %extracted_34 = tensor.extract %12[%c0] : tensor<1x!ct>
      %ct_35 = openfhe.rot %cc, %extracted_34, %9 : (!cc, !ct, index) -> !ct
      %extracted_36 = tensor.extract %arg8[%c0] : tensor<1x!ct>
      %ct_37 = openfhe.add_inplace %cc, %extracted_36, %ct_35 : (!cc, !ct, !ct) -> !ct
      %inserted_38 = tensor.insert %ct_37 into %2[%c0] : tensor<1x!ct>
      scf.yield %inserted_38 : tensor<1x!ct>
    }
    %pt_29 = memref.load %arg6[%c27] : memref<28x!pt>
    %extracted_30 = tensor.extract %8[%c0] : tensor<1x!ct>
    %ct_31 = openfhe.add_plain_inplace %cc, %extracted_30, %pt_29 : (!cc, !ct, !pt) -> !ct
    %ct_32 = openfhe.mod_reduce_inplace %cc, %ct_31 : (!cc, !ct) -> !ct
    %inserted_33 = tensor.insert %ct_32 into %2[%c0] : tensor<1x!ct>
    return %inserted_33 : tensor<1x!ct>
  }
  func.func @mnist(%cc: !cc, %arg0: tensor<8x64xf32>, %arg1: tensor<8xf32>, %arg2: tensor<10x8xf32>, %arg3: tensor<10xf32>, %arg4: tensor<1x!ct> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 64>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<64xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 64 = 0 and 0 <= i0 <= 63 and 0 <= slot <= 63 }">>}, %arg5: memref<2x!ct> {client.enc_zero_arg}) -> (tensor<1x!ct> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "mnist", input_types = [tensor<8x64xf32>, tensor<8xf32>, tensor<10x8xf32>, tensor<10xf32>, tensor<64xf32>], result_types = [tensor<10xf32>], roles = ["entry"]}} {
    %0 = call @mnist__preprocessing(%cc, %arg3, %arg2, %arg1, %arg0) : (!cc, tensor<10xf32>, tensor<10x8xf32>, tensor<8xf32>, tensor<8x64xf32>) -> memref<28x!pt>
    %1 = call @mnist__preprocessed(%cc, %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %0) : (!cc, tensor<8x64xf32>, tensor<8xf32>, tensor<10x8xf32>, tensor<10xf32>, tensor<1x!ct>, memref<2x!ct>, memref<28x!pt>) -> tensor<1x!ct>
    return %1 : tensor<1x!ct>
  }
  func.func @mnist__encrypt__zeros(%cc: !cc, %pk: !pk) -> memref<2x!ct> attributes {heir.interface = {func_name = "mnist", roles = ["client.encrypt_zero"]}} {
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64xf64>
    %alloc = memref.alloc() : memref<2x!ct>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %cst : (!cc, tensor<64xf64>) -> !pt
    %ct = openfhe.encrypt %cc, %pt, %pk : (!cc, !pt, !pk) -> !ct
    memref.store %ct, %alloc[%c0] : memref<2x!ct>
    memref.store %ct, %alloc[%c1] : memref<2x!ct>
    return %alloc : memref<2x!ct>
  }
  func.func @mnist__encrypt__arg4(%cc: !cc, %arg0: tensor<64xf32>, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "mnist", index = 4 : i64, roles = ["client.encrypt"]}} {
    %c64_i32 = arith.constant 64 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<1x64xf32>
    %c0 = arith.constant 0 : index
    %0 = scf.for %arg1 = %c0_i32 to %c64_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x64xf32>)  : i32 {
      %2 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%2] : tensor<64xf32>
      %inserted = tensor.insert %extracted into %arg2[%c0, %2] : tensor<1x64xf32>
      scf.yield %inserted : tensor<1x64xf32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
    %1 = arith.extf %extracted_slice : tensor<64xf32> to tensor<64xf64>
    %pt = openfhe.make_ckks_packed_plaintext %cc, %1 : (!cc, tensor<64xf64>) -> !pt
    %ct = openfhe.encrypt %cc, %pt, %pk : (!cc, !pt, !pk) -> !ct
    %from_elements = tensor.from_elements %ct : tensor<1x!ct>
    return %from_elements : tensor<1x!ct>
  }
  func.func @mnist__decrypt__result0(%cc: !cc, %arg0: tensor<1x!ct>, %sk: !sk) -> tensor<10xf32> attributes {heir.interface = {func_name = "mnist", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c54_i32 = arith.constant 54 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<10xf32>
    %c0_i32 = arith.constant 0 : i32
    %c9_i32 = arith.constant 9 : i32
    %c1_i32 = arith.constant 1 : i32
    %c16_i32 = arith.constant 16 : i32
    %c10_i32 = arith.constant 10 : i32
    %c64_i32 = arith.constant 64 : i32
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %pt = openfhe.decrypt %cc, %extracted, %sk : (!cc, !ct, !sk) -> !pt
    %0 = openfhe.decode_ckks %pt : !pt -> tensor<1x64xf32>
    %1 = scf.for %arg1 = %c0_i32 to %c10_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<10xf32>)  : i32 {
      %2 = arith.subi %c9_i32, %arg1 : i32
      %3 = scf.for %arg3 = %2 to %c64_i32 step %c16_i32 iter_args(%arg4 = %arg2) -> (tensor<10xf32>)  : i32 {
        %4 = arith.addi %arg1, %c54_i32 : i32
        %5 = arith.floordivsi %4, %c16_i32 : i32
        %6 = arith.muli %5, %c16_i32 : i32
        %7 = arith.addi %2, %6 : i32
        %8 = arith.subi %arg3, %2 : i32
        %9 = arith.subi %7, %8 : i32
        %10 = arith.index_cast %9 : i32 to index
        %extracted_0 = tensor.extract %0[%c0, %10] : tensor<1x64xf32>
        %11 = arith.index_cast %2 : i32 to index
        %inserted = tensor.insert %extracted_0 into %arg4[%11] : tensor<10xf32>
        scf.yield %inserted : tensor<10xf32>
      }
      scf.yield %3 : tensor<10xf32>
    }
    return %1 : tensor<10xf32>
  }
  func.func @mnist__generate_crypto_context() -> !cc {
    %params = openfhe.gen_params  <mulDepth = 7, plainMod = 0, firstModSize = 55, scalingModSize = 45> : () -> !params
    %cc = openfhe.gen_context %params <supportFHE = false, supportAdvancedSHE = true> : (!params) -> !cc
    return %cc : !cc
  }
  func.func @mnist__configure_crypto_context(%cc: !cc, %sk: !sk) -> !cc {
    openfhe.gen_mulkey %cc, %sk : (!cc, !sk) -> ()
    openfhe.gen_rotkey %cc, %sk <indices = [2, 16, 6, 32, 1, 8, 3]> : (!cc, !sk) -> ()
    return %cc : !cc
  }
}

