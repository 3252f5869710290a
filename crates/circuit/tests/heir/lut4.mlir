#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = 268435456>
#key = #lwe.key<>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ring_i4_x = #polynomial.ring<coefficientType = i4, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i4_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_i4_x, encoding = #constant_coefficient_encoding>>
module attributes {scheme.cggi} {
  func.func @balance(%arg0: tensor<3x4x!ct__D742>, %ct: !ct__D742) -> (tensor<4x!ct__D742>, !ct__D742, tensor<4x!ct__D742>) {
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %extracted = tensor.extract %arg0[%c1, %c1] : tensor<3x4x!ct__D742>
    %extracted_0 = tensor.extract %arg0[%c0, %c1] : tensor<3x4x!ct__D742>
    %extracted_1 = tensor.extract %arg0[%c1, %c0] : tensor<3x4x!ct__D742>
    %extracted_2 = tensor.extract %arg0[%c0, %c0] : tensor<3x4x!ct__D742>
    %ct_3 = cggi.lut4 %extracted, %extracted_0, %extracted_1, %extracted_2 <lookup_table = 34680 : ui16> : !ct__D742
    %extracted_4 = tensor.extract %arg0[%c2, %c0] : tensor<3x4x!ct__D742>
    %pt = lwe.encode %false <plaintext_bits = 4> : i1 to !pt
    %ct_5 = lwe.trivial_encrypt %pt : !pt -> !ct__D742
    %ct_6 = cggi.lut4 %ct_5, %extracted_1, %extracted_4, %extracted_2 <lookup_table = 150 : ui16> : !ct__D742
    %extracted_7 = tensor.extract %arg0[%c2, %c1] : tensor<3x4x!ct__D742>
    %ct_8 = cggi.lut4 %ct, %extracted_7, %ct_3, %ct_6 <lookup_table = 48640 : ui16> : !ct__D742
    %ct_9 = cggi.lut4 %ct_5, %extracted_4, %extracted_1, %extracted_2 <lookup_table = 144 : ui16> : !ct__D742
    %ct_10 = cggi.lut4 %ct_5, %extracted_7, %ct_9, %ct_3 <lookup_table = 212 : ui16> : !ct__D742
    %ct_11 = cggi.lut4 %extracted_2, %extracted_1, %extracted, %extracted_0 <lookup_table = 6007 : ui16> : !ct__D742
    %extracted_12 = tensor.extract %arg0[%c2, %c2] : tensor<3x4x!ct__D742>
    %extracted_13 = tensor.extract %arg0[%c1, %c2] : tensor<3x4x!ct__D742>
    %extracted_14 = tensor.extract %arg0[%c0, %c2] : tensor<3x4x!ct__D742>
    %ct_15 = cggi.lut4 %extracted_12, %extracted_13, %extracted_14, %ct_11 <lookup_table = 27030 : ui16> : !ct__D742
    %ct_16 = cggi.lut4 %ct_5, %ct_15, %ct_10, %ct_8 <lookup_table = 105 : ui16> : !ct__D742
    %ct_17 = cggi.lut4 %ct_5, %ct_5, %extracted_7, %ct_3 <lookup_table = 9 : ui16> : !ct__D742
    %ct_18 = cggi.lut4 %ct_17, %extracted_4, %ct, %ct_6 <lookup_table = 10455 : ui16> : !ct__D742
    %extracted_19 = tensor.extract %arg0[%c2, %c3] : tensor<3x4x!ct__D742>
    %extracted_20 = tensor.extract %arg0[%c1, %c3] : tensor<3x4x!ct__D742>
    %extracted_21 = tensor.extract %arg0[%c0, %c3] : tensor<3x4x!ct__D742>
    %ct_22 = cggi.lut4 %ct_5, %extracted_19, %extracted_20, %extracted_21 <lookup_table = 150 : ui16> : !ct__D742
    %ct_23 = cggi.lut4 %ct_22, %extracted_13, %extracted_14, %ct_11 <lookup_table = 11220 : ui16> : !ct__D742
    %ct_24 = cggi.lut4 %extracted_4, %extracted_7, %extracted_2, %extracted_0 <lookup_table = 29008 : ui16> : !ct__D742
    %ct_25 = cggi.lut4 %ct_5, %extracted_12, %extracted_14, %ct_24 <lookup_table = 178 : ui16> : !ct__D742
    %ct_26 = cggi.lut4 %ct_5, %extracted_21, %extracted_19, %ct_25 <lookup_table = 178 : ui16> : !ct__D742
    %ct_27 = cggi.lut4 %ct_15, %ct_23, %ct_10, %extracted_12 <lookup_table = 15450 : ui16> : !ct__D742
    %ct_28 = cggi.lut4 %ct_27, %ct_8, %ct_15, %ct <lookup_table = 3570 : ui16> : !ct__D742
    %from_elements = tensor.from_elements %ct_6, %ct_18, %ct_16, %ct_28 : tensor<4x!ct__D742>
    %from_elements_29 = tensor.from_elements %ct_5, %extracted_0, %extracted_14, %ct_5 : tensor<4x!ct__D742>
    return %from_elements, %ct_26, %from_elements_29 : tensor<4x!ct__D742>, !ct__D742, tensor<4x!ct__D742>
  }
}
