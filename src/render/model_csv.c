/* model_csv.c - models as CSV: one line per operator, or per model where there are several. */
#include "base/json.h"
#include "render/csv_field.h"
#include "render/model.h"

#include <math.h>

static void put_real(struct str *out, double value)
{
	char text[32];
	str_append_char(out, ',');
	if (!isfinite(value))
		return;
	json_format_number(value, text, sizeof(text));
	str_append(out, text);
}

static void put_text(struct str *out, const char *text)
{
	str_append_char(out, ',');
	csv_put_field(out, text);
}

static void put_work(struct str *out, const struct work *work)
{
#define PUT_WORK(name) str_appendf(out, ",%lld", (long long)work->name);
	WORK_LIST(PUT_WORK)
#undef PUT_WORK
}

#define PUT_TITLE(name) "," #name
#define TIME_TITLES                                                                                                    \
	",forward_s,forward_low_s,forward_high_s,forward_runs,gflop_per_s,gbyte_per_s,efficiency,bound,backward_s"

static void put_times(struct str *out, const struct model_time *times)
{
	const struct model_time *forward = &times[MODEL_FORWARD], *backward = &times[MODEL_BACKWARD];
	bool timed = forward->runs > 0;
	put_real(out, timed ? forward->median_s : NAN);
	put_real(out, timed ? forward->low_s : NAN);
	put_real(out, timed ? forward->high_s : NAN);
	str_appendf(out, ",%lld", (long long)forward->runs);
	put_real(out, timed ? forward->flops / 1e9 : NAN);
	put_real(out, timed ? forward->bytes / 1e9 : NAN);
	put_real(out, timed ? forward->efficiency : NAN);
	put_text(out, timed ? forward->bound : NULL);
	put_real(out, backward->runs ? backward->median_s : NAN);
}

static void put_ops(const struct model_row *row, struct str *out)
{
	str_append(out, "model,sizes,layer,operator,type,kind,input,output,not_counted" WORK_LIST(PUT_TITLE) TIME_TITLES
		   "\n");
	for (size_t i = 0; i < row->ops.len; i++) {
		const struct model_op_row *op = &row->ops.items[i];
		csv_put_field(out, row->name);
		put_text(out, row->sizes);
		put_text(out, row->layers.items[op->layer].path);
		put_text(out, op->name);
		put_text(out, op->type);
		put_text(out, op->kind);
		put_text(out, op->input);
		put_text(out, op->output);
		put_text(out, op->unknown);
		put_work(out, &op->work);
		put_times(out, op->time);
		str_append_char(out, '\n');
	}
}

void model_csv(const struct model_view *view, const struct render_options *options, struct str *out)
{
	const struct model_profile *profile = view->profile;
	(void)options;
	if (profile->models.len == 1) {
		put_ops(&profile->models.items[0], out);
		return;
	}
	str_append(out, "model,sizes,threads" WORK_LIST(PUT_TITLE) TIME_TITLES ",inference_bytes,training_bytes\n");
	for (size_t i = 0; i < profile->models.len; i++) {
		const struct model_row *row = &profile->models.items[i];
		csv_put_field(out, row->name);
		put_text(out, row->sizes);
		if (row->threads >= 0)
			str_appendf(out, ",%lld", (long long)row->threads);
		else
			str_append_char(out, ',');
		put_work(out, &row->work);
		put_times(out, row->time);
		str_appendf(out, ",%lld,%lld\n", (long long)row->inference_bytes, (long long)row->training_bytes);
	}
}
