#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = -2147483648>
#key = #lwe.key<>
#ring_i1_x = #polynomial.ring<coefficientType = i1, polynomialModulus = <x>>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i1_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_i1_x, encoding = #constant_coefficient_encoding>>
module attributes {scheme.cggi} {
  func.func @balance(%arg0: tensor<3x4x!ct__D742>, %ct: !ct__D742) -> (tensor<4x!ct__D742>, !ct__D742, tensor<4x!ct__D742>) {
    %c3 = arith.constant 3 : index
    %c0 = arith.constant 0 : index
    %false = arith.constant false
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    %extracted = tensor.extract %arg0[%c0, %c3] : tensor<3x4x!ct__D742>
    %ct_0 = cggi.not %extracted : !ct__D742
    %extracted_1 = tensor.extract %arg0[%c0, %c0] : tensor<3x4x!ct__D742>
    %ct_2 = cggi.not %extracted_1 : !ct__D742
    %extracted_3 = tensor.extract %arg0[%c2, %c1] : tensor<3x4x!ct__D742>
    %ct_4 = cggi.not %extracted_3 : !ct__D742
    %extracted_5 = tensor.extract %arg0[%c2, %c2] : tensor<3x4x!ct__D742>
    %ct_6 = cggi.not %extracted_5 : !ct__D742
    %extracted_7 = tensor.extract %arg0[%c1, %c0] : tensor<3x4x!ct__D742>
    %ct_8 = cggi.and %extracted_7, %extracted_1 : !ct__D742
    %ct_9 = cggi.xnor %extracted_7, %extracted_1 : !ct__D742
    %extracted_10 = tensor.extract %arg0[%c1, %c1] : tensor<3x4x!ct__D742>
    %extracted_11 = tensor.extract %arg0[%c0, %c1] : tensor<3x4x!ct__D742>
    %ct_12 = cggi.nand %extracted_10, %extracted_11 : !ct__D742
    %ct_13 = cggi.xor %extracted_10, %extracted_11 : !ct__D742
    %ct_14 = cggi.nand %ct_13, %ct_8 : !ct__D742
    %ct_15 = cggi.xor %ct_13, %ct_8 : !ct__D742
    %ct_16 = cggi.nand %ct_15, %ct_4 : !ct__D742
    %ct_17 = cggi.xnor %ct_15, %extracted_3 : !ct__D742
    %extracted_18 = tensor.extract %arg0[%c2, %c0] : tensor<3x4x!ct__D742>
    %ct_19 = cggi.nand %ct_9, %extracted_18 : !ct__D742
    %ct_20 = cggi.nand %ct_19, %ct_17 : !ct__D742
    %ct_21 = cggi.xor %ct_9, %extracted_18 : !ct__D742
    %ct_22 = cggi.not %ct_21 : !ct__D742
    %ct_23 = cggi.nand %ct_21, %ct_17 : !ct__D742
    %ct_24 = cggi.nand %ct_23, %ct : !ct__D742
    %ct_25 = cggi.nand %ct_20, %ct_16 : !ct__D742
    %ct_26 = cggi.nand %ct_14, %ct_12 : !ct__D742
    %extracted_27 = tensor.extract %arg0[%c1, %c2] : tensor<3x4x!ct__D742>
    %extracted_28 = tensor.extract %arg0[%c0, %c2] : tensor<3x4x!ct__D742>
    %ct_29 = cggi.nand %extracted_27, %extracted_28 : !ct__D742
    %ct_30 = cggi.xor %extracted_27, %extracted_28 : !ct__D742
    %ct_31 = cggi.nand %ct_30, %ct_26 : !ct__D742
    %ct_32 = cggi.xor %ct_30, %ct_26 : !ct__D742
    %ct_33 = cggi.nand %ct_32, %ct_6 : !ct__D742
    %ct_34 = cggi.xnor %ct_32, %extracted_5 : !ct__D742
    %ct_35 = cggi.nand %ct_34, %ct_25 : !ct__D742
    %ct_36 = cggi.xnor %ct_34, %ct_25 : !ct__D742
    %ct_37 = cggi.nand %ct_36, %ct_24 : !ct__D742
    %ct_38 = cggi.xor %ct_36, %ct_24 : !ct__D742
    %ct_39 = cggi.xnor %ct_19, %ct_17 : !ct__D742
    %ct_40 = cggi.or %ct_39, %ct : !ct__D742
    %ct_41 = cggi.nor %ct_39, %ct_21 : !ct__D742
    %ct_42 = cggi.or %ct_41, %ct_24 : !ct__D742
    %ct_43 = cggi.nand %ct_42, %ct_40 : !ct__D742
    %ct_44 = cggi.and %ct_37, %ct : !ct__D742
    %ct_45 = cggi.and %ct_35, %ct_33 : !ct__D742
    %ct_46 = cggi.and %ct_31, %ct_29 : !ct__D742
    %extracted_47 = tensor.extract %arg0[%c2, %c3] : tensor<3x4x!ct__D742>
    %ct_48 = cggi.nand %extracted_47, %ct_0 : !ct__D742
    %ct_49 = cggi.or %extracted_47, %ct_0 : !ct__D742
    %ct_50 = cggi.and %ct_49, %ct_48 : !ct__D742
    %extracted_51 = tensor.extract %arg0[%c1, %c3] : tensor<3x4x!ct__D742>
    %ct_52 = cggi.xnor %ct_50, %extracted_51 : !ct__D742
    %ct_53 = cggi.xnor %ct_52, %ct_46 : !ct__D742
    %ct_54 = cggi.xnor %ct_53, %ct_45 : !ct__D742
    %ct_55 = cggi.xnor %ct_54, %ct_44 : !ct__D742
    %ct_56 = cggi.nand %ct_6, %extracted_28 : !ct__D742
    %ct_57 = cggi.nand %ct_4, %extracted_11 : !ct__D742
    %ct_58 = cggi.or %ct_4, %extracted_11 : !ct__D742
    %ct_59 = cggi.nand %extracted_18, %ct_2 : !ct__D742
    %ct_60 = cggi.nand %ct_59, %ct_58 : !ct__D742
    %ct_61 = cggi.and %ct_60, %ct_57 : !ct__D742
    %ct_62 = cggi.or %ct_6, %extracted_28 : !ct__D742
    %ct_63 = cggi.nand %ct_61, %ct_56 : !ct__D742
    %ct_64 = cggi.and %ct_62, %ct_49 : !ct__D742
    %ct_65 = cggi.nand %ct_64, %ct_63 : !ct__D742
    %ct_66 = cggi.and %ct_65, %ct_48 : !ct__D742
    %from_elements = tensor.from_elements %ct_22, %ct_43, %ct_38, %ct_55 : tensor<4x!ct__D742>
    %pt = lwe.encode %false <plaintext_bits = 1> : i1 to !pt
    %ct_67 = lwe.trivial_encrypt %pt : !pt -> !ct__D742
    %from_elements_68 = tensor.from_elements %ct_67, %extracted_11, %extracted_28, %ct_67 : tensor<4x!ct__D742>
    return %from_elements, %ct_66, %from_elements_68 : tensor<4x!ct__D742>, !ct__D742, tensor<4x!ct__D742>
  }
}
