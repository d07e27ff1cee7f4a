; Floating point and memory: the product of two 32 x 32 matrices, three loops deep.
; Every variable lives in memory, and every address is computed anew, as a plain front end does it.

@a = global [1024 x double] zeroinitializer
@b = global [1024 x double] zeroinitializer
@c = global [1024 x double] zeroinitializer

define i64 @kernel(i64 %seed) {
entry:
  %i = alloca i64
  %j = alloca i64
  %k = alloca i64
  %sum = alloca double
  store i64 0, ptr %i
  br label %fill

fill:
  %f0 = load i64, ptr %i
  %f1 = icmp slt i64 %f0, 1024
  br i1 %f1, label %fill.body, label %filled

fill.body:
  %f2 = load i64, ptr %i
  %f2s = add i64 %f2, %seed
  %f2m = mul i64 %f2s, -7046029254386353131
  %f3 = lshr i64 %f2m, 56
  %f4 = sitofp i64 %f3 to double
  %f5 = getelementptr [1024 x double], ptr @a, i64 0, i64 %f2
  store double %f4, ptr %f5
  %f6 = load i64, ptr %i
  %f7 = and i64 %f6, 3
  %f8 = sitofp i64 %f7 to double
  %f9 = getelementptr [1024 x double], ptr @b, i64 0, i64 %f6
  store double %f8, ptr %f9
  %f10 = load i64, ptr %i
  %f11 = add i64 %f10, 1
  store i64 %f11, ptr %i
  br label %fill

filled:
  store double 0.0, ptr %sum
  store i64 0, ptr %i
  br label %rows

rows:
  %r0 = load i64, ptr %i
  %r1 = icmp slt i64 %r0, 32
  br i1 %r1, label %row, label %done

row:
  store i64 0, ptr %j
  br label %columns

columns:
  %c0 = load i64, ptr %j
  %c1 = icmp slt i64 %c0, 32
  br i1 %c1, label %cell, label %row.end

cell:
  %x0 = load i64, ptr %i
  %x1 = mul i64 %x0, 32
  %x2 = load i64, ptr %j
  %x3 = add i64 %x1, %x2
  %x4 = getelementptr [1024 x double], ptr @c, i64 0, i64 %x3
  store double 0.0, ptr %x4
  store i64 0, ptr %k
  br label %terms

terms:
  %t0 = load i64, ptr %k
  %t1 = icmp slt i64 %t0, 32
  br i1 %t1, label %term, label %cell.end

term:
  %t2 = load i64, ptr %i
  %t3 = mul i64 %t2, 32
  %t4 = load i64, ptr %k
  %t5 = add i64 %t3, %t4
  %t6 = getelementptr [1024 x double], ptr @a, i64 0, i64 %t5
  %t7 = load double, ptr %t6
  %t8 = load i64, ptr %k
  %t9 = mul i64 %t8, 32
  %t10 = load i64, ptr %j
  %t11 = add i64 %t9, %t10
  %t12 = getelementptr [1024 x double], ptr @b, i64 0, i64 %t11
  %t13 = load double, ptr %t12
  %t14 = fmul double %t7, %t13
  %t15 = load i64, ptr %i
  %t16 = mul i64 %t15, 32
  %t17 = load i64, ptr %j
  %t18 = add i64 %t16, %t17
  %t19 = getelementptr [1024 x double], ptr @c, i64 0, i64 %t18
  %t20 = load double, ptr %t19
  %t21 = fadd double %t20, %t14
  store double %t21, ptr %t19
  %t22 = load i64, ptr %k
  %t23 = add i64 %t22, 1
  store i64 %t23, ptr %k
  br label %terms

cell.end:
  %e0 = load i64, ptr %i
  %e1 = mul i64 %e0, 32
  %e2 = load i64, ptr %j
  %e3 = add i64 %e1, %e2
  %e4 = getelementptr [1024 x double], ptr @c, i64 0, i64 %e3
  %e5 = load double, ptr %e4
  %e6 = load double, ptr %sum
  %e7 = fadd double %e6, %e5
  store double %e7, ptr %sum
  %e8 = load i64, ptr %j
  %e9 = add i64 %e8, 1
  store i64 %e9, ptr %j
  br label %columns

row.end:
  %n0 = load i64, ptr %i
  %n1 = add i64 %n0, 1
  store i64 %n1, ptr %i
  br label %rows

done:
  %d0 = load double, ptr %sum
  %d1 = fptosi double %d0 to i64
  ret i64 %d1
}
