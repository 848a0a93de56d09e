/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work of known size for ci/tests/guest/core.c, which has the sizes in tables
 *
 * Each is a C function of (rdi, rsi). What one counts is said beside it, with its
 * RET: n is rsi.
 */
	.text

	.macro work name
	.globl	\name
	.type	\name, @function
	.balign	64
\name:
	.endm

/* Nothing: 1 instruction. */
work work_empty
	ret

/* 2 n + 1 instructions, n conditional branches, n - 1 of them taken. */
work work_loop
1:	dec	%rsi
	jnz	1b
	ret

/* 5001: more than one block can have, on more than one page. */
work work_straight
	.rept	5000
	nop
	.endr
	ret

/* A store to each of n pages: 4 n + 1. */
work work_touch
1:	movb	$1, (%rdi)
	add	$4096, %rdi
	dec	%rsi
	jnz	1b
	ret

/* The same for 64 pages, in one block: 65. */
work work_touch_block
	.set	page, 0
	.rept	64
	movb	$1, page * 4096(%rdi)
	.set	page, page + 1
	.endr
	ret

/* Fill n bytes: 3 + RET instructions; the repeated one takes n + 1 cycles. */
work work_rep_stos
	mov	%rsi, %rcx
	xor	%eax, %eax
	rep stosb
	ret

/* Copy n bytes from rdi to themselves: 3 + RET, n + 1. */
work work_rep_movs
	mov	%rsi, %rcx
	mov	%rdi, %rsi
	rep movsb
	ret

/*
 * Compare n bytes at rdi with those behind them. Alike: 3 + RET, n + 1 cycles.
 * If the k-th is the first to differ: k cycles.
 */
work work_rep_cmps
	mov	%rsi, %rcx
	lea	(%rdi, %rsi), %rsi
	repe cmpsb
	ret

/* n locked additions to 8 bytes at rdi: 3 n + 1. */
work work_locked
1:	lock addq $1, (%rdi)
	dec	%rsi
	jnz	1b
	ret

/*
 * Code that changes itself, at rdi, which has been copied from here: each
 * round, the second instruction writes to the third, in the same block. 5 n + 2.
 */
work work_self
	mov	%rdi, %rdx
1:	inc	%eax
	mov	%al, 10(%rdi)
2:	mov	$0, %ecx
	dec	%rsi
	jnz	1b
	ret
	.globl	work_self_end
work_self_end:
	/* What is written is a byte of the constant. */
	.if	(2b - work_self) + 1 > 10 || (2b - work_self) + 4 < 10
	.error	"work_self"
	.endif

/*
 * n times an instruction that faults, for a handler that skips its two bytes in
 * 4 instructions, system call included: 6 n + 3 (the fault itself is none).
 */
	.macro	faulting name:req insn:vararg
	work	\name
	xor	%eax, %eax
	xor	%ecx, %ecx
1:	\insn
	dec	%rsi
	jnz	1b
	ret
	.endm
faulting work_ud2 ud2
faulting work_divide divl %ecx
faulting work_load movb (%rax), %al
faulting work_privileged clts

/* n breakpoints, which trap: they retire. The handler has 3 instructions: 6 n + 1. */
work work_int3
1:	int3
	dec	%rsi
	jnz	1b
	ret

/* n system calls: 4 n + 4; n far branches, n conditional ones. */
work work_syscall
	push	%rbx
	mov	%rsi, %rbx
1:	mov	$39, %eax
	syscall
	dec	%rbx
	jnz	1b
	pop	%rbx
	ret

/* The handlers, and what the kernel lets them return to */
work handle_fault
	addq	$2, 168(%rdx)		/* uc_mcontext.gregs[REG_RIP] */
	ret
work handle_trap
	ret
work handler_returns
	mov	$15, %eax		/* rt_sigreturn */
	syscall

/*
 * Branches, n rounds each. Per round, all kernels draw a number in rax, in 55
 * instructions without a branch.
 */
	.macro	draw
	.rept	9
	mov	%rax, %rdx
	shl	$13, %rdx
	xor	%rdx, %rax
	mov	%rax, %rdx
	shr	$7, %rdx
	xor	%rdx, %rax
	.endr
	inc	%r8
	.endm

/* {CE, CR, T, D, M} as the seed of the counter inspection has them, each round. */

/* a: {2, 2, 1.5, 0, 0}: the first branch is taken in the second half */
work branch_a
	mov	$88172645463325252, %rax
	mov	%rsi, %rcx
	shr	$1, %rcx
	xor	%r8d, %r8d
1:	cmp	%rcx, %r8
	jge	2f
	add	$2, %r9
2:	draw
	cmp	%rsi, %r8
	jl	1b
	ret

