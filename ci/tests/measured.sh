# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For tests that compare what ci/tests/guest/measure has written: source it after
# lib.sh, with $results (its directory) and $ledger set.

# shellcheck disable=SC2154 # which are these

need jq

# of NAME WHEN FILE LINE FIELD: one figure of a look; 0 if there is no such line.
of() {
	awk -v file="$3" -v line="$4" -v field="$5" '
		$1 == file && $2 == line {
			for (i = 3; i <= NF; i++)
				if (split($i, kv, "=") == 2 && kv[1] == field)
					v = kv[2]
		}
		END { printf "%.0f\n", v }' "$results/$1.$2"
}

# grew NAME FILE LINE FIELD: by how much it did.
grew() { echo $(($(of "$1" end "$2" "$3" "$4") - $(of "$1" begin "$2" "$3" "$4"))); }

# disk NAME DISK: bytes that the block layer has read, and written, by its own account
disk() {
	local when v=()

	for when in begin end; do
		read -r -a f < <(sed -n "s|^disk /sys/block/$2/stat ||p" "$results/$1.$when")
		v+=("${f[2]}" "${f[6]}")
	done
	echo $(((v[2] - v[0]) * 512)) $(((v[3] - v[1]) * 512))
}

# net NAME DEVICE STATISTIC
net() {
	local a b

	a=$(sed -n "s|^net /sys/class/net/$2/statistics/$3 ||p" "$results/$1.begin")
	b=$(sed -n "s|^net /sys/class/net/$2/statistics/$3 ||p" "$results/$1.end")
	echo $((b - a))
}

# truth NAME DEVICE KEY: what the ledger has of a device, between the looks
truth() {
	jq -r -L "$memio_top/ci/tests" --arg w "$1" --arg d "$2" --arg k "$3" \
		'include "ledger"; inner($w).devices[$d][$k] // 0' "$ledger"
}

# close TEXT GOT WANTED PERMILLE: within so many thousandths
close() {
	if awk -v a="$2" -v b="$3" -v p="$4" \
			'BEGIN { d = a - b; if (d < 0) d = -d; exit !(b > 0 && d * 1000 <= b * p) }'; then
		ok "$1"
	else
		not_ok "$1"
		diag "got $2, wanted $3 within $4/1000:" \
			"$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%+.3f %%", b ? (a / b - 1) * 100 : 0 }')"
	fi
}
