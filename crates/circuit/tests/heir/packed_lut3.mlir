#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = 536870912>
#key = #lwe.key<>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ring_i3_x = #polynomial.ring<coefficientType = i3, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i3_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_i3_x, encoding = #constant_coefficient_encoding>>
module attributes {scheme.cggi} {
  func.func @balance(%arg0: tensor<3x4x!ct__D742>, %ct: !ct__D742) -> (tensor<4x!ct__D742>, !ct__D742, tensor<4x!ct__D742>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %extracted = tensor.extract %arg0[%c1, %c0] : tensor<3x4x!ct__D742>
    %extracted_0 = tensor.extract %arg0[%c0, %c0] : tensor<3x4x!ct__D742>
    %pt = lwe.encode %false <plaintext_bits = 3> : i1 to !pt
    %ct_1 = lwe.trivial_encrypt %pt : !pt -> !ct__D742
    %ct_2 = cggi.lut3 %ct_1, %extracted, %extracted_0 <lookup_table = 8 : ui8> : !ct__D742
    %extracted_3 = tensor.extract %arg0[%c1, %c1] : tensor<3x4x!ct__D742>
    %extracted_4 = tensor.extract %arg0[%c0, %c1] : tensor<3x4x!ct__D742>
    %extracted_5 = tensor.extract %arg0[%c2, %c1] : tensor<3x4x!ct__D742>
    %extracted_6 = tensor.extract %arg0[%c2, %c0] : tensor<3x4x!ct__D742>
    %extracted_7 = tensor.extract %arg0[%c1, %c2] : tensor<3x4x!ct__D742>
    %extracted_8 = tensor.extract %arg0[%c0, %c2] : tensor<3x4x!ct__D742>
    %extracted_9 = tensor.extract %arg0[%c2, %c2] : tensor<3x4x!ct__D742>
    %from_elements = tensor.from_elements %extracted_3, %extracted_3, %extracted_6 : tensor<3x!ct__D742>
    %from_elements_10 = tensor.from_elements %extracted_4, %extracted_4, %extracted : tensor<3x!ct__D742>
    %from_elements_11 = tensor.from_elements %ct_2, %ct_2, %extracted_0 : tensor<3x!ct__D742>
    %0 = cggi.packed_lut3 %from_elements, %from_elements_10, %from_elements_11 <lookup_tables = [150 : ui8, 23 : ui8, 144 : ui8]> : (tensor<3x!ct__D742>, tensor<3x!ct__D742>, tensor<3x!ct__D742>) -> tensor<3x!ct__D742>
    %c0_12 = arith.constant 0 : index
    %extracted_13 = tensor.extract %0[%c0_12] : tensor<3x!ct__D742>
    %c1_14 = arith.constant 1 : index
    %extracted_15 = tensor.extract %0[%c1_14] : tensor<3x!ct__D742>
    %c2_16 = arith.constant 2 : index
    %extracted_17 = tensor.extract %0[%c2_16] : tensor<3x!ct__D742>
    %from_elements_18 = tensor.from_elements %ct_1, %extracted, %extracted_7, %extracted_5 : tensor<4x!ct__D742>
    %from_elements_19 = tensor.from_elements %extracted_5, %extracted_6, %extracted_8, %extracted_17 : tensor<4x!ct__D742>
    %from_elements_20 = tensor.from_elements %extracted_13, %extracted_0, %extracted_15, %extracted_13 : tensor<4x!ct__D742>
    %1 = cggi.packed_lut3 %from_elements_18, %from_elements_19, %from_elements_20 <lookup_tables = [9 : ui8, 150 : ui8, 105 : ui8, 212 : ui8]> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %c0_21 = arith.constant 0 : index
    %extracted_22 = tensor.extract %1[%c0_21] : tensor<4x!ct__D742>
    %c1_23 = arith.constant 1 : index
    %extracted_24 = tensor.extract %1[%c1_23] : tensor<4x!ct__D742>
    %c2_25 = arith.constant 2 : index
    %extracted_26 = tensor.extract %1[%c2_25] : tensor<4x!ct__D742>
    %c3_27 = arith.constant 3 : index
    %extracted_28 = tensor.extract %1[%c3_27] : tensor<4x!ct__D742>
    %from_elements_29 = tensor.from_elements %ct, %ct_1, %extracted_9, %extracted_7 : tensor<4x!ct__D742>
    %from_elements_30 = tensor.from_elements %extracted_22, %extracted_9, %extracted_26, %extracted_8 : tensor<4x!ct__D742>
    %from_elements_31 = tensor.from_elements %extracted_24, %extracted_26, %extracted_28, %extracted_15 : tensor<4x!ct__D742>
    %2 = cggi.packed_lut3 %from_elements_29, %from_elements_30, %from_elements_31 <lookup_tables = [176 : ui8, 9 : ui8, 178 : ui8, 43 : ui8]> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %c0_32 = arith.constant 0 : index
    %extracted_33 = tensor.extract %2[%c0_32] : tensor<4x!ct__D742>
    %c1_34 = arith.constant 1 : index
    %extracted_35 = tensor.extract %2[%c1_34] : tensor<4x!ct__D742>
    %c2_36 = arith.constant 2 : index
    %extracted_37 = tensor.extract %2[%c2_36] : tensor<4x!ct__D742>
    %c3_38 = arith.constant 3 : index
    %extracted_39 = tensor.extract %2[%c3_38] : tensor<4x!ct__D742>
    %extracted_40 = tensor.extract %arg0[%c2, %c3] : tensor<3x4x!ct__D742>
    %extracted_41 = tensor.extract %arg0[%c1, %c3] : tensor<3x4x!ct__D742>
    %extracted_42 = tensor.extract %arg0[%c0, %c3] : tensor<3x4x!ct__D742>
    %from_elements_43 = tensor.from_elements %ct_1 : tensor<1x!ct__D742>
    %from_elements_44 = tensor.from_elements %extracted_6 : tensor<1x!ct__D742>
    %from_elements_45 = tensor.from_elements %extracted_0 : tensor<1x!ct__D742>
    %3 = cggi.packed_lut3 %from_elements_43, %from_elements_44, %from_elements_45 <lookup_tables = [4 : ui8]> : (tensor<1x!ct__D742>, tensor<1x!ct__D742>, tensor<1x!ct__D742>) -> tensor<1x!ct__D742>
    %c0_46 = arith.constant 0 : index
    %extracted_47 = tensor.extract %3[%c0_46] : tensor<1x!ct__D742>
    %from_elements_48 = tensor.from_elements %extracted_40, %extracted_5 : tensor<2x!ct__D742>
    %from_elements_49 = tensor.from_elements %extracted_41, %extracted_4 : tensor<2x!ct__D742>
    %from_elements_50 = tensor.from_elements %extracted_42, %extracted_47 : tensor<2x!ct__D742>
    %4 = cggi.packed_lut3 %from_elements_48, %from_elements_49, %from_elements_50 <lookup_tables = [150 : ui8, 178 : ui8]> : (tensor<2x!ct__D742>, tensor<2x!ct__D742>, tensor<2x!ct__D742>) -> tensor<2x!ct__D742>
    %c0_51 = arith.constant 0 : index
    %extracted_52 = tensor.extract %4[%c0_51] : tensor<2x!ct__D742>
    %c1_53 = arith.constant 1 : index
    %extracted_54 = tensor.extract %4[%c1_53] : tensor<2x!ct__D742>
    %from_elements_55 = tensor.from_elements %ct_1, %ct_1, %extracted_52, %extracted_9 : tensor<4x!ct__D742>
    %from_elements_56 = tensor.from_elements %extracted_17, %extracted_35, %extracted_39, %extracted_8 : tensor<4x!ct__D742>
    %from_elements_57 = tensor.from_elements %extracted_22, %extracted_33, %extracted_37, %extracted_54 : tensor<4x!ct__D742>
    %5 = cggi.packed_lut3 %from_elements_55, %from_elements_56, %from_elements_57 <lookup_tables = [9 : ui8, 4 : ui8, 150 : ui8, 178 : ui8]> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %c0_58 = arith.constant 0 : index
    %extracted_59 = tensor.extract %5[%c0_58] : tensor<4x!ct__D742>
    %c1_60 = arith.constant 1 : index
    %extracted_61 = tensor.extract %5[%c1_60] : tensor<4x!ct__D742>
    %c2_62 = arith.constant 2 : index
    %extracted_63 = tensor.extract %5[%c2_62] : tensor<4x!ct__D742>
    %c3_64 = arith.constant 3 : index
    %extracted_65 = tensor.extract %5[%c3_64] : tensor<4x!ct__D742>
    %from_elements_66 = tensor.from_elements %extracted_28, %extracted_59, %extracted_63, %extracted_42 : tensor<4x!ct__D742>
    %from_elements_67 = tensor.from_elements %extracted_35, %extracted_24, %ct, %extracted_40 : tensor<4x!ct__D742>
    %from_elements_68 = tensor.from_elements %extracted_33, %ct, %extracted_61, %extracted_65 : tensor<4x!ct__D742>
    %6 = cggi.packed_lut3 %from_elements_66, %from_elements_67, %from_elements_68 <lookup_tables = [105 : ui8, 120 : ui8, 75 : ui8, 178 : ui8]> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %c0_69 = arith.constant 0 : index
    %extracted_70 = tensor.extract %6[%c0_69] : tensor<4x!ct__D742>
    %c1_71 = arith.constant 1 : index
    %extracted_72 = tensor.extract %6[%c1_71] : tensor<4x!ct__D742>
    %c2_73 = arith.constant 2 : index
    %extracted_74 = tensor.extract %6[%c2_73] : tensor<4x!ct__D742>
    %c3_75 = arith.constant 3 : index
    %extracted_76 = tensor.extract %6[%c3_75] : tensor<4x!ct__D742>
    %from_elements_77 = tensor.from_elements %extracted_24, %extracted_72, %extracted_70, %extracted_74 : tensor<4x!ct__D742>
    %from_elements_78 = tensor.from_elements %ct_1, %extracted_4, %extracted_8, %ct_1 : tensor<4x!ct__D742>
    return %from_elements_77, %extracted_76, %from_elements_78 : tensor<4x!ct__D742>, !ct__D742, tensor<4x!ct__D742>
  }
}

