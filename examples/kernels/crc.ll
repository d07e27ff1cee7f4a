; Bits: a checksum of 2048 bytes, eight conditional steps for each.
; The inner loop always runs eight times, and its branch is a coin toss.

@message = global [2048 x i8] zeroinitializer

define i64 @kernel(i64 %seed) {
entry:
  %i = alloca i64
  %bit = alloca i64
  %crc = alloca i32
  store i64 0, ptr %i
  br label %fill

fill:
  %f0 = load i64, ptr %i
  %f1 = icmp slt i64 %f0, 2048
  br i1 %f1, label %fill.body, label %filled

fill.body:
  %f2 = load i64, ptr %i
  %f3 = add i64 %f2, %seed
  %f4 = mul i64 %f3, -7046029254386353131
  %f4h = lshr i64 %f4, 56
  %f5 = trunc i64 %f4h to i8
  %f6 = getelementptr [2048 x i8], ptr @message, i64 0, i64 %f2
  store i8 %f5, ptr %f6
  %f7 = load i64, ptr %i
  %f8 = add i64 %f7, 1
  store i64 %f8, ptr %i
  br label %fill

filled:
  store i32 -1, ptr %crc
  store i64 0, ptr %i
  br label %bytes

bytes:
  %b0 = load i64, ptr %i
  %b1 = icmp slt i64 %b0, 2048
  br i1 %b1, label %byte, label %done

byte:
  %b2 = load i64, ptr %i
  %b3 = getelementptr [2048 x i8], ptr @message, i64 0, i64 %b2
  %b4 = load i8, ptr %b3
  %b5 = zext i8 %b4 to i32
  %b6 = load i32, ptr %crc
  %b7 = xor i32 %b6, %b5
  store i32 %b7, ptr %crc
  store i64 0, ptr %bit
  br label %bits

bits:
  %s0 = load i64, ptr %bit
  %s1 = icmp slt i64 %s0, 8
  br i1 %s1, label %step, label %byte.end

step:
  %s2 = load i32, ptr %crc
  %s3 = and i32 %s2, 1
  %s4 = icmp ne i32 %s3, 0
  br i1 %s4, label %odd, label %even

odd:
  %s5 = load i32, ptr %crc
  %s6 = lshr i32 %s5, 1
  %s7 = xor i32 %s6, -306674912
  store i32 %s7, ptr %crc
  br label %step.end

even:
  %s8 = load i32, ptr %crc
  %s9 = lshr i32 %s8, 1
  store i32 %s9, ptr %crc
  br label %step.end

step.end:
  %s10 = load i64, ptr %bit
  %s11 = add i64 %s10, 1
  store i64 %s11, ptr %bit
  br label %bits

byte.end:
  %b8 = load i64, ptr %i
  %b9 = add i64 %b8, 1
  store i64 %b9, ptr %i
  br label %bytes

done:
  %d0 = load i32, ptr %crc
  %d1 = xor i32 %d0, -1
  %d2 = zext i32 %d1 to i64
  ret i64 %d2
}
