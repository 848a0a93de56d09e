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
test:		## all tests, or those whose name matches: make test T='cache*'
	@ci/test '$(T)'
