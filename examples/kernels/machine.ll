; Control flow: a small machine runs a program of four instructions, by a switch in a loop.
; Each instruction knows which one comes next, and the switch asks again all the same.

define i64 @kernel(i64 %seed) {
entry:
  %pc = alloca i32
  %left = alloca i64
  %x = alloca i64
  %y = alloca i64
  store i32 0, ptr %pc
  store i64 20000, ptr %left
  %odd = or i64 %seed, 1
  store i64 %odd, ptr %x
  store i64 0, ptr %y
  br label %fetch

fetch:
  %f0 = load i64, ptr %left
  %f1 = icmp sgt i64 %f0, 0
  br i1 %f1, label %decode, label %done

decode:
  %f2 = load i64, ptr %left
  %f3 = sub i64 %f2, 1
  store i64 %f3, ptr %left
  %f4 = load i32, ptr %pc
  switch i32 %f4, label %halt [
    i32 0, label %shift
    i32 1, label %blend
    i32 2, label %test
    i32 3, label %fold
  ]

shift:
  %a0 = load i64, ptr %x
  %a1 = shl i64 %a0, 13
  %a2 = load i64, ptr %x
  %a3 = xor i64 %a2, %a1
  store i64 %a3, ptr %x
  store i32 1, ptr %pc
  br label %fetch

blend:
  %b0 = load i64, ptr %x
  %b1 = lshr i64 %b0, 7
  %b2 = load i64, ptr %x
  %b3 = xor i64 %b2, %b1
  store i64 %b3, ptr %x
  store i32 2, ptr %pc
  br label %fetch

test:
  %c0 = load i64, ptr %x
  %c1 = and i64 %c0, 15
  %c2 = icmp eq i64 %c1, 0
  br i1 %c2, label %again, label %onwards

again:
  store i32 0, ptr %pc
  br label %fetch

onwards:
  store i32 3, ptr %pc
  br label %fetch

fold:
  %d0 = load i64, ptr %y
  %d1 = mul i64 %d0, 31
  %d2 = load i64, ptr %x
  %d3 = add i64 %d1, %d2
  store i64 %d3, ptr %y
  store i32 0, ptr %pc
  br label %fetch

halt:
  store i64 0, ptr %left
  br label %fetch

done:
  %e0 = load i64, ptr %y
  ret i64 %e0
}
