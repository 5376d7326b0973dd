/* test_probe_check.c - the doctor's rows: one for every source, a reason where it is missing, a fix only where it
 * helps. */
#include "probe/check.h"
#include "probe/probe.h"
#include "tree.h"

struct fixture {
	struct tree proc, sys;
	struct probe_check_list list;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	tree_init(&fixture->proc);
	tree_init(&fixture->sys);
	setenv("PITOT_PROCFS", fixture->proc.root, 1);
	setenv("PITOT_SYSFS", fixture->sys.root, 1);
	setenv("PITOT_NVML", "libpitot-no-such-library.so", 1);
	setenv("PATH", fixture->sys.root, 1);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	probe_check_list_fini(&fixture->list);
	tree_fini(&fixture->proc);
	tree_fini(&fixture->sys);
	free(fixture);
	return 0;
}

static const struct check_row *find(const struct fixture *fixture, const char *name)
{
	for (size_t i = 0; i < fixture->list.rows.len; i++)
		if (strcmp(fixture->list.rows.items[i].name, name) == 0)
			return &fixture->list.rows.items[i];
	fail_msg("no row '%s'", name);
	return NULL;
}

static void every_source_has_a_row_with_a_detail(void **state)
{
	struct fixture *fixture = *state;
	probe_check_all(&fixture->list);
	for (const struct probe *const *probe = probe_table; *probe; probe++)
		assert_non_null(find(fixture, (*probe)->name));
	find(fixture, "pmu");
	find(fixture, "pss");
	find(fixture, "sampling_clock");
	for (size_t i = 0; i < fixture->list.rows.len; i++) {
		assert_true(fixture->list.rows.items[i].what[0] != '\0');
		assert_true(fixture->list.rows.items[i].detail[0] != '\0');
	}
}

static void what_is_not_there_has_a_reason_and_no_fix(void **state)
{
	struct fixture *fixture = *state;
	probe_check_all(&fixture->list);
	const struct check_row *row = find(fixture, "rapl");
	assert_false(row->available);
	assert_non_null(strstr(row->detail, "no RAPL package"));
	assert_null(row->fix);
	assert_null(find(fixture, "nvml")->fix);
}

static void a_fix_is_offered_only_where_it_helps(void **state)
{
	struct fixture *fixture = *state;
	tree_write(&fixture->sys, "class/powercap/intel-rapl:0/name", "package-0\n");
	assert_int_equal(mkdir(tree_path(&fixture->sys, "class/powercap/intel-rapl:0/energy_uj"), 0755), 0);
	tree_write(&fixture->sys, "class/drm/card0/device/vendor", "0x1002\n");
	probe_check_all(&fixture->list);
	const struct check_row *row = find(fixture, "rapl");
	assert_false(row->available);
	assert_non_null(strstr(row->detail, "Is a directory"));
	assert_null(row->fix);
	assert_non_null(strstr(find(fixture, "psi")->fix, "psi=1"));
	assert_string_equal(find(fixture, "amdgpu")->fix, "sudo modprobe amdgpu");
}

static void what_an_available_source_lacks_is_part_of_its_detail(void **state)
{
	struct fixture *fixture = *state;
	tree_write(&fixture->sys, "class/powercap/intel-rapl:0/name", "package-0\n");
	tree_write(&fixture->sys, "class/powercap/intel-rapl:0/energy_uj", "5\n");
	probe_check_all(&fixture->list);
	const struct check_row *row = find(fixture, "rapl");
	assert_true(row->available);
	assert_string_equal(row->detail, "rapl package-0, whole machine; RAPL has no DRAM domain on this machine");
	assert_null(row->fix);
}

static void pss_is_available_where_the_rollup_has_its_line(void **state)
{
	struct fixture *fixture = *state;
	probe_check_all(&fixture->list);
	assert_false(find(fixture, "pss")->available);
	probe_check_list_fini(&fixture->list);
	tree_write(&fixture->proc, "self/smaps_rollup", "5500-7fff ---p 0 00:00 0 [rollup]\nRss: 10 kB\nPss: 7 kB\n");
	probe_check_all(&fixture->list);
	assert_true(find(fixture, "pss")->available);
}

static void other_layers_append_rows_of_the_same_kind(void **state)
{
	struct fixture *fixture = *state;
	char detail[] = "cgroup v2";
	probe_check_add(&fixture->list, "cgroup", "exact totals", true, detail, NULL);
	detail[0] = 'X';
	assert_string_equal(find(fixture, "cgroup")->detail, "cgroup v2");
	assert_null(find(fixture, "cgroup")->fix);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(every_source_has_a_row_with_a_detail),
	TEST(what_is_not_there_has_a_reason_and_no_fix),
	TEST(a_fix_is_offered_only_where_it_helps),
	TEST(what_an_available_source_lacks_is_part_of_its_detail),
	TEST(pss_is_available_where_the_rollup_has_its_line),
	TEST(other_layers_append_rows_of_the_same_kind),
};

UNIT_MAIN(tests)
