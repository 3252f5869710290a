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
    %ct_5 = cggi.lut3 %extracted_3, %extracted_4, %ct_2 <lookup_table = 150 : ui8> : !ct__D742
    %extracted_6 = tensor.extract %arg0[%c2, %c1] : tensor<3x4x!ct__D742>
    %ct_7 = cggi.lut3 %ct_1, %extracted_6, %ct_5 <lookup_table = 9 : ui8> : !ct__D742
    %extracted_8 = tensor.extract %arg0[%c2, %c0] : tensor<3x4x!ct__D742>
    %ct_9 = cggi.lut3 %extracted, %extracted_8, %extracted_0 <lookup_table = 150 : ui8> : !ct__D742
    %ct_10 = cggi.lut3 %ct, %ct_7, %ct_9 <lookup_table = 176 : ui8> : !ct__D742
    %ct_11 = cggi.lut3 %extracted_3, %extracted_4, %ct_2 <lookup_table = 23 : ui8> : !ct__D742
    %extracted_12 = tensor.extract %arg0[%c1, %c2] : tensor<3x4x!ct__D742>
    %extracted_13 = tensor.extract %arg0[%c0, %c2] : tensor<3x4x!ct__D742>
    %ct_14 = cggi.lut3 %extracted_12, %extracted_13, %ct_11 <lookup_table = 105 : ui8> : !ct__D742
    %extracted_15 = tensor.extract %arg0[%c2, %c2] : tensor<3x4x!ct__D742>
    %ct_16 = cggi.lut3 %ct_1, %extracted_15, %ct_14 <lookup_table = 9 : ui8> : !ct__D742
    %ct_17 = cggi.lut3 %extracted_8, %extracted, %extracted_0 <lookup_table = 144 : ui8> : !ct__D742
    %ct_18 = cggi.lut3 %extracted_6, %ct_17, %ct_5 <lookup_table = 212 : ui8> : !ct__D742
    %ct_19 = cggi.lut3 %ct_18, %ct_16, %ct_10 <lookup_table = 105 : ui8> : !ct__D742
    %ct_20 = cggi.lut3 %ct_1, %ct_17, %ct_7 <lookup_table = 9 : ui8> : !ct__D742
    %ct_21 = cggi.lut3 %ct_20, %ct_9, %ct <lookup_table = 120 : ui8> : !ct__D742
    %ct_22 = cggi.lut3 %ct_1, %ct_16, %ct_10 <lookup_table = 4 : ui8> : !ct__D742
    %ct_23 = cggi.lut3 %extracted_12, %extracted_13, %ct_11 <lookup_table = 43 : ui8> : !ct__D742
    %extracted_24 = tensor.extract %arg0[%c2, %c3] : tensor<3x4x!ct__D742>
    %extracted_25 = tensor.extract %arg0[%c1, %c3] : tensor<3x4x!ct__D742>
    %extracted_26 = tensor.extract %arg0[%c0, %c3] : tensor<3x4x!ct__D742>
    %ct_27 = cggi.lut3 %extracted_24, %extracted_25, %extracted_26 <lookup_table = 150 : ui8> : !ct__D742
    %ct_28 = cggi.lut3 %ct_1, %extracted_8, %extracted_0 <lookup_table = 4 : ui8> : !ct__D742
    %from_elements = tensor.from_elements %extracted_15, %extracted_6 : tensor<2x!ct__D742>
    %from_elements_29 = tensor.from_elements %ct_14, %extracted_4 : tensor<2x!ct__D742>
    %from_elements_30 = tensor.from_elements %ct_18, %ct_28 : tensor<2x!ct__D742>
    %0 = cggi.lut3 %from_elements, %from_elements_29, %from_elements_30 <lookup_table = 178 : ui8> : tensor<2x!ct__D742>
    %c0_31 = arith.constant 0 : index
    %extracted_32 = tensor.extract %0[%c0_31] : tensor<2x!ct__D742>
    %c1_33 = arith.constant 1 : index
    %extracted_34 = tensor.extract %0[%c1_33] : tensor<2x!ct__D742>
    %ct_35 = cggi.lut3 %extracted_15, %extracted_13, %extracted_34 <lookup_table = 178 : ui8> : !ct__D742
    %ct_36 = cggi.lut3 %extracted_26, %extracted_24, %ct_35 <lookup_table = 178 : ui8> : !ct__D742
    %from_elements_37 = tensor.from_elements %ct_1, %extracted_4, %extracted_13, %ct_1 : tensor<4x!ct__D742>
    %ct_38 = cggi.lut3 %ct_27, %ct_23, %extracted_32 <lookup_table = 150 : ui8> : !ct__D742
    %ct_39 = cggi.lut3 %ct_38, %ct, %ct_22 <lookup_table = 75 : ui8> : !ct__D742
    %from_elements_40 = tensor.from_elements %ct_9, %ct_21, %ct_19, %ct_39 : tensor<4x!ct__D742>
    return %from_elements_40, %ct_36, %from_elements_37 : tensor<4x!ct__D742>, !ct__D742, tensor<4x!ct__D742>
  }
}

