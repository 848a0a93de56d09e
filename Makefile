# SPDX-License-Identifier: GPL-2.0
#
# The door to everything in this repository, and a thin one: each target calls
# the script that does the work. `make help` lists the targets from the
# comments beside them.

.DEFAULT_GOAL := help

# Scripts make their own use of the processors; two targets at once would only
# fight over them.
.NOTPARALLEL:

.PHONY: help
help:		## this list
	@ci/help $(MAKEFILE_LIST)

.PHONY: test
test:		## all tests, or those whose name contains a pattern: make test T='cit net-*' SEED=1 ALL=1
	@ALL='$(ALL)' MEMIO_SEED='$(SEED)' ci/test '$(T)'

.PHONY: test-more
test-more:	## what takes hours: make test-more PART='stock soak'; make test-more LIST=1
	@ci/more $(if $(LIST),--list) $(if $(AGAIN),--again) $(PART)

.PHONY: test-same
test-same:	## tests in virtual time, idle and beside a stressed host: the same figures? T=PATTERN LIST=1
	@ci/same $(if $(LIST),--list) $(T)

.PHONY: test-bounds
test-bounds:	## memio errs by one and a half times a bound: do tests notice? T=PATTERN
	@ci/bounds $(T)

.PHONY: run
run:		## a demonstration: each task's memory bandwidth, live, beside the ledger; CPU=hsx|bdx|spr
	@ci/demo $(if $(CPU),--cpu '$(CPU)') $(ARGS)

.PHONY: shell
shell:		## a shell in the emulated machine
	@ci/vm -- bash -i

.PHONY: tools
tools:		## the user tools: build/tools/memio
	@ci/tools

.PHONY: deb
deb:		## out/deb: Debian packages of the tools and of libmemio
	@ci/deb $(ARGS)

FLAVOUR ?= small
.PHONY: deb-kernel
deb-kernel:	## out/deb-kernel: a Debian package of the kernel; FLAVOUR=small|cloud-amd64|amd64
	@ci/kernel/deb $(FLAVOUR)

.PHONY: image
image:		## out/memio-machine-*.tar.gz: the emulated machine, to be booted anywhere without a build
	@ci/image

.PHONY: linux
linux:		## build/linux: the patched kernel as a git tree to work in
	@ci/kernel/layout

.PHONY: refresh
refresh:	## write what was edited in build/linux back to cgroup/ and patches/
	@SERIES='$(SERIES)' ci/kernel/refresh

.PHONY: patches
patches:	## out/: the series as mails; SIGNOFF=1 signs them off
	@SIGNOFF='$(SIGNOFF)' ci/kernel/mails

.PHONY: hooks
hooks:		## what memio adds to existing files of the kernel: lines, calls of hooks, those that tests notice
	@ci/hooks

.PHONY: check
check:		## the style of everything
	@ci/check

.PHONY: docs-check
docs-check:	## are the documents' figures those of benchmarks/results?
	@ci/check.d/results

.PHONY: check-debian12 check-debian13
check-debian12:	## does README hold on a fresh Debian 12? (50 minutes) ARGS='--all'
check-debian13:	## does README hold on a fresh Debian 13?
check-debian12 check-debian13: check-debian%:
	@ci/debian $* $(ARGS)

.PHONY: check-base
check-base:	## do the hooks apply to each release's linux-source-6.12? VERSION=6.12.118 ARGS=--boot
	@ci/kernel/base $(ARGS) $(VERSION)

.PHONY: check-series
check-series:	## build and boot the kernel after each patch of the series (35 minutes)
	@ci/kernel/build --each

.PHONY: check-selftests
check-selftests: ## the kernel's own selftests: the same on the patched kernel as on stock?
	@ci/kernel/selftests

.PHONY: check-perf
check-perf:	## perf's own tests: the same on the patched kernel as on stock?
	@ci/kernel/selftests --perf

.PHONY: mutants
mutants:	## which test fails without which call of a hook (hours): make mutants HOOKS='memio_skb_rx'
	@ci/mutants $(HOOKS)

MINUTES ?= 10
.PHONY: soak
soak:		## the tests and a random stress on a debug kernel: make soak MINUTES=10 SEED=1
	@ci/soak --minutes '$(MINUTES)' $(if $(SEED),--seed '$(SEED)') \
		$(if $(KERNEL),--kernel '$(KERNEL)')

.PHONY: bench-testbed
bench-testbed:	## what the emulation of caches and counters costs, in time
	@benchmarks/testbed/cost $(ARGS)

.PHONY: bench-accuracy
bench-accuracy:	## memio's figures against the truth: make bench-accuracy ARGS='--runs 3 llc'
	@benchmarks/accuracy/accuracy $(ARGS)

.PHONY: bench-policy
bench-policy:	## limits held, and what they give back: make bench-policy ARGS='--runs 3 isolation'
	@benchmarks/policy/policy $(ARGS)

.PHONY: bench-overhead
bench-overhead:	## what memio costs, against the stock kernel: make bench-overhead ARGS='--runs 3 pipe'
	@benchmarks/overhead/overhead $(ARGS)

.PHONY: bench-hackbench bench-iperf bench-ab
bench-hackbench: ## what memio costs hackbench, against the stock kernel: make bench-hackbench ARGS='--runs 3'
bench-iperf:	## what memio costs a server of TCP, over e1000e and virtio
bench-ab:	## what memio costs Apache, over e1000e and virtio
bench-hackbench bench-iperf bench-ab: bench-%:
	@benchmarks/programs/programs $(ARGS) $*

.PHONY: bench-trace
bench-trace:	## how small and how fast traces are compressed, beside other codes
	@benchmarks/trace/codecs

.PHONY: bench-cit
bench-cit:	## what the emulated cores' events count, found out by memio cit: tables and figures
	@benchmarks/cit/cit $(ARGS)

.PHONY: bench-pebs
bench-pebs:	## what traces of events see, lose and cost: make bench-pebs ARGS='--runs 3 linear'
	@benchmarks/pebs/pebs $(ARGS)

.PHONY: bench-active
bench-active:	## what interferers leave and programs use, by memio active, beside the ledger
	@benchmarks/active/active $(ARGS)

.PHONY: clean
clean:		## remove build/ and out/, and what the cache has not used for 30 days
	@ci/clean

.PHONY: distclean
distclean:	## remove the whole cache too
	@ci/clean --all
