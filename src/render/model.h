/*
 * model.h - what `pitot model` prints, and what a report says of the models in a run.
 *
 * model_page.c, model_times.c and model_scaling.c the page for people (terminal and Markdown), model_json.c, model_csv.c, model_svg.c the
 * other formats; model_json.c also answers for docs/model.schema.json.
 */
#ifndef PITOT_RENDER_MODEL_H
#define PITOT_RENDER_MODEL_H

#include "analyze/model_gain.h"
#include "model/weights.h"
#include "render/sheet.h"
#include "store/model.h"

struct model_view {
	const struct model_profile *profile;
	const struct model_whatif *whatifs; /* of the first model */
	size_t whatif_count;
	bool compare; /* the models are different ones, side by side; else one in several sizes */
};

void model_page(const struct model_view *view, const struct render_options *options, struct sheet *sheet);
void model_term(const struct model_view *view, const struct render_options *options, struct str *out);
void model_md(const struct model_view *view, const struct render_options *options, struct str *out);
void model_json(const struct model_view *view, const struct render_options *options, struct str *out);
void model_csv(const struct model_view *view, const struct render_options *options, struct str *out);
void model_svg(const struct model_view *view, const struct render_options *options, struct str *out);

/* Nothing but the answers to what-ifs. */
void model_whatif_term(const struct model_view *view, const struct render_options *options, struct str *out);
void model_whatif_json(const struct model_view *view, struct str *out);
void model_weights_term(const struct weight_rows *rows, const struct render_options *options, struct str *out);
void model_weights_md(const struct weight_rows *rows, const struct render_options *options, struct str *out);
void model_weights_json(const struct weight_rows *rows, const struct render_options *options, struct str *out);
void model_weights_csv(const struct weight_rows *rows, const struct render_options *options, struct str *out);

/* "1 234 567": every digit, because counts are exact. `out` has FORMAT_SIZE bytes. */
void model_digits(int64_t count, char *out);
/* The models as the member "models" of an object that is open, and what goes with them. */
struct json;
void model_json_members(const struct model_view *view, struct json *json);
/* Of these, how the models grow with their sizes: the member "fits". */
void model_json_fits(const struct model_profile *profile, struct json *json);
/* Parts of the page that have a file of their own. */
void model_page_times(const struct model_row *row, const struct render_options *options, struct sheet *sheet);
void model_page_scaling(const struct model_view *view, const struct render_options *options, struct sheet *sheet);

#endif
