; Ranks on AMD's GPUs wait for each other: backends/meet.h, by one wave of 64 lanes. scripts/hip-meet makes
; hip_meet_code.c of it, so that communicators need no compiler.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
declare i64 @llvm.amdgcn.s.memrealtime()
declare void @llvm.amdgcn.s.sleep(i32 immarg)
declare void @llvm.amdgcn.wave.barrier()
declare i64 @llvm.amdgcn.ballot.i64(i1)

; The fields of backend_meet, a parameter each; words are read where they lie among the arguments.
define amdgpu_kernel void @llrt_kernel(
    ptr addrspace(1) %pad, ptr addrspace(1) %table, i64 %rank, i64 %ranks, i64 %low, i64 %high, i64 %timeout,
    i64 %refusal, ptr addrspace(1) %note, ptr addrspace(1) %list, i64 %words,
    i64 %w0, i64 %w1, i64 %w2, i64 %w3, i64 %w4, i64 %w5, i64 %w6, i64 %w7,
    i64 %w8, i64 %w9, i64 %w10, i64 %w11, i64 %w12, i64 %w13, i64 %w14, i64 %w15) #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %lane = zext i32 %id to i64
  %listed = icmp ult i64 %lane, %words
  br i1 %listed, label %write, label %written

write:
  %arguments = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  %first = getelementptr i8, ptr addrspace(4) %arguments, i64 88
  %from = getelementptr i64, ptr addrspace(4) %first, i64 %lane
  %word = load i64, ptr addrspace(4) %from
  %to = getelementptr i64, ptr addrspace(1) %list, i64 %lane
  store i64 %word, ptr addrspace(1) %to
  br label %written

written:
  %alone = icmp eq ptr addrspace(1) %pad, null
  br i1 %alone, label %done, label %count

count:
  %before = load volatile i64, ptr addrspace(1) %pad
  %error.at = getelementptr i64, ptr addrspace(1) %pad, i64 1
  %error.before = load volatile i64, ptr addrspace(1) %error.at
  %meeting = add i64 %before, 1
  call void @llvm.amdgcn.wave.barrier()
  %is.first = icmp eq i64 %lane, 0
  br i1 %is.first, label %store.count, label %counted

store.count:
  store volatile i64 %meeting, ptr addrspace(1) %pad
  br label %counted

counted:
  %had.error = icmp ne i64 %error.before, 0
  %error.begin = select i1 %had.error, i64 %error.before, i64 %refusal
  %parity = and i64 %meeting, 1
  %turn = mul i64 %parity, %ranks
  %turn.bytes = shl i64 %turn, 5
  %slots = add i64 %turn.bytes, 64
  %rank.bytes = shl i64 %rank, 5
  %own = add i64 %slots, %rank.bytes
  %fails = icmp ne i64 %error.begin, 0
  br i1 %fails, label %waited, label %tell

; Ranks %lane, + 64, ...
tell:
  %tell.base = phi i64 [ 0, %counted ], [ %tell.next, %tell.end ]
  %tell.rank = add i64 %tell.base, %lane
  %tell.has = icmp ult i64 %tell.rank, %ranks
  br i1 %tell.has, label %tell.one, label %tell.end

tell.one:
  %tell.from = getelementptr i64, ptr addrspace(1) %table, i64 %tell.rank
  %tell.pad = load ptr addrspace(1), ptr addrspace(1) %tell.from
  %tell.slot = getelementptr i8, ptr addrspace(1) %tell.pad, i64 %own
  %tell.low = getelementptr i64, ptr addrspace(1) %tell.slot, i64 1
  %tell.high = getelementptr i64, ptr addrspace(1) %tell.slot, i64 2
  store volatile i64 %low, ptr addrspace(1) %tell.low
  store volatile i64 %high, ptr addrspace(1) %tell.high
  fence release
  store atomic i64 %meeting, ptr addrspace(1) %tell.slot release, align 8
  br label %tell.end

tell.end:
  %tell.next = add i64 %tell.base, 64
  %tell.more = icmp ult i64 %tell.next, %ranks
  br i1 %tell.more, label %tell, label %told

told:
  %begun = call i64 @llvm.amdgcn.s.memrealtime()
  %some.wait = icmp ult i64 %lane, %ranks
  br label %poll

