// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of parse.h: what the demonstration takes from the kernel's files and
 * from the ledger, and what it refuses. Prints TAP.
 */
#include "parse.h"

static unsigned int tests, failures;

static void ok(bool good, const char *what)
{
	printf("%s %u - %s\n", good ? "ok" : "not ok", ++tests, what);
	failures += !good;
}

static bool meter_is(struct meter m, uint64_t to, uint64_t from, uint64_t read, uint64_t write,
		     uint64_t unpriced)
{
	return m.to == to && m.from == from && m.read == read && m.write == write &&
	       m.unpriced == unpriced;
}

/* It is refused, and the reason contains @why. */
static void refused(const char *text, const char *why, const char *what)
{
	struct account a;
	const char *wrong = account_parse(&a, text);

	ok(wrong && strstr(wrong, why), what);
	if (!wrong || !strstr(wrong, why))
		printf("# got: %s\n", wrong ? wrong : "nothing wrong");
}

static const char membw[] =
	"source hswep\n"
	"estimator device\n"
	"valid 1\n"
	"window_us 103000\n"
	"updated_ns 123456789\n"
	"\n"
	"0000:00:03.0 alias=nvme0n1,259:0 io_to=1 io_from=268435456 mem_read=3 mem_write=4 unpriced=5 io_to_bps=6 io_from_bps=7 mem_read_bps=8 mem_write_bps=9\n"
	"0000:00:04.0 alias=eth0 io_to=18446744073709551615 io_from=0 mem_read=0 mem_write=0 unpriced=0 io_to_bps=0 io_from_bps=0 mem_read_bps=0 mem_write_bps=0\n"
	"cpu mem_read=10 mem_write=11 valid=0\n"
	"total io_to=12 io_from=13 mem_read=14 mem_write=15 unpriced=16\n";

static const char stat[] =
	"0000:00:03.0 io_to=100 io_from=200 mem_read=300 mem_write=400 unpriced=50 unclaimed_to=7 unclaimed_from=8\n"
	"cpu mem_read=0 mem_write=0 valid=1\n"
	"total io_to=100 io_from=200 mem_read=300 mem_write=400 unpriced=50\n";

static void test_membw(void)
{
	struct account a;

	ok(!account_parse(&a, membw), "membw: nothing is wrong with it");
	ok(!strcmp(a.source, "hswep") && !strcmp(a.estimator, "device"), "membw: names");
	ok(a.valid && a.window_us == 103000, "membw: validity and window");
	ok(a.devs == 2, "membw: two devices; cpu and total are none");
	ok(!strcmp(a.dev[0].device, "0000:00:03.0") && !strcmp(a.dev[1].device, "0000:00:04.0"),
	   "membw: devices by bus name, in their order");
	ok(!strcmp(a.dev[0].alias, "nvme0n1") && !strcmp(a.dev[1].alias, "eth0"),
	   "membw: of several aliases the name");
	ok(meter_is(a.dev[0].sum, 1, 268435456, 3, 4, 5),
	   "membw: a device's counters, and not its bandwidths");
	ok(a.dev[1].sum.to == UINT64_MAX, "membw: the largest number of 64 bits");
	ok(!a.cpu_valid && a.cpu.read == 10 && a.cpu.write == 11,
	   "membw: the cpu line is not valid if it says so");
}

static void test_stat(void)
{
	struct account a;
	struct entry e;

	ok(!account_parse(&a, stat), "memio.stat: nothing is wrong with it");
	ok(!a.source[0] && !a.valid && a.devs == 1, "memio.stat: no header, one device");
	ok(a.cpu_valid, "memio.stat: the cpu line is valid if it says so");
	e = account_device(&a, "0000:00:03.0");
	ok(meter_is(e.sum, 100, 200, 300, 400, 50), "memio.stat: counters");
	ok(e.unclaimed_to == 7 && e.unclaimed_from == 8, "memio.stat: the root's unclaimed bytes");
	e = account_device(&a, "0000:00:05.0");
	ok(meter_is(e.sum, 0, 0, 0, 0, 0), "memio.stat: a device that is not there moved nothing");
}

