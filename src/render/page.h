/*
 * page.h - the page of `pitot report --format html`, `pitot diff --format html` and `pitot serve`: its data, and the file
 * that holds it.
 *
 * The page itself is TypeScript (web/), bundled when pitot is built and compiled in. It shows one document, the page model
 * (docs/page-model.md), which the functions here make as JSON text. There are two ways to get it:
 *
 *	embedded   page_html with a model: one file with the model inside, compressed; no network, opens from disk
 *	served     page_html without one: the page asks its server, with addresses relative to its own
 *
 * What a server answers. It only routes: every answer is the text that one function makes. A failure is
 * page_error_json with a status of 4xx or 5xx; the page shows its words.
 *
 *	GET .                       page_html(NULL, 0), with the header Content-Security-Policy: page_policy(true)
 *	GET api/runs                page_runs_json      the runs of the history, newest first
 *	GET api/run?run=FILE        page_run_json       one run. While its "live" is true the page asks again every 2 s.
 *	GET api/diff?a=FILE&b=FILE  page_diff_json      two runs compared, with both code profiles
 *	GET api/trend?name=NAME&metric=METRIC[&stage=STAGE]   page_trend_json   a metric over the runs of that name
 *
 * FILE is "file" of a row of api/runs: a name within the history, never a path. Whether it is one is for the server to
 * check, before it makes a path of it.
 *
 * Nothing that comes from a run is markup: the page sets text, never HTML, and its policy allows no script but its own.
 */
#ifndef PITOT_RENDER_PAGE_H
#define PITOT_RENDER_PAGE_H

#include "base/err.h"
#include "base/json.h"
#include "render/delta.h"
#include "render/open_run.h"

enum { PAGE_MODEL_VERSION = 1 };

/* The whole run. Parts that are damaged are left out and named in "problems"; only a file whose first tables cannot be
 * read is an error. */
int page_run_json(const char *path, struct str *out, struct err *err);
/* The same of a run that is open already; `problems` may be NULL. */
void page_opened_json(const struct opened_run *run, const struct run_problems *problems, struct str *out);

/* Two runs, A the older; with both code profiles where there are any. */
int page_diff_json(const char *path_a, const char *path_b, struct str *out, struct err *err);
/* The same of a comparison that is made already. Code profiles are added where there is one run a side. */
int page_delta_json(const struct delta *delta, struct str *out, struct err *err);

/* `dir` is the history's folder. An empty history is a list without rows. */
int page_runs_json(const char *dir, struct str *out, struct err *err);
/* `stage` NULL: of the run. The document of `pitot history trend --json`. */
int page_trend_json(const char *dir, const char *run_name, const char *metric, const char *stage, struct str *out,
		    struct err *err);
/* {"error": "…"} */
void page_error_json(const struct err *err, struct str *out);

/* `model` NULL: a page that asks its server. ERR_UNAVAILABLE with the reason where pitot was built without the page. */
int page_html(const char *model, size_t size, struct str *out, struct err *err);
bool page_is_built(void);
/* The Content-Security-Policy of the page; a served one may ask its server, an embedded one nobody. */
const char *page_policy(bool served);

#endif