; All lanes look, until none waits: those that do not look at slot 0, and leave what it has. A tick of the
; constant clock is 10 ns (100 MHz on gfx90a and gfx942).
poll:
  %wait.rank = phi i64 [ %lane, %told ], [ %rank.next, %rest ]
  %waits = phi i1 [ %some.wait, %told ], [ %waits.next, %rest ]
  %error.sofar = phi i64 [ 0, %told ], [ %error.next, %rest ]
  %slot.rank = select i1 %waits, i64 %wait.rank, i64 0
  %wait.bytes = shl i64 %slot.rank, 5
  %wait.offset = add i64 %wait.bytes, %slots
  %wait.slot = getelementptr i8, ptr addrspace(1) %pad, i64 %wait.offset
  %told.now = load atomic i64, ptr addrspace(1) %wait.slot acquire, align 8
  %low.at = getelementptr i64, ptr addrspace(1) %wait.slot, i64 1
  %high.at = getelementptr i64, ptr addrspace(1) %wait.slot, i64 2
  %its.low = load volatile i64, ptr addrspace(1) %low.at
  %its.high = load volatile i64, ptr addrspace(1) %high.at
  %now = call i64 @llvm.amdgcn.s.memrealtime()
  %ticks = sub i64 %now, %begun
  %elapsed = mul i64 %ticks, 10
  %is.late = icmp ugt i64 %elapsed, %timeout
  %came = icmp eq i64 %told.now, %meeting
  %heard = icmp slt i64 %told.now, 0
  %low.same = icmp eq i64 %its.low, %low
  %high.same = icmp eq i64 %its.high, %high
  %same = and i1 %low.same, %high.same
  %late.error = or i64 %slot.rank, 4294967296
  %heard.error = and i64 %told.now, 9223372036854775807
  %differs.error = or i64 %slot.rank, 8589934592
  %came.error = select i1 %same, i64 0, i64 %differs.error
  %waiting.error = select i1 %is.late, i64 %late.error, i64 0
  %else.error = select i1 %heard, i64 %heard.error, i64 %waiting.error
  %found = select i1 %came, i64 %came.error, i64 %else.error
  %error.next = select i1 %waits, i64 %found, i64 %error.sofar
  %good.came = and i1 %came, %same
  %step = select i1 %good.came, i64 64, i64 0
  %rank.next = add i64 %wait.rank, %step
  %rank.more = icmp ult i64 %rank.next, %ranks
  %no.error = icmp eq i64 %error.next, 0
  %goes.on = and i1 %rank.more, %no.error
  %waits.next = and i1 %waits, %goes.on
  %waiting = call i64 @llvm.amdgcn.ballot.i64(i1 %waits.next)
  %all.done = icmp eq i64 %waiting, 0
  br i1 %all.done, label %waited, label %rest

rest:
  call void @llvm.amdgcn.s.sleep(i32 1)
  br label %poll

; Each lane with its error.
waited:
  %error = phi i64 [ %error.begin, %counted ], [ %error.next, %poll ]
  %good = icmp eq i64 %error, 0
  br i1 %good, label %done, label %failed

failed:
  store volatile i64 %error, ptr addrspace(1) %error.at
  %no.note = icmp eq ptr addrspace(1) %note, null
  br i1 %no.note, label %noted, label %leave.note

leave.note:
  store atomic i64 %error, ptr addrspace(1) %note release, align 8
  br label %noted

noted:
  %warning = or i64 %error, -9223372036854775808
  %first.slot = add i64 %rank.bytes, 64
  %all.bytes = shl i64 %ranks, 5
  br label %warn

warn:
  %warn.rank = phi i64 [ 0, %noted ], [ %warn.next, %warn.one ]
  %warn.more = icmp ult i64 %warn.rank, %ranks
  br i1 %warn.more, label %warn.one, label %done

warn.one:
  %warn.from = getelementptr i64, ptr addrspace(1) %table, i64 %warn.rank
  %warn.pad = load ptr addrspace(1), ptr addrspace(1) %warn.from
  %warn.even = getelementptr i8, ptr addrspace(1) %warn.pad, i64 %first.slot
  %warn.odd = getelementptr i8, ptr addrspace(1) %warn.even, i64 %all.bytes
  store atomic i64 %warning, ptr addrspace(1) %warn.even release, align 8
  store atomic i64 %warning, ptr addrspace(1) %warn.odd release, align 8
  %warn.next = add i64 %warn.rank, 1
  br label %warn

done:
  ret void
}

attributes #0 = { nounwind "amdgpu-flat-work-group-size"="64,64" "uniform-work-group-size"="true" "amdgpu-no-agpr"
  "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr"
  "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr"
  "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x"
  "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