static void test_tolerance(void)
{
	struct account a;

	ok(!account_parse(&a, "") && !a.devs && !a.source[0],
	   "an empty file: no devices, no source");
	ok(!account_parse(&a, "source none\nvalid 0\n\n") && !a.valid && !strcmp(a.source, "none"),
	   "no counters: source none, not valid");
	ok(!account_parse(&a, "future 1 2 3\nword\n\nvalid 1\n") && a.valid,
	   "flat keys that are not known are skipped");
	ok(!account_parse(&a, "idle mem_read=1 mem_write=2 valid=1\n"
			      "x y=z\n"
			      "0:1 flag io_to=1 new=a=b io_from=2 mem_read=3 last mem_write=4\n") &&
	   a.devs == 1 && meter_is(a.dev[0].sum, 1, 2, 3, 4, 0),
	   "lines of no device are skipped, and so are fields of a device");
	ok(!account_parse(&a, "d mem_write=4\tmem_read=3  io_from=2 io_to=1\t\n") &&
	   a.devs == 1 && meter_is(a.dev[0].sum, 1, 2, 3, 4, 0),
	   "the order of fields and the space between them don't matter");
	ok(!account_parse(&a, "d alias= io_to=1 io_from=2 mem_read=3 mem_write=4\n") &&
	   !a.dev[0].alias[0], "a device without an alias");
	ok(!account_parse(&a, "d alias=8:0,8:1 io_to=1 io_from=2 mem_read=3 mem_write=4\n") &&
	   !strcmp(a.dev[0].alias, "8:0"), "a device with numbers only");
	ok(!account_parse(&a, "d alias=259:0,nvme0n1 io_to=1 io_from=2 mem_read=3 mem_write=4\n") &&
	   !strcmp(a.dev[0].alias, "nvme0n1"), "the name behind the number");
	ok(!account_parse(&a, "0123456789012345678901234567 alias=a23456789012345678901234567 "
			      "io_to=1 io_from=2 mem_read=3 mem_write=4\n") &&
	   strlen(a.dev[0].device) == 23 && strlen(a.dev[0].alias) == 23,
	   "long names are cut to what there is room for");
	ok(!account_parse(&a, "io_to io_to=1 io_from=2 mem_read=3 mem_write=4\n") &&
	   !strcmp(a.dev[0].device, "io_to"), "a device may be called like a field");
}

static void test_refusal(void)
{
	char text[1024] = "";
	unsigned int i;

	refused("valid 1\nd io_to=1 io_from=2 mem_read=3 mem_wri", "cut off", "a text that is cut off");
	refused("d io_to=1 io_from=2 mem_read=3\n", "all its fields", "a device without mem_write");
	refused("d io_from=2 mem_read=3 mem_write=4\n", "all its fields", "a device without io_to");
	refused("cpu mem_read=3 valid=1\n", "cpu line", "a cpu line without mem_write");
	refused("d io_to= io_from=2 mem_read=3 mem_write=4\n", "no number", "an empty figure");
	refused("d io_to=-1 io_from=2 mem_read=3 mem_write=4\n", "no number", "a negative one");
	refused("d io_to=1x io_from=2 mem_read=3 mem_write=4\n", "no number", "one with a letter");
	refused("d io_to=18446744073709551616 io_from=2 mem_read=3 mem_write=4\n", "no number",
		"one of more than 64 bits");
	refused("valid 2\n", "valid", "a validity that is neither 0 nor 1");
	refused("valid yes\n", "valid", "... or a word");
	refused("window_us 1.5\n", "window_us", "a window that is no number");
	for (i = 0; i <= MAX_DEVICES; i++)
		strcat(text, "d io_to=1 io_from=2 mem_read=3 mem_write=4\n");
	refused(text, "too many", "more devices than there is room for");
}

