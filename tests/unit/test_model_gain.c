/* test_model_gain.c - Amdahl's law, the few operators that matter, gains at the roof, and exponents of growth. */
#include "analyze/model_gain.h"
#include "near.h"
#include "unit.h"

#include <math.h>

/* Three operators of 70, 20 and 10 ms in two layers; nothing else in the pass. */
static void sample(struct model_row *row)
{
	static const struct {
		const char *name, *kind;
		int64_t layer;
		double time_s, efficiency;
	} ops[] = {{"block.attention.scores", "attention", 2, 0.07, 0.5},
		   {"block.fc", "linear", 1, 0.02, 0.9},
		   {"norm", "layer_norm", 0, 0.01, NAN}};
	static const char *const layers[] = {"", "block", "block.attention"};
	model_row_init(row);
	row->name = mem_strdup("sample");
	row->sizes = mem_strdup("");
	row->time[MODEL_FORWARD] = (struct model_time){.runs = 10, .median_s = 0.1};
	for (int64_t i = 0; i < 3; i++)
		vec_push(&row->layers, ((struct model_layer_row){.path = mem_strdup(layers[i]), .parent = i - 1}));
	for (size_t i = 0; i < 3; i++) {
		struct model_op_row *op = vec_add(&row->ops);
		op->name = mem_strdup(ops[i].name);
		op->kind = mem_strdup(ops[i].kind);
		op->type = mem_strdup("Type");
		op->layer = ops[i].layer;
		op->fused_into = -1;
		op->time[MODEL_FORWARD] =
			(struct model_time){.runs = 10, .median_s = ops[i].time_s, .efficiency = ops[i].efficiency};
	}
}

static void a_share_of_70_percent_made_twice_as_fast_gives_1_54(void **state)
{
	(void)state;
	struct model_row row;
	struct model_whatif whatif;
	struct err err;
	sample(&row);
	assert_int_equal(model_whatif(&row, "attention=2x", &whatif, &err), 0);
	assert_int_equal(whatif.ops, 1);
	assert_near(whatif.old_s / whatif.new_s, 1 / (0.3 + 0.7 / 2), 1e-12);
	assert_near(whatif.ceiling_s, 0.03, 1e-12);
	/* A layer has all that lies in it; a part may vanish. */
	assert_int_equal(model_whatif(&row, "block=0", &whatif, &err), 0);
	assert_int_equal(whatif.ops, 2);
	assert_near(whatif.new_s, 0.01, 1e-12);
	assert_near(whatif.new_s, whatif.ceiling_s, 1e-12);
	assert_int_equal(model_whatif(&row, "block.fc=1.5x", &whatif, &err), 0);
	assert_near(whatif.part_s, 0.02, 1e-12);
	model_row_fini(&row);
}

static void a_part_that_is_not_there_and_a_factor_that_is_none_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {"attention",     "attention=",  "=2x",         "attention=2",
					    "attention=-2x", "attention=x", "attention=0x"};
	struct model_row row;
	struct model_whatif whatif;
	struct err err;
	sample(&row);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(model_whatif(&row, wrong[i], &whatif, &err), ERR_USAGE);
	assert_int_equal(model_whatif(&row, "conv=2x", &whatif, &err), ERR_INPUT);
	row.time[MODEL_FORWARD].runs = 0;
	assert_int_equal(model_whatif(&row, "attention=2x", &whatif, &err), ERR_INPUT);
	model_row_fini(&row);
}

static void the_longest_come_first_and_reach_80_percent(void **state)
{
	(void)state;
	struct model_row row;
	struct model_shares shares;
	sample(&row);
	model_shares_of(&row, MODEL_FORWARD, false, &shares);
	assert_int_equal(shares.items.len, 3);
	assert_int_equal(shares.items.items[0].op, 0);
	assert_near(shares.items.items[1].running, 0.9, 1e-12);
	assert_int_equal(model_shares_reach(&shares, 0.8), 2);
	assert_int_equal(model_shares_reach(&shares, 0.7), 1);
	vec_fini(&shares.items);
	model_row_fini(&row);
}

static void what_is_above_the_roof_is_the_gain(void **state)
{
	(void)state;
	struct model_row row;
	struct model_shares shares;
	sample(&row);
	model_shares_of(&row, MODEL_FORWARD, true, &shares);
	assert_near(shares.items.items[0].gain_s, 0.035, 1e-12);
	assert_near(shares.items.items[1].gain_s, 0.002, 1e-12);
	assert_true(isnan(shares.items.items[2].gain_s));
	vec_fini(&shares.items);
	model_row_fini(&row);
}

static void exponents_of_powers_are_found_exactly(void **state)
{
	(void)state;
	const double x[] = {1, 2, 4, 8}, square[] = {3, 12, 48, 192}, flat[] = {5, 5, 5, 5},
		     rough[] = {1, 2.1, 3.9, 8.2};
	struct model_fit fit = {0};
	assert_true(model_fit_power(x, square, 4, &fit));
	assert_near(fit.exponent, 2, 1e-12);
	assert_near(fit.r2, 1, 1e-12);
	assert_true(model_fit_power(x, flat, 4, &fit));
	assert_near(fit.exponent, 0, 1e-12);
	assert_true(model_fit_power(x, rough, 4, &fit));
	assert_true(fit.low < 1 && fit.high > 1 && fit.low > 0.8 && fit.high < 1.2);
	assert_false(model_fit_power(x, square, 2, &fit));
	const double same[] = {2, 2, 2};
	assert_false(model_fit_power(same, square, 3, &fit));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_share_of_70_percent_made_twice_as_fast_gives_1_54),
	cmocka_unit_test(a_part_that_is_not_there_and_a_factor_that_is_none_are_refused),
	cmocka_unit_test(the_longest_come_first_and_reach_80_percent),
	cmocka_unit_test(what_is_above_the_roof_is_the_gain),
	cmocka_unit_test(exponents_of_powers_are_found_exactly),
};

UNIT_MAIN(tests)
