/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The branch kernels of memio cit
 *
 * In assembly, as their branches are what is measured: no compiler adds one, removes
 * one or turns one round. check-branches counts them in the object code, whenever it is built.
 *
 *	void kernel(uint64_t rounds, uint64_t *random, uint64_t k)
 *
 * The random numbers go on from call to call: real predictors learn a sequence of
 * some thousand outcomes by heart when they see it again.
 *
 * A to G are those of Danalis et al., "Counter Inspection Toolkit", figure 11, with
 * {conditional executed, retired, taken, direct, mispredicted} per round. H to J are
 * ours, for the kinds of branches that these seven don't have; K is figure 9. L tells
 * loads and stores from calls and returns, which are both.
 *
 * Wherever speculation after a misprediction must not reach the next branch there are
 * DRAW or PAD, more instructions than any core of today has in flight (512).
 */
#ifdef __x86_64__
	.text

	.macro	kernel name
	.globl	\name
	.type	\name, @function
	.balign	64
\name:
	.endm
	.macro	end_kernel name
	.size	\name, . - \name
	.endm

	/* rdi: rounds, rsi: where the random number is; kept in rax. r8: rounds done */
	.macro	begin
	mov	(%rsi), %rax
	xor	%r8d, %r8d
	.endm
	.macro	finish
	mov	%rax, (%rsi)
	ret
	.endm
	.macro	again to
	inc	%r8
	cmp	%rdi, %r8
	jb	\to
	.endm

	/* A random number into rax: 60 rounds of xorshift64, 540 instructions */
	.macro	draw
	.rept	60
	mov	%rax, %rdx
	shl	$13, %rdx
	xor	%rdx, %rax
	mov	%rax, %rdx
	shr	$7, %rdx
	xor	%rdx, %rax
	mov	%rax, %rdx
	shl	$17, %rdx
	xor	%rdx, %rax
	.endr
	.endm
	.macro	pad
	.rept	540
	nop
	.endr
	.endm

/* {2, 2, 1.5, 0, 0}: taken in the second half */
kernel cit_branch_a
	begin
	mov	%rdi, %rcx
	shr	$1, %rcx
1:	cmp	%rcx, %r8
	jae	2f
	add	$2, %r9
2:	draw
	again	1b
	finish
end_kernel cit_branch_a

/* {2, 2, 1, 0, 0}: never taken */
kernel cit_branch_b
	begin
1:	cmp	%rdi, %r8
	jae	2f
	add	$2, %r9
2:	draw
	again	1b
	finish
end_kernel cit_branch_b

/* {2, 2, 2, 0, 0}: always taken */
kernel cit_branch_c
	begin
1:	cmp	%rdi, %r8
	jb	2f
	add	$2, %r9
2:	draw
	again	1b
	finish
end_kernel cit_branch_c

/* {2, 2, 1.5, 0, 0.5}: at random, the end of the round is far away */
kernel cit_branch_d
	begin
1:	draw
	test	$1 << 17, %eax
	jnz	2f
	add	$2, %r9
2:	draw
	again	1b
	finish
end_kernel cit_branch_d

/* {2.5, 2, 1.5, 0, 0.5}: at random, the end of the round is near: it executes in vain */
kernel cit_branch_e
	begin
1:	draw
	test	$1 << 17, %eax
	jnz	2f
	add	$2, %r9
2:	again	1b
	finish
end_kernel cit_branch_e

/* {2, 2, 1, 1, 0}: a direct jump */
kernel cit_branch_f
	begin
1:	cmp	%rdi, %r8
	jae	2f
	add	$2, %r9
	jmp	3f
2:	draw
3:	draw
	again	1b
	finish
end_kernel cit_branch_f

/* {1, 1, 1, 0, 0}: nothing but the loop */
kernel cit_branch_g
	xor	%r8d, %r8d
1:	add	$2, %r9
	again	1b
	ret
end_kernel cit_branch_g

	.macro	jump_on
	lea	9f(%rip), %r10
	jmp	*%r10
9:
	.endm

/*
 * Kinds: 1 conditional branch, 2 direct calls (one never returns), 3 indirect ones,
 * 4 returns, 5 indirect jumps; all go where they went before.
 */
kernel cit_branch_h
	xor	%r8d, %r8d
	lea	5f(%rip), %rdx
1:	call	5f
	call	2f
	nop
2:	pop	%r10
	.rept	3
	call	*%rdx
	.endr
	.rept	5
	jump_on
	.endr
	again	1b
	ret
5:	nop
	ret
end_kernel cit_branch_h

/* To r10 or r11, at the whim of a bit */
	.macro	either bit one other
	lea	\one(%rip), %r10
	lea	\other(%rip), %r11
	test	$1 << \bit, %eax
	cmovnz	%r11, %r10
	.endm
/* A return to elsewhere than behind its call */
	.macro	astray
	call	7f
7:	pad
	lea	8f(%rip), %r10
	mov	%r10, (%rsp)
	ret
8:
	.endm

/*
 * Mispredicted kinds: 1 conditional branch; 1 indirect jump, 0.5 of them wrong; 2
 * indirect calls, 1 wrong; 2 direct calls; 4 returns, 2 wrong.
 */
kernel cit_branch_i
	begin
1:	draw
	either	17, 2f, 3f
	jmp	*%r10
2:	nop
3:	draw
	either	18, 5f, 6f
	call	*%r10
	draw
	either	19, 5f, 6f
	call	*%r10
	astray
	astray
	again	1b
	finish
5:	pad
	ret
6:	pad
	ret
end_kernel cit_branch_i

/* 1 conditional branch, 1 far one: getppid() */
kernel cit_branch_j
	xor	%r8d, %r8d
1:	mov	$110, %eax
	syscall
	again	1b
	ret
end_kernel cit_branch_j

/* As E, but taken in all but one of k rounds */
kernel cit_branch_k
	begin
	mov	%rdx, %r11
1:	draw
	mov	%eax, %r10d
	imul	%r11, %r10
	shr	$32, %r10
	jnz	2f
	add	$2, %r9
2:	again	1b
	finish
end_kernel cit_branch_k

/* 1 conditional branch; 2 loads, 3 stores */
kernel cit_branch_l
	xor	%r8d, %r8d
	sub	$16, %rsp
1:	mov	%r8, (%rsp)
	mov	(%rsp), %r9
	mov	%r9, 8(%rsp)
	mov	8(%rsp), %r10
	mov	%r10, (%rsp)
	again	1b
	add	$16, %rsp
	ret
end_kernel cit_branch_l
#endif

	.section .note.GNU-stack, "", @progbits
