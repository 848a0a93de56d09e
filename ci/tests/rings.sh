# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What QEMU's virtio-net device moves beside packets, of which memio accounts a part. For the
# network's tests: source it after lib.sh.
#
# A packet that comes in has a header of 12 B, and lies in one buffer or, of TCP, in up to 40. For
# each the device looks at the index of what is available, at the entry there and at the descriptor
# (2, 2, 16 B), whether all together have room; then again at entry and descriptor, to take it
# (2, 16); and it writes an element of 8. For the packet it looks at the index once more, and at
# whether to interrupt (2, 2), and writes an index (2).
#
# Of a packet that goes out it reads an entry (2), a descriptor for each piece and, if there are
# several, one that leads to them (16 each), a header of 12 and whether to interrupt (2). It
# writes an element and an index (8, 2). Each time that the driver wakes it, it looks at the
# index of what there is four times (2 each), and writes where it wants to be woken next (2).
#
# When it has too few buffers for a packet it has looked at those in vain (20 each), and wants to
# be woken, too. When there is more to be sent at the end it looks once more, as if woken.
#
# The driver puts the header before the packet, in one piece with what is there; but if others
# have a clone of it the header is a piece of its own. memio doesn't know of that, nor that there
# are several then: it leaves out a descriptor or two. With $cloned it was so for each packet that
# went out, and what is solved for is the descriptors' number.
#
# memio accounts 20 B read and 22 written for a packet that comes in, as if it were one buffer
# and looked at once; for one that goes out header, descriptors, 4 B more, and 10 written. So
#
#	read	is 38 B for each buffer less 16 for each packet more, and 8 each time it is woken
#	written	is 8 B for each buffer after a packet's first more, and 2 each time it is woken

# shellcheck disable=SC2034,SC2154 # for and from who sources this

declare -A led

# led_of NAME DEVICE: fills $led with what $ledger has of the device between NAME's two looks
led_of() {
	local key value

	while read -r key value; do
		led[$key]=$value
	done < <(jq -r -L "$memio_top/ci/tests" --arg w "$1" --arg d "$2" '
		include "ledger"; inner($w).devices[$d] | to_entries[]
		| select(.key | test("_(bytes|ops)$"))
		| "\(.key | rtrimstr("_bytes")) \(.value)"' "$ledger")
}

# virtio_rings TO FROM: solves for what no interface tells. In the ledger, reads of a ring have 16 B
# (a descriptor) or 2, and writes 8 (an element) or 2; it has their sum and all accesses' number,
# so there are as many equations as unknowns, and one more for TO. That is, as FROM, memio's for
# the device. Takes $rx, $rxp, $tx, $txp, and $led: to, to_mapped, to_ring, to_ops, and from...
# Sets
#
#	buffers		that packets came in
#	events		how often it was woken
#	several		packets that went out in several pieces
#	apart		descriptors more than memio knows, of headers apart from packets
#	vain		buffers that it looked at in vain
#	looks		at an index by who was woken, or found nothing
#	more_to more_from	bytes that memio does not account
#	rest		of these, what is not by buffers and by being woken
#	odd		what cannot be so: nothing, or memio's figures are not what was moved
virtio_rings() {
	local twice pieces least most descriptors=$((($1 - tx - 16 * txp - 20 * rxp) / 16))

	odd=
	[ "${led[to_mapped]}" = $((tx + 12 * txp)) ] || odd+=" sent ${led[to_mapped]};"
	[ "${led[from_mapped]}" = $((rx + 12 * rxp)) ] || odd+=" received ${led[from_mapped]};"
	twice=$((led[from_ring] - 2 * led[from_ops] - 6 * txp))
	[ $((twice % 4)) = 0 ] || odd+=" elements;"
	buffers=$((twice / 4))
	events=$((led[from_ops] - 2 * buffers - 2 * txp - rxp))
	[ "$buffers" -ge "$rxp" ] && [ "$events" -ge 0 ] ||
		odd+=" $buffers buffers of $rxp packets, woken $events times;"

	# A packet in several pieces has 2 to 18, and so many descriptors more than one in one piece.
	least=$(((descriptors - txp + 17) / 18)) most=$(((descriptors - txp) / 2))
	twice=$((led[to_ring] - 2 * led[to_ops] - 12 * descriptors - 28 * buffers))
	apart=0
	if [ -n "${cloned:-}" ]; then
		apart=$(((twice - 2 * txp) / 12))
		descriptors=$((descriptors + apart)) least=$txp most=$txp
		twice=$((twice - 12 * apart))
		[ "$twice" = $((2 * txp)) ] && [ "$apart" -ge "$txp" ] &&
			[ "$apart" -le $((2 * txp)) ] || odd+=" $apart more of $txp;"
	fi
	[ $((twice % 2)) = 0 ] || odd+=" descriptors;"
	several=$((twice / 2)) vain=0
	if [ "$several" -gt "$most" ]; then
		vain=$(((several - most + 6) / 7))
		several=$((several - 7 * vain))
	fi
	pieces=$((descriptors - several))
	looks=$((led[to_ops] - pieces - descriptors - 5 * buffers - 3 * vain - 2 * rxp - 2 * txp))
	[ "$several" -ge "$least" ] && [ "$looks" -ge 0 ] ||
		odd+=" $several of $txp in several pieces ($least to $most), $looks looks;"
	[ "$buffers" -gt "$rxp" ] || [ "$vain" = 0 ] || odd+=" $vain in vain;"

	more_to=$((38 * buffers - 16 * rxp + 20 * vain + 2 * looks + 16 * apart))
	more_from=$((8 * (buffers - rxp) + 2 * events))
	rest=$((20 * vain + 2 * looks - 8 * events))
	[ $(($1 + more_to)) = "${led[to]}" ] && [ $(($2 + more_from)) = "${led[from]}" ] ||
		odd+=" $1+$more_to/$2+$more_from of ${led[to]}/${led[from]};"
}
