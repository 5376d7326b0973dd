/* test_comparison.c - from runs to verdicts: pairing, order, notes; and how they are written. */
#include "analyze/comparison.h"
#include "jansson.h"
#include "render/comparison.h"
#include "unit.h"

#include <math.h>

static const int recorded[] = {METRIC_WALL, METRIC_CPU_TIME, METRIC_RSS_PROCESS_PEAK};
enum { METRICS = 3 };

static struct comparison new_comparison(size_t subjects)
{
	struct comparison comparison;
	struct comparison_settings settings = {
		.change = change_defaults, .precision = 0.02, .seed = 11, .budget_s = 60, .warmup = 1};
	comparison_init(&comparison, &settings, recorded, METRICS, METRIC_WALL);
	comparison_add_group(&comparison);
	for (size_t i = 0; i < subjects; i++) {
		char name[16];
		snprintf(name, sizeof(name), "cmd %zu", i);
		comparison_add_subject(&comparison, name, name);
	}
	return comparison;
}

/* Blocks in which all subjects are disturbed alike; subject i takes `factor[i]` times as long. */
static void add_blocks(struct comparison *comparison, size_t blocks, const double *factors, double common, double own)
{
	struct rng rng;
	size_t order[8];
	rng_init(&rng, 3);
	for (size_t b = 0; b < blocks; b++) {
		double weather = exp(common * rng_normal(&rng));
		comparison_next_order(comparison, 0, order);
		for (size_t i = 0; i < comparison->groups.items[0].count; i++) {
			double wall = 0.1 * factors[order[i]] * weather * exp(own * rng_normal(&rng));
			double values[METRICS] = {wall, wall * 0.9, 4 << 20};
			struct comparison_run run = {.start_ns = b * 1000 + i};
			comparison_add_run(comparison, order[i], &run, values);
		}
	}
}

static enum change verdict_of(const struct comparison *comparison, size_t pair)
{
	return comparison_primary(comparison, &comparison->pairs.items[pair])->verdict;
}

static void noise_that_disturbs_both_cancels(void **state)
{
	(void)state;
	const double factors[] = {1, 1.08};
	struct comparison comparison = new_comparison(2);
	/* The machine's mood varies by 30 %, the programs by 2 %: unpaired, 30 runs would show nothing. */
	add_blocks(&comparison, 30, factors, 0.3, 0.02);
	comparison_conclude(&comparison);
	assert_int_equal(verdict_of(&comparison, 0), CHANGE_REGRESSED);
	const struct change_result *result = &comparison.pairs.items[0].changes.items[0];
	assert_true(result->low > 1.05 && result->high < 1.11);
	comparison_fini(&comparison);
}

static void the_same_twice_is_equivalent(void **state)
{
	(void)state;
	const double factors[] = {1, 1};
	struct comparison comparison = new_comparison(2);
	add_blocks(&comparison, 40, factors, 0.2, 0.03);
	comparison_conclude(&comparison);
	assert_int_equal(verdict_of(&comparison, 0), CHANGE_EQUIVALENT);
	comparison_fini(&comparison);
}

static void the_reference_can_be_another(void **state)
{
	(void)state;
	const double factors[] = {1, 2, 4};
	struct comparison comparison = new_comparison(3);
	comparison.groups.items[0].reference = 1;
	add_blocks(&comparison, 20, factors, 0.1, 0.02);
	comparison_conclude(&comparison);
	assert_int_equal(comparison.pairs.len, 2);
	assert_int_equal(comparison.pairs.items[0].subject, 0);
	assert_int_equal(verdict_of(&comparison, 0), CHANGE_IMPROVED);
	assert_int_equal(comparison.pairs.items[1].subject, 2);
	assert_int_equal(verdict_of(&comparison, 1), CHANGE_REGRESSED);
	comparison_fini(&comparison);
}

static void an_unfinished_block_is_left_out_of_the_pairs(void **state)
{
	(void)state;
	const double factors[] = {1, 1};
	const double values[METRICS] = {100, 100, 1};
	struct comparison_run run = {0};
	struct comparison comparison = new_comparison(2);
	add_blocks(&comparison, 12, factors, 0, 0.01);
	comparison_add_run(&comparison, 1, &run, values);
	assert_int_equal(comparison.groups.items[0].blocks, 12);
	comparison_conclude(&comparison);
	assert_true(comparison.pairs.items[0].changes.items[0].ratio < 1.1);
	comparison_fini(&comparison);
}

