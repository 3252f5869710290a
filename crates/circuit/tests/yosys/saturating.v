module saturating(input [3:0] a, input [3:0] b, input subtract, output [3:0] y, output clipped);
  wire [4:0] sum = a + b;
  wire [4:0] difference = a - b;
  assign clipped = subtract ? difference[4] : sum[4];
  assign y = clipped ? (subtract ? 4'd0 : 4'd15) : (subtract ? difference[3:0] : sum[3:0]);
endmodule
