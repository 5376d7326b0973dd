/* test_table_csv.c - CSV texts to cells: the rules of csv.h one by one, every case of a torture list, and random texts of all block sizes. */
#include "table/csv.h"
#include "table/scan.h"
#include "table_file.h"

#include <zlib.h>
#include <zstd.h>

/* All cells as text: records end with '/', cells with '|'. Errors as "! message". */
static char *read_all(const char *path, const struct csv_settings *settings)
{
	struct memory memory = {0};
	struct err err = {0};
	struct csv *csv = NULL;
	struct str out = {0};
	int code = csv_open(path, settings, &memory, &csv, &err);
	struct csv_block *block = code ? NULL : csv_block_new(csv, &err);
	for (size_t i = 0; !code && i < csv_column_count(csv); i++)
		str_appendf(&out, "%s|", csv_column_name(csv, i));
	str_append(&out, code ? "" : "/");
	while (!code && (code = csv_block_cut(csv, block, &err)) > 0) {
		code = csv_block_split(csv, block, NULL, &err);
		for (size_t row = 0; !code && row < csv_block_rows(block); row++) {
			for (size_t i = 0; i < csv_column_count(csv); i++) {
				const struct span *cell = &csv_block_cells(block, i)[row];
				str_append_bytes(&out, cell->text, cell->length);
				str_append_char(&out, '|');
			}
			str_append_char(&out, '/');
		}
	}
	if (code < 0)
		str_appendf(&out, "! %s", err.text);
	csv_block_free(block);
	csv_close(csv);
	assert_int_equal(memory.used, 0);
	return str_take(&out);
}

static void assert_reads(const char *bytes, size_t size, const struct csv_settings *settings, const char *expected)
{
	char *path = table_file("table.csv", bytes, size), *got = read_all(path, settings);
	if (expected[0] == '!' || strstr(expected, "/!")) {
		const char *message = strstr(expected, "! ") + 2;
		if (!strstr(got, message))
			fail_msg("'%s' does not say '%s'", got, message);
	} else {
		assert_string_equal(got, expected);
	}
	free(got);
	table_file_remove(path);
}

static const struct csv_settings plain = {0};

struct reading {
	const char *text, *expected;
};

