// What is left of two numbers when the third is taken from their sum, negated on demand; whether
// the first is below the third, with signs; the two middle bits of the first.
func.func @balance(%values: tensor<3xi4> {secret.secret}, %negate: i1 {secret.secret})
    -> (i4, i1, i4) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = tensor.extract %values[%c0] : tensor<3xi4>
  %b = tensor.extract %values[%c1] : tensor<3xi4>
  %c = tensor.extract %values[%c2] : tensor<3xi4>
  %sum = arith.addi %a, %b : i4
  %left = arith.subi %sum, %c : i4
  %zero = arith.constant 0 : i4
  %minus = arith.subi %zero, %left : i4
  %signed = arith.select %negate, %minus, %left : i4
  %below = arith.cmpi slt, %a, %c : i4
  %six = arith.constant 6 : i4
  %middle = arith.andi %a, %six : i4
  return %signed, %below, %middle : i4, i1, i4
}
