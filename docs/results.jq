# SPDX-License-Identifier: GPL-2.0
#
# Texts of the documents, by the KEY of their marks, of a file of benchmarks/results:
# ci/check.d/results has the rules. A KEY that the file has nothing for is null.

{}