static void cells_are_what_the_rules_say(void **state)
{
	static const struct reading cases[] = {
		{"a,b\n1,2\n3,4\n", "a|b|/1|2|/3|4|/"},
		{"a,b\n1,2", "a|b|/1|2|/"},
		{"a,b\r\n1,2\r\n3,4\r\n", "a|b|/1|2|/3|4|/"},
		{"a,b\r1,2\r3,4", "a|b|/1|2|/3|4|/"},
		{"a,b\n1,2\r\n3,4\r5,6\n", "a|b|/1|2|/3|4|/5|6|/"},
		{"\xef\xbb\xbf"
		 "a,b\n1,2\n",
		 "a|b|/1|2|/"},
		{"a,b\n\"1,5\",\"x\"\"y\"\n", "a|b|/1,5|x\"y|/"},
		{"a,b\n\"two\nlines\",2\n", "a|b|/two\nlines|2|/"},
		{"a,b\n\"two\r\nlines\",2\n", "a|b|/two\r\nlines|2|/"},
		{"a,b\n\"\",\"\"\"\"\n", "a|b|/|\"|/"},
		{"a,b\n5\" wide\",2\n", "a|b|/5\" wide\"|2|/"},
		{"a,b\n\n1,2\n\r\n\n3,4\n\n", "a|b|/1|2|/3|4|/"},
		{"a\n1\n\n2\n", "a|/1|/|/2|/"},
		{"a,a,,a_2\n1,2,3,4\n", "a|a_3|column_3|a_2|/1|2|3|4|/"},
		{"\"a,b\",c\n1,2\n", "a,b|c|/1|2|/"},
		{"a,b\n", "a|b|/"},
		{"a,b", "a|b|/"},
		{",\n,\n", "column_1|column_2|/||/"},
		{"a,b\n\xc3\xa9,\xe2\x82\xac\n", "a|b|/\xc3\xa9|\xe2\x82\xac|/"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_reads(cases[i].text, strlen(cases[i].text), &plain, cases[i].expected);
}

static void a_refusal_names_the_line(void **state)
{
	static const struct reading cases[] = {
		{"", "! is empty"},
		{"\n\n\r\n", "! nothing but blank lines"},
		{"a,b\n1,2\n3\n", "! line 3: 1 cell where the header has 2"},
		{"a,b\n\"1\n2\n3\",4\n5,6,7\n", "! line 5: 3 cells"},
		{"a,b\n1,2\n3,\"open\nand open\n", "! line 3: a quote is opened here and never closed"},
		{"a,b\n1,2\n3,\xff\n", "! line 3: byte 0xff is not UTF-8"},
		{"a\xff,b\n1,2\n", "! the header is not UTF-8"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_reads(cases[i].text, strlen(cases[i].text), &plain, cases[i].expected);
	assert_reads("a,b\n1,\0\n", 8, &plain, "! line 2: a NUL byte");
	assert_reads("a,\0b\n1,2\n", 9, &plain, "! line 1: a NUL byte");
}

static void ragged_rows_are_padded_or_skipped(void **state)
{
	const char *text = "a,b,c\n1\n1,2,3\n1,2,3,4\n,,\n";
	struct csv_settings settings = {.ragged = CSV_RAGGED_PAD};
	(void)state;
	assert_reads(text, strlen(text), &settings, "a|b|c|/1|||/1|2|3|/1|2|3|/|||/");
	settings.ragged = CSV_RAGGED_SKIP;
	assert_reads(text, strlen(text), &settings, "a|b|c|/1|2|3|/|||/");
}

static void settings_change_delimiter_header_and_encoding(void **state)
{
	struct csv_settings semicolon = {.delimiter = ';'}, bare = {.no_header = true},
			    replace = {.encoding = CSV_ENCODING_REPLACE};
	(void)state;
	assert_reads("a;b\n1,5;2\n", 10, &semicolon, "a|b|/1,5|2|/");
	assert_reads("1,2\n3,4\n", 8, &bare, "column_1|column_2|/1|2|/3|4|/");
	assert_reads("a,b\n1\xff"
		     "2,\xc3(\n",
		     10, &replace,
		     "a|b|/1\xef\xbf\xbd"
		     "2|\xef\xbf\xbd(|/");
	char *path = table_file("table.tsv", "a\tb\n1,0\t2\n", 10), *got = read_all(path, &plain);
	assert_string_equal(got, "a|b|/1,0|2|/");
	free(got);
	table_file_remove(path);
}

static void what_was_met_is_counted(void **state)
{
	const char *text = "a,a\n1\n1,2\n1,2,3\n\xff,\n";
	struct csv_settings settings = {.ragged = CSV_RAGGED_PAD, .encoding = CSV_ENCODING_REPLACE};
	char *path = table_file("table.csv", text, strlen(text));
	struct memory memory = {0};
	struct csv_counts counts;
	struct err err = {0};
	struct csv *csv;
	(void)state;
	assert_int_equal(csv_open(path, &settings, &memory, &csv, &err), 0);
	struct csv_block *block = csv_block_new(csv, &err);
	while (csv_block_cut(csv, block, &err) > 0)
		assert_int_equal(csv_block_split(csv, block, NULL, &err), 0);
	csv_count(csv, &counts);
	assert_int_equal(counts.records, 4);
	assert_int_equal(counts.padded, 1);
	assert_int_equal(counts.truncated, 1);
	assert_int_equal(counts.replaced, 1);
	assert_int_equal(counts.renamed, 1);
	assert_int_equal(counts.text_bytes, strlen(text));
	assert_int_equal(counts.file_bytes, strlen(text));
	assert_int_equal(counts.line, 5);
	csv_block_free(block);
	csv_close(csv);
	table_file_remove(path);
}

static void a_field_of_ten_megabytes_is_a_field(void **state)
{
	size_t size = 10 << 20;
	struct str text = {0};
	(void)state;
	str_append(&text, "a,b\n1,\"");
	for (size_t i = 0; i < size; i++)
		str_append_char(&text, i % 1000 == 999 ? '\n' : 'x');
	str_append(&text, "\"\n2,3\n");
	char *path = table_file("table.csv", text.text, text.len), *got = read_all(path, &plain);
	assert_int_equal(strlen(got), 5 + 2 + size + 1 + 1 + 5);
	assert_true(str_ends(got, "|/2|3|/"));
	free(got);
	/* The same within a budget that cannot hold it. */
	struct memory memory = {.budget = 4 << 20};
	struct err err = {0};
	struct csv *csv = NULL;
	assert_int_equal(csv_open(path, &plain, &memory, &csv, &err), 0);
	struct csv_block *block = csv_block_new(csv, &err);
	assert_int_equal(csv_block_cut(csv, block, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "memory limit of 4 MB"));
	csv_block_free(block);
	csv_close(csv);
	table_file_remove(path);
	str_fini(&text);
}

static void a_million_columns_are_refused_with_their_number(void **state)
{
	struct str text = {0};
	(void)state;
	for (int i = 0; i < 1000000; i++)
		str_append(&text, i ? ",c" : "c");
	str_append(&text, "\n");
	assert_reads(text.text, text.len, &plain, "! has 1000000 columns; at most 65536");
	str_fini(&text);
}

static void as_many_columns_as_are_allowed_are_read(void **state)
{
	struct str text = {0};
	(void)state;
	for (int line = 0; line < 2; line++) {
		for (int i = 0; i < CSV_MOST_COLUMNS; i++)
			str_appendf(&text, "%sc%d", i ? "," : "", i);
		str_append(&text, "\n");
	}
	char *path = table_file("table.csv", text.text, text.len), *got = read_all(path, &plain);
	assert_true(str_ends(got, "c65534|c65535|/"));
	free(got);
	table_file_remove(path);
	str_fini(&text);
}

static char *make_table(void)
{
	struct str text = {0};
	str_append(&text, "a,b\n");
	for (int i = 0; i < 50000; i++)
		str_appendf(&text, "%d,\"x%d\"\n", i, i * 7);
	return str_take(&text);
}

static void compressed_tables_read_as_what_they_hold(void **state)
{
	char *text = make_table(), *path = table_file("table.csv", text, strlen(text)),
	     *expected = read_all(path, &plain);
	(void)state;
	uLongf size = compressBound(strlen(text)) + 100;
	unsigned char *packed = malloc(size * 2);
	z_stream gzip = {.next_in = (unsigned char *)text, .avail_in = (unsigned)strlen(text), .next_out = packed};
	gzip.avail_out = (unsigned)size;
	deflateInit2(&gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	assert_int_equal(deflate(&gzip, Z_FINISH), Z_STREAM_END);
	size_t packed_size = size - gzip.avail_out;
	deflateEnd(&gzip);
	char *gz = table_file("table.csv.gz", (char *)packed, packed_size), *got = read_all(gz, &plain);
	assert_string_equal(got, expected);
	free(got);
	char *cut = table_file("cut.csv.gz", (char *)packed, packed_size / 2);
	got = read_all(cut, &plain);
	assert_non_null(strstr(got, "damaged gzip data: it ends early"));
	free(got);
	packed_size = ZSTD_compress(packed, size * 2, text, strlen(text), 3);
	char *zst = table_file("table.csv.zst", (char *)packed, packed_size);
	got = read_all(zst, &plain);
	assert_string_equal(got, expected);
	free(got);
	char *cut_zst = table_file("cut.csv.zst", (char *)packed, packed_size / 2);
	got = read_all(cut_zst, &plain);
	assert_non_null(strstr(got, "damaged zstd data"));
	free(got);
	free(packed);
	free(expected);
	free(text);
	table_file_remove(path);
	table_file_remove(gz);
	table_file_remove(cut);
	table_file_remove(zst);
	table_file_remove(cut_zst);
}

/* Random texts made of the bytes that matter. */
static size_t make_noise(uint64_t *seed, char *out, size_t size)
{
	static const char bytes[] = "ab12,,,\n\n\r\"x\xc3\xa9";
	size_t count = 0;
	while (count + 2 < size) {
		size_t pick = table_random(seed) % (sizeof(bytes) - 1);
		if (bytes[pick] == '\xa9')
			continue;
		out[count++] = bytes[pick];
		if (bytes[pick] == '\xc3')
			out[count++] = '\xa9';
	}
	return count;
}

static void block_size_changes_nothing(void **state)
{
	uint64_t seed = 42;
	(void)state;
	for (int round = 0; round < 60; round++) {
		char noise[3000] = "a,b,c\n";
		size_t size = 6 + make_noise(&seed, noise + 6, 200 + table_random(&seed) % 2700);
		struct csv_settings settings = {.ragged = CSV_RAGGED_PAD, .block_bytes = 4096};
		char *path = table_file("table.csv", noise, size), *whole = read_all(path, &settings);
		static const size_t sizes[] = {64, 65, 100, 127, 500, 1000};
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			settings.block_bytes = sizes[i];
			char *got = read_all(path, &settings);
			/* An error ends the reading, after as many rows as were whole by then. */
			if (!strchr(whole, '!'))
				assert_string_equal(got, whole);
			else
				assert_string_equal(strchr(got, '!'), strchr(whole, '!'));
			free(got);
		}
		free(whole);
		table_file_remove(path);
	}
}

static void every_instruction_set_finds_the_same_cells(void **state)
{
	const struct scan_kernel *kernels;
	size_t count = scan_kernels(&kernels);
	uint64_t seed = 7;
	(void)state;
	assert_string_equal(kernels[count - 1].name, "plain");
	for (int round = 0; round < 300; round++) {
		char text[2000 + SCAN_SLACK] = {0};
		uint32_t cells[2][2000 + 2 * SCAN_SLACK], records[2][2000 + 2 * SCAN_SLACK];
		size_t size = make_noise(&seed, text, 10 + table_random(&seed) % 1900);
		struct scan_tally tally[2];
		struct scan_index index[2] = {{.cells = cells[0], .records = records[0]},
					      {.cells = cells[1], .records = records[1]}};
		kernels[count - 1].tally(text, size, ',', &tally[0]);
		kernels[count - 1].index(text, size, ',', &index[0]);
		for (size_t i = 0; i + 1 < count; i++) {
			kernels[i].tally(text, size, ',', &tally[1]);
			kernels[i].index(text, size, ',', &index[1]);
			assert_memory_equal(&tally[0], &tally[1], sizeof(tally[0]));
			assert_int_equal(index[1].cell_count, index[0].cell_count);
			assert_int_equal(index[1].record_count, index[0].record_count);
			assert_memory_equal(cells[1], cells[0], index[0].cell_count * sizeof(uint32_t));
			assert_memory_equal(records[1], records[0], index[0].record_count * sizeof(uint32_t));
			assert_int_equal(index[1].quoted, index[0].quoted);
			assert_int_equal(index[1].wide, index[0].wide);
		}
	}
}

static void plain_code_finds_what_a_byte_at_a_time_finds(void **state)
{
	const struct scan_kernel *kernels;
	size_t count = scan_kernels(&kernels);
	uint64_t seed = 11;
	(void)state;
	for (int round = 0; round < 300; round++) {
		char text[1000 + SCAN_SLACK] = {0};
		uint32_t cells[1000 + 2 * SCAN_SLACK], records[1000 + 2 * SCAN_SLACK];
		size_t size = make_noise(&seed, text, 10 + table_random(&seed) % 900), cell = 0, record = 0;
		struct scan_index index = {.cells = cells, .records = records};
		bool open = false;
		kernels[count - 1].index(text, size, ',', &index);
		for (size_t at = 0; at < size; at++) {
			open ^= text[at] == '"';
			bool end = text[at] == '\r' || (text[at] == '\n' && (at == 0 || text[at - 1] != '\r'));
			if (open || (text[at] != ',' && !end))
				continue;
			assert_int_equal(cells[cell++], at);
			if (end)
				assert_int_equal(records[record++], cell);
		}
		assert_int_equal(index.cell_count, cell);
		assert_int_equal(index.record_count, record);
	}
}

static void what_is_no_table_is_refused_by_name(void **state)
{
	struct memory memory = {0};
	struct err err = {0};
	struct csv *csv = NULL;
	(void)state;
	assert_int_equal(csv_open("/no/such/table.csv", &plain, &memory, &csv, &err), ERR_INPUT);
	assert_non_null(strstr(err.text, "/no/such/table.csv"));
	assert_int_equal(csv_open("/tmp", &plain, &memory, &csv, &err), ERR_INPUT);
	assert_non_null(strstr(err.text, "is a directory"));
	assert_int_equal(memory.used, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(cells_are_what_the_rules_say),
	cmocka_unit_test(a_refusal_names_the_line),
	cmocka_unit_test(ragged_rows_are_padded_or_skipped),
	cmocka_unit_test(settings_change_delimiter_header_and_encoding),
	cmocka_unit_test(what_was_met_is_counted),
	cmocka_unit_test(a_field_of_ten_megabytes_is_a_field),
	cmocka_unit_test(a_million_columns_are_refused_with_their_number),
	cmocka_unit_test(as_many_columns_as_are_allowed_are_read),
	cmocka_unit_test(compressed_tables_read_as_what_they_hold),
	cmocka_unit_test(block_size_changes_nothing),
	cmocka_unit_test(every_instruction_set_finds_the_same_cells),
	cmocka_unit_test(plain_code_finds_what_a_byte_at_a_time_finds),
	cmocka_unit_test(what_is_no_table_is_refused_by_name),
};

UNIT_MAIN(tests)
