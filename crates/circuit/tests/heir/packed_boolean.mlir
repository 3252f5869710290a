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
    %extracted_0 = tensor.extract %arg0[%c0, %c0] : tensor<3x4x!ct__D742>
    %extracted_1 = tensor.extract %arg0[%c2, %c1] : tensor<3x4x!ct__D742>
    %from_elements = tensor.from_elements %extracted, %extracted_0, %extracted_1 : tensor<3x!ct__D742>
    %0 = cggi.not %from_elements : tensor<3x!ct__D742>
    %c0_2 = arith.constant 0 : index
    %extracted_3 = tensor.extract %0[%c0_2] : tensor<3x!ct__D742>
    %c1_4 = arith.constant 1 : index
    %extracted_5 = tensor.extract %0[%c1_4] : tensor<3x!ct__D742>
    %c2_6 = arith.constant 2 : index
    %extracted_7 = tensor.extract %0[%c2_6] : tensor<3x!ct__D742>
    %extracted_8 = tensor.extract %arg0[%c2, %c2] : tensor<3x4x!ct__D742>
    %ct_9 = cggi.not %extracted_8 : !ct__D742
    %extracted_10 = tensor.extract %arg0[%c1, %c0] : tensor<3x4x!ct__D742>
    %extracted_11 = tensor.extract %arg0[%c1, %c1] : tensor<3x4x!ct__D742>
    %extracted_12 = tensor.extract %arg0[%c0, %c1] : tensor<3x4x!ct__D742>
    %from_elements_13 = tensor.from_elements %extracted_10, %extracted_11 : tensor<2x!ct__D742>
    %from_elements_14 = tensor.from_elements %extracted_0, %extracted_12 : tensor<2x!ct__D742>
    %1 = cggi.packed_gates %from_elements_13, %from_elements_14 <gates = <0 : i32, 4 : i32>> : (tensor<2x!ct__D742>, tensor<2x!ct__D742>) -> tensor<2x!ct__D742>
    %c0_15 = arith.constant 0 : index
    %extracted_16 = tensor.extract %1[%c0_15] : tensor<2x!ct__D742>
    %c1_17 = arith.constant 1 : index
    %extracted_18 = tensor.extract %1[%c1_17] : tensor<2x!ct__D742>
    %from_elements_19 = tensor.from_elements %extracted_10, %extracted_11, %extracted_18, %extracted_18 : tensor<4x!ct__D742>
    %from_elements_20 = tensor.from_elements %extracted_0, %extracted_12, %extracted_16, %extracted_16 : tensor<4x!ct__D742>
    %2 = cggi.packed_gates %from_elements_19, %from_elements_20 <gates = <5 : i32, 1 : i32, 1 : i32, 4 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %c0_21 = arith.constant 0 : index
    %extracted_22 = tensor.extract %2[%c0_21] : tensor<4x!ct__D742>
    %c1_23 = arith.constant 1 : index
    %extracted_24 = tensor.extract %2[%c1_23] : tensor<4x!ct__D742>
    %c2_25 = arith.constant 2 : index
    %extracted_26 = tensor.extract %2[%c2_25] : tensor<4x!ct__D742>
    %c3_27 = arith.constant 3 : index
    %extracted_28 = tensor.extract %2[%c3_27] : tensor<4x!ct__D742>
    %extracted_29 = tensor.extract %arg0[%c2, %c0] : tensor<3x4x!ct__D742>
    %extracted_30 = tensor.extract %arg0[%c1, %c2] : tensor<3x4x!ct__D742>
    %extracted_31 = tensor.extract %arg0[%c0, %c2] : tensor<3x4x!ct__D742>
    %from_elements_32 = tensor.from_elements %extracted_28, %extracted_22, %extracted_26, %extracted_30 : tensor<4x!ct__D742>
    %from_elements_33 = tensor.from_elements %extracted_1, %extracted_29, %extracted_24, %extracted_31 : tensor<4x!ct__D742>
    %3 = cggi.packed_gates %from_elements_32, %from_elements_33 <gates = <5 : i32, 1 : i32, 1 : i32, 4 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %c0_34 = arith.constant 0 : index
    %extracted_35 = tensor.extract %3[%c0_34] : tensor<4x!ct__D742>
    %c1_36 = arith.constant 1 : index
    %extracted_37 = tensor.extract %3[%c1_36] : tensor<4x!ct__D742>
    %c2_38 = arith.constant 2 : index
    %extracted_39 = tensor.extract %3[%c2_38] : tensor<4x!ct__D742>
    %c3_40 = arith.constant 3 : index
    %extracted_41 = tensor.extract %3[%c3_40] : tensor<4x!ct__D742>
    %c0_42 = arith.constant 0 : index
    %c1_43 = arith.constant 1 : index
    %c2_44 = arith.constant 2 : index
    %c3_45 = arith.constant 3 : index
    %from_elements_46 = tensor.from_elements %extracted_28, %extracted_37, %extracted_22, %extracted_41 : tensor<4x!ct__D742>
    %from_elements_47 = tensor.from_elements %extracted_7, %extracted_35, %extracted_29, %extracted_39 : tensor<4x!ct__D742>
    %4 = cggi.packed_gates %from_elements_46, %from_elements_47 <gates = <1 : i32, 1 : i32, 4 : i32, 4 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %c0_48 = arith.constant 0 : index
    %extracted_49 = tensor.extract %4[%c0_48] : tensor<4x!ct__D742>
    %c1_50 = arith.constant 1 : index
    %extracted_51 = tensor.extract %4[%c1_50] : tensor<4x!ct__D742>
    %c2_52 = arith.constant 2 : index
    %extracted_53 = tensor.extract %4[%c2_52] : tensor<4x!ct__D742>
    %c3_54 = arith.constant 3 : index
    %extracted_55 = tensor.extract %4[%c3_54] : tensor<4x!ct__D742>
    %c0_56 = arith.constant 0 : index
    %c1_57 = arith.constant 1 : index
    %c2_58 = arith.constant 2 : index
    %c3_59 = arith.constant 3 : index
    %extracted_60 = tensor.extract %arg0[%c2, %c3] : tensor<3x4x!ct__D742>
    %extracted_61 = tensor.extract %arg0[%c1, %c3] : tensor<3x4x!ct__D742>
    %c0_62 = arith.constant 0 : index
    %c1_63 = arith.constant 1 : index
    %c2_64 = arith.constant 2 : index
    %c3_65 = arith.constant 3 : index
    %c0_66 = arith.constant 0 : index
    %c1_67 = arith.constant 1 : index
    %c2_68 = arith.constant 2 : index
    %c3_69 = arith.constant 3 : index
    %c0_70 = arith.constant 0 : index
    %c1_71 = arith.constant 1 : index
    %c2_72 = arith.constant 2 : index
    %c3_73 = arith.constant 3 : index
    %from_elements_74 = tensor.from_elements %extracted_60, %extracted_60, %extracted_7, %extracted_29 : tensor<4x!ct__D742>
    %from_elements_75 = tensor.from_elements %extracted_3, %extracted_3, %extracted_12, %extracted_5 : tensor<4x!ct__D742>
    %5 = cggi.packed_gates %from_elements_74, %from_elements_75 <gates = <1 : i32, 2 : i32, 2 : i32, 1 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %c0_76 = arith.constant 0 : index
    %extracted_77 = tensor.extract %5[%c0_76] : tensor<4x!ct__D742>
    %c1_78 = arith.constant 1 : index
    %extracted_79 = tensor.extract %5[%c1_78] : tensor<4x!ct__D742>
    %c2_80 = arith.constant 2 : index
    %extracted_81 = tensor.extract %5[%c2_80] : tensor<4x!ct__D742>
    %c3_82 = arith.constant 3 : index
    %extracted_83 = tensor.extract %5[%c3_82] : tensor<4x!ct__D742>
    %from_elements_84 = tensor.from_elements %extracted_55, %extracted_79, %extracted_7, %extracted_83 : tensor<4x!ct__D742>
    %from_elements_85 = tensor.from_elements %extracted_8, %extracted_77, %extracted_12, %extracted_81 : tensor<4x!ct__D742>
    %6 = cggi.packed_gates %from_elements_84, %from_elements_85 <gates = <5 : i32, 0 : i32, 1 : i32, 1 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %c0_86 = arith.constant 0 : index
    %extracted_87 = tensor.extract %6[%c0_86] : tensor<4x!ct__D742>
    %c1_88 = arith.constant 1 : index
    %extracted_89 = tensor.extract %6[%c1_88] : tensor<4x!ct__D742>
    %c2_90 = arith.constant 2 : index
    %extracted_91 = tensor.extract %6[%c2_90] : tensor<4x!ct__D742>
    %c3_92 = arith.constant 3 : index
    %extracted_93 = tensor.extract %6[%c3_92] : tensor<4x!ct__D742>
    %from_elements_94 = tensor.from_elements %extracted_93, %ct_9 : tensor<2x!ct__D742>
    %from_elements_95 = tensor.from_elements %extracted_91, %extracted_31 : tensor<2x!ct__D742>
    %7 = cggi.packed_gates %from_elements_94, %from_elements_95 <gates = <0 : i32, 2 : i32>> : (tensor<2x!ct__D742>, tensor<2x!ct__D742>) -> tensor<2x!ct__D742>
    %c0_96 = arith.constant 0 : index
    %extracted_97 = tensor.extract %7[%c0_96] : tensor<2x!ct__D742>
    %c1_98 = arith.constant 1 : index
    %extracted_99 = tensor.extract %7[%c1_98] : tensor<2x!ct__D742>
    %from_elements_100 = tensor.from_elements %extracted_97, %extracted_99 : tensor<2x!ct__D742>
    %c0_101 = arith.constant 0 : index
    %c1_102 = arith.constant 1 : index
    %c0_103 = arith.constant 0 : index
    %c0_104 = arith.constant 0 : index
    %c1_105 = arith.constant 1 : index
    %c2_106 = arith.constant 2 : index
    %c3_107 = arith.constant 3 : index
    %pt = lwe.encode %false <plaintext_bits = 1> : i1 to !pt
    %ct_108 = lwe.trivial_encrypt %pt : !pt -> !ct__D742
    %from_elements_109 = tensor.from_elements %ct_108, %extracted_12, %extracted_31, %ct_108 : tensor<4x!ct__D742>
    %ct_110 = cggi.not %extracted_53 : !ct__D742
    %from_elements_111 = tensor.from_elements %extracted_53, %extracted_51, %extracted_30, %extracted_41 : tensor<4x!ct__D742>
    %from_elements_112 = tensor.from_elements %extracted_35, %extracted_49, %extracted_31, %extracted_39 : tensor<4x!ct__D742>
    %8 = cggi.packed_gates %from_elements_111, %from_elements_112 <gates = <1 : i32, 1 : i32, 1 : i32, 1 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %extracted_113 = tensor.extract %8[%c0_42] : tensor<4x!ct__D742>
    %extracted_114 = tensor.extract %8[%c1_43] : tensor<4x!ct__D742>
    %extracted_115 = tensor.extract %8[%c2_44] : tensor<4x!ct__D742>
    %extracted_116 = tensor.extract %8[%c3_45] : tensor<4x!ct__D742>
    %from_elements_117 = tensor.from_elements %extracted_113, %extracted_55, %extracted_87, %extracted_87 : tensor<4x!ct__D742>
    %from_elements_118 = tensor.from_elements %ct, %ct_9, %extracted_114, %extracted_114 : tensor<4x!ct__D742>
    %9 = cggi.packed_gates %from_elements_117, %from_elements_118 <gates = <1 : i32, 1 : i32, 1 : i32, 5 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %extracted_119 = tensor.extract %9[%c0_56] : tensor<4x!ct__D742>
    %extracted_120 = tensor.extract %9[%c1_57] : tensor<4x!ct__D742>
    %extracted_121 = tensor.extract %9[%c2_58] : tensor<4x!ct__D742>
    %extracted_122 = tensor.extract %9[%c3_59] : tensor<4x!ct__D742>
    %from_elements_123 = tensor.from_elements %extracted_37, %extracted_116, %extracted_89, %ct_9 : tensor<4x!ct__D742>
    %from_elements_124 = tensor.from_elements %extracted_35, %extracted_115, %extracted_61, %extracted_31 : tensor<4x!ct__D742>
    %10 = cggi.packed_gates %from_elements_123, %from_elements_124 <gates = <5 : i32, 0 : i32, 5 : i32, 1 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %extracted_125 = tensor.extract %10[%c0_70] : tensor<4x!ct__D742>
    %extracted_126 = tensor.extract %10[%c1_71] : tensor<4x!ct__D742>
    %extracted_127 = tensor.extract %10[%c2_72] : tensor<4x!ct__D742>
    %extracted_128 = tensor.extract %10[%c3_73] : tensor<4x!ct__D742>
    %from_elements_129 = tensor.from_elements %extracted_128, %extracted_79 : tensor<2x!ct__D742>
    %11 = cggi.packed_gates %from_elements_100, %from_elements_129 <gates = <1 : i32, 0 : i32>> : (tensor<2x!ct__D742>, tensor<2x!ct__D742>) -> tensor<2x!ct__D742>
    %extracted_130 = tensor.extract %11[%c0_101] : tensor<2x!ct__D742>
    %extracted_131 = tensor.extract %11[%c1_102] : tensor<2x!ct__D742>
    %from_elements_132 = tensor.from_elements %extracted_131 : tensor<1x!ct__D742>
    %from_elements_133 = tensor.from_elements %extracted_130 : tensor<1x!ct__D742>
    %12 = cggi.packed_gates %from_elements_132, %from_elements_133 <gates = <1 : i32>> : (tensor<1x!ct__D742>, tensor<1x!ct__D742>) -> tensor<1x!ct__D742>
    %extracted_134 = tensor.extract %12[%c0_103] : tensor<1x!ct__D742>
    %from_elements_135 = tensor.from_elements %extracted_122, %extracted_125, %extracted_121, %extracted_127 : tensor<4x!ct__D742>
    %from_elements_136 = tensor.from_elements %extracted_119, %extracted_53, %extracted_120, %extracted_126 : tensor<4x!ct__D742>
    %13 = cggi.packed_gates %from_elements_135, %from_elements_136 <gates = <1 : i32, 3 : i32, 0 : i32, 5 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %extracted_137 = tensor.extract %13[%c0_62] : tensor<4x!ct__D742>
    %extracted_138 = tensor.extract %13[%c1_63] : tensor<4x!ct__D742>
    %extracted_139 = tensor.extract %13[%c2_64] : tensor<4x!ct__D742>
    %extracted_140 = tensor.extract %13[%c3_65] : tensor<4x!ct__D742>
    %from_elements_141 = tensor.from_elements %extracted_125, %extracted_138, %extracted_137, %extracted_140 : tensor<4x!ct__D742>
    %from_elements_142 = tensor.from_elements %ct, %extracted_119, %ct, %extracted_139 : tensor<4x!ct__D742>
    %14 = cggi.packed_gates %from_elements_141, %from_elements_142 <gates = <2 : i32, 2 : i32, 0 : i32, 5 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %extracted_143 = tensor.extract %14[%c0_66] : tensor<4x!ct__D742>
    %extracted_144 = tensor.extract %14[%c1_67] : tensor<4x!ct__D742>
    %extracted_145 = tensor.extract %14[%c2_68] : tensor<4x!ct__D742>
    %extracted_146 = tensor.extract %14[%c3_69] : tensor<4x!ct__D742>
    %from_elements_147 = tensor.from_elements %extracted_122, %extracted_144, %extracted_146, %extracted_134 : tensor<4x!ct__D742>
    %from_elements_148 = tensor.from_elements %extracted_119, %extracted_143, %extracted_145, %extracted_77 : tensor<4x!ct__D742>
    %15 = cggi.packed_gates %from_elements_147, %from_elements_148 <gates = <4 : i32, 1 : i32, 5 : i32, 0 : i32>> : (tensor<4x!ct__D742>, tensor<4x!ct__D742>) -> tensor<4x!ct__D742>
    %extracted_149 = tensor.extract %15[%c0_104] : tensor<4x!ct__D742>
    %extracted_150 = tensor.extract %15[%c1_105] : tensor<4x!ct__D742>
    %extracted_151 = tensor.extract %15[%c2_106] : tensor<4x!ct__D742>
    %extracted_152 = tensor.extract %15[%c3_107] : tensor<4x!ct__D742>
    %from_elements_153 = tensor.from_elements %ct_110, %extracted_150, %extracted_149, %extracted_151 : tensor<4x!ct__D742>
    return %from_elements_153, %extracted_152, %from_elements_109 : tensor<4x!ct__D742>, !ct__D742, tensor<4x!ct__D742>
  }
}