static void every_block_is_a_permutation_and_all_orders_come(void **state)
{
	(void)state;
	struct comparison comparison = new_comparison(3);
	int seen[27] = {0}, kinds = 0;
	for (int i = 0; i < 600; i++) {
		size_t order[3];
		comparison_next_order(&comparison, 0, order);
		assert_true(order[0] != order[1] && order[1] != order[2] && order[0] != order[2]);
		seen[order[0] * 9 + order[1] * 3 + order[2]]++;
	}
	for (int i = 0; i < 27; i++) {
		kinds += seen[i] > 0;
		assert_true(seen[i] == 0 || seen[i] > 50);
	}
	assert_int_equal(kinds, 6);
	comparison_fini(&comparison);
}

static void the_width_shrinks_with_the_runs(void **state)
{
	(void)state;
	const double factors[] = {1, 1.02};
	struct change_result result;
	double width[2];
	for (int i = 0; i < 2; i++) {
		struct comparison comparison = new_comparison(2);
		add_blocks(&comparison, i ? 160 : 10, factors, 0.1, 0.05);
		comparison_look(&comparison, 0, &result);
		width[i] = comparison.groups.items[0].half_width;
		comparison_fini(&comparison);
	}
	assert_true(width[1] < width[0] / 2);
}

static void too_few_runs_have_no_width(void **state)
{
	(void)state;
	const double factors[] = {1, 3};
	struct change_result result;
	struct comparison comparison = new_comparison(2);
	add_blocks(&comparison, 3, factors, 0, 0.01);
	comparison_look(&comparison, 0, &result);
	assert_true(isnan(comparison.groups.items[0].half_width));
	assert_int_equal(result.verdict, CHANGE_INCONCLUSIVE);
	assert_true(comparison_least_claim(&comparison) == 7);
	comparison_fini(&comparison);
}

static void a_metric_that_one_run_lacks_is_dropped(void **state)
{
	(void)state;
	const double factors[] = {1, 1};
	struct comparison_run run = {0};
	struct comparison comparison = new_comparison(2);
	add_blocks(&comparison, 10, factors, 0, 0.01);
	for (size_t i = 0; i < 2; i++)
		comparison_add_run(&comparison, i, &run, (const double[]){0.1, NAN, 4 << 20});
	comparison_conclude(&comparison);
	assert_int_equal(comparison.metrics.len, 2);
	assert_int_equal(comparison.metrics.items[1], METRIC_RSS_PROCESS_PEAK);
	assert_true(comparison.subjects.items[0].series.items[1].about.median == 4 << 20);
	comparison_fini(&comparison);
}

static void a_quiet_machine_and_plain_programs_get_no_notes(void **state)
{
	(void)state;
	const double factors[] = {1, 1.1};
	struct comparison comparison = new_comparison(2);
	add_blocks(&comparison, 40, factors, 0.02, 0.02);
	comparison.host = (struct comparison_host){
		.known = true, .elapsed_s = 10, .busy_s = 10.1, .own_s = 9.9, .steal_s = 0.01, .cpus = 2};
	comparison_conclude(&comparison);
	assert_int_equal(comparison.notes.len, 0);
	comparison_fini(&comparison);
}

static bool has_note(const struct comparison *comparison, const char *words)
{
	for (size_t i = 0; i < comparison->notes.len; i++)
		if (strstr(comparison->notes.items[i].text, words))
			return true;
	return false;
}

static void a_noisy_host_and_a_slow_first_run_are_noted(void **state)
{
	(void)state;
	const double factors[] = {1, 1};
	for (int noisy = 0; noisy < 2; noisy++) {
		struct comparison comparison = new_comparison(2);
		struct comparison_run run = {0};
		for (size_t i = 0; i < 2; i++)
			comparison_add_run(&comparison, i, &run, (const double[]){i ? 0.1 : 0.3, 0.1, 1});
		add_blocks(&comparison, 30, factors, 0.01, 0.01);
		comparison.host = (struct comparison_host){.known = true, .elapsed_s = 10, .cpus = 2};
		comparison.host.steal_s = noisy ? 1 : 0;
		comparison.host.busy_s = noisy ? 15 : 0;
		comparison_conclude(&comparison);
		assert_int_equal(has_note(&comparison, "hypervisor"), noisy);
		assert_int_equal(has_note(&comparison, "other programs"), noisy);
		assert_int_equal(has_note(&comparison, "first run"), !noisy);
		comparison_fini(&comparison);
	}
}

