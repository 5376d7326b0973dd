/* test_model_dataset.c - MNIST, CIFAR-10 and text as input of a model, and files that are not what they claim. */
#include "model/dataset.h"
#include "near.h"
#include "unit.h"

static unsigned char *copy(const void *bytes, size_t size)
{
	unsigned char *made = mem_alloc(size ? size : 1);
	memcpy(made, bytes, size);
	return made;
}

static struct graph_tensor input(const struct shape *shape, enum element element, double below)
{
	return (struct graph_tensor){.shaped = true,
				     .shape = *shape,
				     .element = element,
				     .role = TENSOR_INPUT,
				     .source = below > 0 ? TENSOR_IDS : TENSOR_NORMAL,
				     .fill = below};
}

static void images_lie_in_the_middle_and_come_around_again(void **state)
{
	(void)state;
	static const unsigned char idx[] = {0, 0, 8, 3, 0,   0, 0, 2,  0, 0,   0, 2,
					    0, 0, 0, 2, 255, 0, 0, 51, 0, 102, 0, 0};
	struct dataset data;
	struct err err;
	float out[3 * 16];
	assert_int_equal(dataset_parse(copy(idx, sizeof(idx)), sizeof(idx), "two", &data, &err), 0);
	assert_int_equal(data.count, 2);
	struct graph_tensor tensor = input(&SHAPE(3, 1, 4, 4), ELEMENT_F32, 0);
	assert_int_equal(dataset_fill(&data, &tensor, out, &err), 0);
	assert_near(out[5], 1, 1e-6);
	assert_near(out[10], 0.2, 1e-6);
	assert_near(out[0] + out[15], 0, 1e-6);
	assert_near(out[16 + 6], 0.4, 1e-6);
	assert_near(out[32 + 5], 1, 1e-6);
	tensor = input(&SHAPE(1, 4), ELEMENT_F32, 0);
	assert_int_equal(dataset_fill(&data, &tensor, out, &err), 0);
	assert_near(out[3], 0.2, 1e-6);
	tensor = input(&SHAPE(1, 3, 4, 4), ELEMENT_F32, 0);
	assert_int_equal(dataset_fill(&data, &tensor, out, &err), ERR_INPUT);
	tensor = input(&SHAPE(1, 1, 1, 1), ELEMENT_F32, 0);
	assert_int_equal(dataset_fill(&data, &tensor, out, &err), ERR_INPUT);
	dataset_fini(&data);
}

static void records_of_cifar_are_known_by_their_labels(void **state)
{
	(void)state;
	unsigned char *records = mem_alloc(2 * 3073);
	struct dataset data;
	struct err err;
	records[0] = 9;
	records[1] = 255;
	assert_int_equal(dataset_parse(copy(records, 2 * 3073), 2 * 3073, "c", &data, &err), 0);
	assert_int_equal(data.kind, DATASET_CIFAR10);
	struct graph_tensor tensor = input(&SHAPE(2, 3, 32, 32), ELEMENT_F32, 0);
	float *out = mem_alloc(2 * 3072 * sizeof(*out));
	assert_int_equal(dataset_fill(&data, &tensor, out, &err), 0);
	assert_near(out[0], 1, 1e-6);
	dataset_fini(&data);
	records[3073] = 10;
	assert_int_equal(dataset_parse(copy(records, 2 * 3073), 2 * 3073, "c", &data, &err), 0);
	assert_int_equal(data.kind, DATASET_TEXT);
	dataset_fini(&data);
	free(out);
	free(records);
}

static void bytes_of_a_text_are_tokens_below_the_vocabulary(void **state)
{
	(void)state;
	struct dataset data;
	struct err err;
	float out[4];
	assert_int_equal(dataset_parse(copy("abc", 3), 3, "t", &data, &err), 0);
	struct graph_tensor tensor = input(&SHAPE(1, 4), ELEMENT_I64, 98);
	assert_int_equal(dataset_fill(&data, &tensor, out, &err), 0);
	assert_near(out[0], 97, 0);
	assert_near(out[1], 0, 0);
	assert_near(out[3], 97, 0);
	tensor = input(&SHAPE(1, 4), ELEMENT_F32, 0);
	assert_int_equal(dataset_fill(&data, &tensor, out, &err), ERR_INPUT);
	dataset_fini(&data);
}

static void claims_that_the_file_does_not_hold_are_refused(void **state)
{
	(void)state;
	static const unsigned char files[][16] = {
		{0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28},
		{0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28},
		{0, 0, 8, 1, 0, 0, 0, 1, 7}};
	struct dataset data;
	struct err err;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(dataset_parse(copy(files[i], 16), 16, "bad", &data, &err), ERR_INPUT);
		assert_non_null(strstr(err.text, "bad"));
	}
	assert_int_equal(dataset_parse(copy("", 0), 0, "empty", &data, &err), ERR_INPUT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(images_lie_in_the_middle_and_come_around_again),
	cmocka_unit_test(records_of_cifar_are_known_by_their_labels),
	cmocka_unit_test(bytes_of_a_text_are_tokens_below_the_vocabulary),
	cmocka_unit_test(claims_that_the_file_does_not_hold_are_refused),
};

UNIT_MAIN(tests)
