; Branches that nobody can foresee: an insertion sort of 384 numbers.

@numbers = global [384 x i32] zeroinitializer

define i64 @kernel(i64 %seed) {
entry:
  %i = alloca i64
  %j = alloca i64
  %state = alloca i32
  %held = alloca i32
  %sum = alloca i64
  store i64 0, ptr %i
  %first = trunc i64 %seed to i32
  store i32 %first, ptr %state
  br label %fill

fill:
  %f0 = load i64, ptr %i
  %f1 = icmp slt i64 %f0, 384
  br i1 %f1, label %fill.body, label %filled

fill.body:
  %f2 = load i32, ptr %state
  %f3 = mul i32 %f2, 1103515245
  %f4 = add i32 %f3, 12345
  store i32 %f4, ptr %state
  %f5 = load i32, ptr %state
  %f6 = lshr i32 %f5, 16
  %f7 = load i64, ptr %i
  %f8 = getelementptr [384 x i32], ptr @numbers, i64 0, i64 %f7
  store i32 %f6, ptr %f8
  %f9 = load i64, ptr %i
  %f10 = add i64 %f9, 1
  store i64 %f10, ptr %i
  br label %fill

filled:
  store i64 1, ptr %i
  br label %insert

insert:
  %n0 = load i64, ptr %i
  %n1 = icmp slt i64 %n0, 384
  br i1 %n1, label %take, label %sorted

take:
  %n2 = load i64, ptr %i
  %n3 = getelementptr [384 x i32], ptr @numbers, i64 0, i64 %n2
  %n4 = load i32, ptr %n3
  store i32 %n4, ptr %held
  %n5 = load i64, ptr %i
  store i64 %n5, ptr %j
  br label %search

search:
  %s0 = load i64, ptr %j
  %s1 = icmp sgt i64 %s0, 0
  br i1 %s1, label %compare, label %place

compare:
  %s2 = load i64, ptr %j
  %s3 = sub i64 %s2, 1
  %s4 = getelementptr [384 x i32], ptr @numbers, i64 0, i64 %s3
  %s5 = load i32, ptr %s4
  %s6 = load i32, ptr %held
  %s7 = icmp ugt i32 %s5, %s6
  br i1 %s7, label %move, label %place

move:
  %m0 = load i64, ptr %j
  %m1 = sub i64 %m0, 1
  %m2 = getelementptr [384 x i32], ptr @numbers, i64 0, i64 %m1
  %m3 = load i32, ptr %m2
  %m4 = load i64, ptr %j
  %m5 = getelementptr [384 x i32], ptr @numbers, i64 0, i64 %m4
  store i32 %m3, ptr %m5
  %m6 = load i64, ptr %j
  %m7 = sub i64 %m6, 1
  store i64 %m7, ptr %j
  br label %search

place:
  %p0 = load i32, ptr %held
  %p1 = load i64, ptr %j
  %p2 = getelementptr [384 x i32], ptr @numbers, i64 0, i64 %p1
  store i32 %p0, ptr %p2
  %p3 = load i64, ptr %i
  %p4 = add i64 %p3, 1
  store i64 %p4, ptr %i
  br label %insert

sorted:
  store i64 0, ptr %i
  store i64 0, ptr %sum
  br label %check

check:
  %c0 = load i64, ptr %i
  %c1 = icmp slt i64 %c0, 384
  br i1 %c1, label %add, label %done

add:
  %c2 = load i64, ptr %i
  %c3 = getelementptr [384 x i32], ptr @numbers, i64 0, i64 %c2
  %c4 = load i32, ptr %c3
  %c5 = zext i32 %c4 to i64
  %c6 = load i64, ptr %i
  %c7 = mul i64 %c5, %c6
  %c8 = load i64, ptr %sum
  %c9 = add i64 %c8, %c7
  store i64 %c9, ptr %sum
  %c10 = load i64, ptr %i
  %c11 = add i64 %c10, 1
  store i64 %c11, ptr %i
  br label %check

done:
  %d0 = load i64, ptr %sum
  ret i64 %d0
}