/* ---- formats ---- */

static json_t *rendered(const struct comparison_renderer *renderer, const struct comparison *comparison)
{
	struct render_options options = {.columns = 80, .unicode = true};
	struct str text = {0};
	renderer->render(comparison, &options, &text);
	json_t *tree = json_loads(str_text(&text), 0, NULL);
	str_fini(&text);
	assert_non_null(tree);
	return tree;
}

static void json_holds_samples_order_seed_and_a_verdict_per_pair(void **state)
{
	(void)state;
	const double factors[] = {1, 1.5, 1};
	struct comparison comparison = new_comparison(3);
	add_blocks(&comparison, 15, factors, 0.1, 0.02);
	comparison_conclude(&comparison);
	json_t *tree = rendered(&comparison_json, &comparison);
	json_t *pairs = json_object_get(tree, "comparisons");
	assert_int_equal(json_array_size(pairs), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(pairs, 0), "verdict")), "regressed");
	assert_string_equal(json_string_value(json_object_get(json_array_get(pairs, 1), "verdict")), "equivalent");
	assert_int_equal(json_integer_value(json_object_get(tree, "seed")), 11);
	json_t *group = json_array_get(json_object_get(tree, "groups"), 0);
	assert_int_equal(json_array_size(json_object_get(group, "order")), 45);
	json_t *command = json_array_get(json_object_get(tree, "commands"), 2);
	json_t *wall = json_object_get(json_object_get(command, "metrics"), "wall_s");
	assert_int_equal(json_array_size(json_object_get(wall, "samples")), 15);
	json_decref(tree);
	comparison_fini(&comparison);
}

static void text_from_elsewhere_breaks_no_format(void **state)
{
	(void)state;
	const double factors[] = {1};
	struct comparison comparison = new_comparison(0);
	struct render_options options = {.columns = 60};
	comparison_add_subject(&comparison, "a|b \033[31m\xff `x`", "q\"uote,\n\xff");
	comparison_add_subject(&comparison, "plain", "plain");
	add_blocks(&comparison, 1, (const double[]){factors[0], 1}, 0, 0);
	comparison_conclude(&comparison);
	json_decref(rendered(&comparison_json, &comparison));
	json_decref(rendered(&comparison_hyperfine, &comparison));
	for (const struct comparison_renderer *const *one = comparison_renderer_table; *one; one++) {
		struct str text = {0};
		(*one)->render(&comparison, &options, &text);
		if (strcmp((*one)->name, "term") == 0)
			for (size_t i = 0; i < text.len; i++)
				assert_true(text.text[i] == '\n' || (text.text[i] >= ' ' && text.text[i] < 127));
		assert_null(strstr(text.text, "\xff"));
		str_fini(&text);
	}
	comparison_fini(&comparison);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(noise_that_disturbs_both_cancels),
	cmocka_unit_test(the_same_twice_is_equivalent),
	cmocka_unit_test(the_reference_can_be_another),
	cmocka_unit_test(an_unfinished_block_is_left_out_of_the_pairs),
	cmocka_unit_test(every_block_is_a_permutation_and_all_orders_come),
	cmocka_unit_test(the_width_shrinks_with_the_runs),
	cmocka_unit_test(too_few_runs_have_no_width),
	cmocka_unit_test(a_metric_that_one_run_lacks_is_dropped),
	cmocka_unit_test(a_quiet_machine_and_plain_programs_get_no_notes),
	cmocka_unit_test(a_noisy_host_and_a_slow_first_run_are_noted),
	cmocka_unit_test(json_holds_samples_order_seed_and_a_verdict_per_pair),
	cmocka_unit_test(text_from_elsewhere_breaks_no_format),
};
UNIT_MAIN(tests)