/* Recorded from ledger-mark, without the fields that nobody reads. */
static const char ledger[] =
	"{\"name\": \"x\", \"ns\": 4944389967,\n"
	" \"line_bytes\": 64,\n"
	" \"devices\": {\n"
	"  \"0000:00:03.0\": {\"model\": \"nvme\", \"actor\": 32, \"to_copied_bytes\": 23936, \"to_bytes\": 23937, \"from_mapped_bytes\": 33558528, \"from_bytes\": 34650340, \"to_lines\": 553, \"to_miss\": 363, \"from_lines\": 541846, \"from_miss\": 16931, \"partial_lines\": 534, \"partial_miss\": 95, \"fill_lines\": 94, \"made_dirty\": 16931, \"wb_first\": 46, \"wb_last\": 46, \"dirty_lines\": 16885},\n"
	"  \"0000:00:04.0\": {\"model\": \"e1000e\", \"actor\": 33, \"to_copied_bytes\": 160, \"to_bytes\": 810, \"from_bytes\": 316, \"to_lines\": 23, \"to_miss\": 17, \"fill_lines\": 7, \"made_dirty\": 9, \"wb_first\": 1, \"dirty_lines\": 8}},\n"
	" \"cpu\": {\"loads\": 0, \"stores\": 0, \"made_dirty\": 0},\n"
	" \"dram\": {\"read_lines\": 481, \"write_lines\": 47}}\n";

static void test_ledger(void)
{
	struct ledger l;
	char text[sizeof(ledger)], *p;

	ok(!ledger_parse(&l, ledger), "ledger: nothing is wrong with it");
	ok(l.ns == 4944389967 && l.devs == 2, "ledger: its time, two devices");
	ok(!strcmp(l.dev[0].device, "0000:00:03.0") && !strcmp(l.dev[0].model, "nvme"),
	   "ledger: a device's names");
	ok(l.dev[0].to == 23937 && l.dev[0].from == 34650340, "ledger: all bytes, by every path");
	ok(l.dev[0].read == (363 + 94) * 64, "ledger: memory is read for misses and fills");
	ok(l.dev[0].write == (46 + 16885) * 64,
	   "ledger: written is what was made dirty, what is still dirty included");
	ok(l.dev[1].to == 810 && l.dev[1].read == 24 * 64 && l.dev[1].write == 9 * 64,
	   "ledger: the second device has its own");
	ok(ledger_parse(&l, "") && ledger_parse(&l, "{}"), "ledger: none is refused");
	memcpy(text, ledger, sizeof(ledger));
	text[strlen(text) / 2] = '\0';
	ok(ledger_parse(&l, text), "ledger: a half one is refused");
	memcpy(text, ledger, sizeof(ledger));
	p = strstr(text, "\"to_miss\"");
	p[1] = 'x';
	ok(ledger_parse(&l, text), "ledger: a device without a figure is refused, not given its neighbour's");
}

static void test_arithmetic(void)
{
	ok(change(5, 12) == 7 && change(12, 5) == -7, "a counter that goes down is seen");
	ok(change(UINT64_MAX, 1) == 2, "one that comes round is not");
	ok(error_percent(1.1e6, 1e6) > 9.99 && error_percent(1.1e6, 1e6) < 10.01 &&
	   error_percent(0.5e6, 1e6) == -50, "errors are in percent of the truth");
	ok(error_percent(0, 63000) == 0 && error_percent(63000, 0) == 0, "a few lines are no error");
	ok(error_percent(65000, 0) > 1e9 && error_percent(0, 65000) == -100,
	   "more than a few are, also where there should be none");
	ok(error_percent(-65000, 0) < -1e9, "and less than nothing is one");
}

int main(void)
{
	test_membw();
	test_stat();
	test_tolerance();
	test_refusal();
	test_ledger();
	test_arithmetic();
	printf("1..%u\n", tests);
	return failures > 0;
}
