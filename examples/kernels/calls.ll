; Calls: a loop that clamps and mixes through small functions, which compute the same things twice.
; Before they are inlined nobody can see that.

define internal i64 @clamp(i64 %value, i64 %least, i64 %most) alwaysinline {
entry:
  %result = alloca i64
  store i64 %value, ptr %result
  %low = icmp slt i64 %value, %least
  br i1 %low, label %below, label %check

below:
  store i64 %least, ptr %result
  br label %done

check:
  %high = icmp sgt i64 %value, %most
  br i1 %high, label %above, label %done

above:
  store i64 %most, ptr %result
  br label %done

done:
  %r = load i64, ptr %result
  ret i64 %r
}

define internal i64 @square(i64 %value) alwaysinline {
entry:
  %held = alloca i64
  store i64 %value, ptr %held
  %v0 = load i64, ptr %held
  %v1 = load i64, ptr %held
  %v2 = mul i64 %v0, %v1
  ret i64 %v2
}

define internal i64 @mix(i64 %one, i64 %other) alwaysinline {
entry:
  %s0 = call i64 @square(i64 %one)
  %s1 = call i64 @square(i64 %other)
  %s2 = add i64 %s0, %s1
  %s3 = call i64 @square(i64 %one)
  %s4 = call i64 @square(i64 %other)
  %s5 = sub i64 %s3, %s4
  %s6 = xor i64 %s2, %s5
  ret i64 %s6
}

define i64 @kernel(i64 %seed) {
entry:
  %i = alloca i64
  %total = alloca i64
  store i64 0, ptr %i
  store i64 %seed, ptr %total
  br label %loop

loop:
  %l0 = load i64, ptr %i
  %l1 = icmp slt i64 %l0, 6000
  br i1 %l1, label %body, label %done

body:
  %b0 = load i64, ptr %i
  %b1 = and i64 %b0, 255
  %b2 = call i64 @clamp(i64 %b1, i64 16, i64 235)
  %b3 = load i64, ptr %total
  %b4 = lshr i64 %b3, 3
  %b5 = call i64 @clamp(i64 %b4, i64 -4096, i64 4096)
  %b6 = call i64 @mix(i64 %b2, i64 %b5)
  %b7 = call i64 @mix(i64 %b5, i64 %b2)
  %b8 = add i64 %b6, %b7
  %b9 = load i64, ptr %total
  %b10 = xor i64 %b9, %b8
  store i64 %b10, ptr %total
  %b11 = load i64, ptr %i
  %b12 = add i64 %b11, 1
  store i64 %b12, ptr %i
  br label %loop

done:
  %d0 = load i64, ptr %total
  ret i64 %d0
}
