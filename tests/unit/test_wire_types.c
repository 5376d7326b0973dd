/* Objects by type in a wire file: the table that was whole is read, whatever a kill or a damage left in the record. */
#include "unit.h"

#include "run/wire_read.h"
#include "test_store_run.h"
#include "wire_make.h"

#include <math.h>

struct fixture {
	char *dir, *path;
	struct wire_make make;
	struct wire_types *record;
	struct wire_file *file;
	struct err err;
};

static void set_row(struct wire_type *row, const char *name, uint64_t bytes)
{
	*row = (struct wire_type){
		.bytes = bytes, .calls = bytes / 10, .variance = 4, .samples = 2, .kind = WIRE_TYPE_NAMED};
	strncpy(row->name, name, sizeof(row->name) - 1);
}

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	wire_id id;
	f->dir = run_folder_new();
	f->path = file_join(f->dir, "100-1.wire");
	wire_make_begin(&f->make, 100, 1);
	wire_make_thread(&f->make, 100, "main");
	f->record = wire_make_record(&f->make, WIRE_TYPES, sizeof(*f->record), &id);
	f->record->state = WIRE_TYPES_READY;
	for (int i = 0; i < 2; i++) {
		struct wire_type_table *table = &f->record->tables[i];
		table->mono_ns = 1000 + (uint64_t)i;
		table->live_bytes = 500;
		table->period_bytes = 64;
		table->looks = 3;
		table->count = 2;
		set_row(&table->types[0], i ? "Second" : "First", 300);
		set_row(&table->types[1], "str", 100);
	}
	f->record->current = 1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	free(f->make.bytes);
	wire_file_free(f->file);
	run_folder_free(f->dir);
	free(f->path);
	free(f);
	return 0;
}

static const struct read_types *read_file(struct fixture *f)
{
	assert_int_equal(wire_make_write(&f->make, f->path, &f->err), 0);
	assert_int_equal(wire_read(f->path, &f->file, &f->err), 0);
	assert_non_null(f->file->types);
	return f->file->types;
}

static void the_table_that_was_whole_is_read(void **state)
{
	struct fixture *f = *state;
	f->record->current = 2;
	const struct read_types *types = read_file(f);
	assert_true(types->is_seen && types->state == WIRE_TYPES_READY);
	assert_true(types->mono_ns == 1001 && types->live_bytes == 500 && types->period_bytes == 64);
	assert_int_equal(types->items.len, 2);
	assert_string_equal(types->items.items[0].name, "Second");
	assert_true(types->items.items[0].amount.bytes == 300 && types->items.items[0].amount.calls == 30);
}

static void a_record_without_a_look_says_so(void **state)
{
	struct fixture *f = *state;
	f->record->current = 0;
	f->record->state = WIRE_TYPES_ODD;
	const struct read_types *types = read_file(f);
	assert_true(!types->is_seen && types->state == WIRE_TYPES_ODD && types->items.len == 0);
}

static void classes_of_one_name_are_one(void **state)
{
	struct fixture *f = *state;
	f->record->tables[0].count = 3;
	set_row(&f->record->tables[0].types[2], "First", 200);
	const struct read_types *types = read_file(f);
	assert_int_equal(types->items.len, 2);
	assert_true(types->items.items[0].amount.bytes == 500 && types->items.items[0].amount.samples == 4);
	assert_true(types->items.items[0].amount.variance == 8);
}

static void rows_that_make_no_sense_are_left_out(void **state)
{
	struct fixture *f = *state;
	struct wire_type_table *table = &f->record->tables[0];
	table->count = UINT32_MAX;
	for (int i = 2; i < 9; i++)
		set_row(&table->types[i], "bad", 10);
	table->types[2].kind = 77;
	table->types[3].bytes = UINT64_MAX;
	table->types[4].variance = NAN;
	table->types[5].samples = 0;
	table->types[6].name[0] = '\0';
	table->types[7].calls = UINT64_MAX;
	table->types[8].variance = -1;
	memset(table->types[1].name, 0xFF, sizeof(table->types[1].name)); /* neither text, nor does it end */
	const struct read_types *types = read_file(f);
	assert_int_equal(types->items.len, 2);
	assert_string_equal(types->items.items[0].name, "First");
	assert_true(types->items.items[1].name[0] && (unsigned char)types->items.items[1].name[0] != 0xFF);
}

static void a_table_of_nowhere_is_no_look(void **state)
{
	struct fixture *f = *state;
	f->record->current = 3;
	f->record->state = 99;
	const struct read_types *types = read_file(f);
	assert_true(!types->is_seen && types->state == WIRE_TYPES_ODD);
}

static void a_period_of_nothing_is_no_look(void **state)
{
	struct fixture *f = *state;
	f->record->tables[0].period_bytes = 0;
	assert_false(read_file(f)->is_seen);
}

#define ON_A_FILE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_A_FILE(the_table_that_was_whole_is_read), ON_A_FILE(a_record_without_a_look_says_so),
	ON_A_FILE(classes_of_one_name_are_one),      ON_A_FILE(rows_that_make_no_sense_are_left_out),
	ON_A_FILE(a_table_of_nowhere_is_no_look),    ON_A_FILE(a_period_of_nothing_is_no_look),
};

UNIT_MAIN(tests)