/* b: {2, 2, 1, 0, 0}: never taken */
work branch_b
	mov	$88172645463325252, %rax
	xor	%r8d, %r8d
1:	cmp	%rsi, %r8
	jge	2f
	add	$2, %r9
2:	draw
	cmp	%rsi, %r8
	jl	1b
	ret

/* c: {2, 2, 2, 0, 0}: always taken */
work branch_c
	mov	$88172645463325252, %rax
	xor	%r8d, %r8d
1:	cmp	%rsi, %r8
	jle	2f
	add	$2, %r9
2:	draw
	cmp	%rsi, %r8
	jl	1b
	ret

/* d: {2, 2, 1.5, 0, 0.5}: at random, the end is far away */
work branch_d
	mov	$88172645463325252, %rax
	xor	%r8d, %r8d
1:	draw
	test	$1 << 3, %al
	jnz	2f
	add	$2, %r9
2:	dec	%r8
	draw
	cmp	%rsi, %r8
	jl	1b
	ret

/* e: {2.5, 2, 1.5, 0, 0.5}: at random, the end is near */
work branch_e
	mov	$88172645463325252, %rax
	xor	%r8d, %r8d
1:	draw
	test	$1 << 3, %al
	jnz	2f
	add	$2, %r9
2:	nop
	cmp	%rsi, %r8
	jl	1b
	ret

/* f: {2, 2, 1, 1, 0}: a direct jump */
work branch_f
	mov	$88172645463325252, %rax
	xor	%r8d, %r8d
1:	cmp	%rsi, %r8
	jge	2f
	add	$2, %r9
	jmp	3f
2:	nop
3:	draw
	cmp	%rsi, %r8
	jl	1b
	ret

/* g: {1, 1, 1, 0, 0} */
work branch_g
	xor	%r8d, %r8d
1:	add	$2, %r9
	inc	%r8
	cmp	%rsi, %r8
	jl	1b
	ret

/* n direct calls, n indirect ones, 2 n returns + 1, n indirect jumps: 9 n + 3 */
work branch_calls
	lea	callee(%rip), %rdx
	lea	3f(%rip), %rcx
1:	call	callee
	call	*%rdx
	jmp	*%rcx
3:	nop
	inc	%r9
	dec	%rsi
	jnz	1b
	ret
work callee
	ret

/* Loads and stores: n of them from rdi, rsi apart (rdx times) */

/* rdx loads of 8 bytes, rsi bytes apart: 4 rdx + 1 */
work load_apart
1:	mov	(%rdi), %rax
	add	%rsi, %rdi
	dec	%rdx
	jnz	1b
	ret

/* rdx stores: 4 rdx + 1 */
work store_apart
1:	mov	%rdx, (%rdi)
	add	%rsi, %rdi
	dec	%rdx
	jnz	1b
	ret

/* rdx locked read-modify-writes: 4 rdx + 1 */
work locked_apart
1:	lock incq (%rdi)
	add	%rsi, %rdi
	dec	%rdx
	jnz	1b
	ret

/*
 * rdx times a load of 8 bytes, a store to 8 bytes behind it, rsi bytes apart, and a
 * branch: 5 rdx + 1. mixed_store is the store, mixed_branch the branch.
 */
work mixed_apart
1:	mov	(%rdi), %rax
	.globl	mixed_store
mixed_store:
	mov	%rdx, 8(%rdi)
	add	%rsi, %rdi
	dec	%rdx
	.globl	mixed_branch
mixed_branch:
	jnz	1b
	ret

/*
 * For samples that name their instruction: a loop of 99, of which the first 97
 * have one byte each. n rounds: 99 n + 1.
 */
work sampled
1:	.rept	97
	nop
	.endr
	dec	%rsi
	jnz	1b
	ret

/*
 * measure(work, rdi, rsi, rdx, out): out[0] to [7] are the general counters before,
 * [8] to [15] after work(rdi, rsi, rdx). What it adds is always the same.
 */
	.macro	read_counters at
	.set	counter, 0
	.rept	8
	mov	$counter, %ecx
	rdpmc
	shl	$32, %rdx
	or	%rdx, %rax
	mov	%rax, (\at + counter) * 8(%rbp)
	.set	counter, counter + 1
	.endr
	.endm
work measure
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	mov	%rdi, %rbx
	mov	%rsi, %r12
	mov	%rdx, %r13
	mov	%rcx, %r14
	mov	%r8, %rbp
	read_counters 0
	mov	%r12, %rdi
	mov	%r13, %rsi
	mov	%r14, %rdx
	call	*%rbx
	read_counters 8
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	.section .note.GNU-stack, "", @progbits
