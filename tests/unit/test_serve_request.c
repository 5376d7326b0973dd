/* test_serve_request.c - who may ask the server what. */
#include "serve/request.h"
#include "unit.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static const struct serve_place place = {.token = TOKEN, .port = 8080};

/* A request that is all right but for what a test changes. */
static struct serve_request good(void)
{
	return (struct serve_request){
		.method = "GET", .path = "/" TOKEN "/", .host = "127.0.0.1:8080", .origin = NULL, .site = NULL};
}

static unsigned status_of(struct serve_request request)
{
	return serve_judge(&place, &request).status;
}

static void the_page_and_its_questions_have_routes(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		enum serve_route route;
		unsigned status;
	} cases[] = {
		{"/" TOKEN "/", SERVE_PAGE, 200},
		{"/" TOKEN, SERVE_FOLDER, 301},
		{"/" TOKEN "/api/runs", SERVE_RUNS, 200},
		{"/" TOKEN "/api/run", SERVE_RUN, 200},
		{"/" TOKEN "/api/diff", SERVE_DIFF, 200},
		{"/" TOKEN "/api/trend", SERVE_TREND, 200},
		{"/" TOKEN "/api/", SERVE_NOTHING, 404},
		{"/" TOKEN "/../etc/passwd", SERVE_NOTHING, 404},
		{"/" TOKEN "x/", SERVE_NOTHING, 404},
		{"/" TOKEN "/api/runs/", SERVE_NOTHING, 404},
		{"/" TOKEN "//api/runs", SERVE_NOTHING, 404},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct serve_request request = good();
		request.path = cases[i].path;
		struct serve_verdict verdict = serve_judge(&place, &request);
		assert_int_equal(verdict.status, cases[i].status);
		assert_int_equal(verdict.route, cases[i].route);
		assert_true((verdict.why != NULL) == (verdict.status >= 400));
	}
}

static void without_the_token_there_is_nothing(void **state)
{
	(void)state;
	static const char *const paths[] = {"/",
					    "",
					    "/0",
					    "/0123456789abcdef0123456789abcdee/",
					    "/api/runs",
					    "//",
					    "/0123456789abcdef0123456789abcde"};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct serve_request request = good();
		request.path = paths[i];
		assert_int_equal(status_of(request), 404);
	}
}

static void another_name_for_this_machine_is_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {"evil.example:8080", "127.0.0.1", "127.0.0.1:8081",
					    "localhost",         "",          "127.0.0.1:8080.evil.example"};
	static const char *const right[] = {"localhost:8080", "LOCALHOST:8080", "[::1]:8080"};
	struct serve_request request = good();
	request.host = NULL;
	assert_int_equal(status_of(request), 421);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		request.host = wrong[i];
		assert_int_equal(status_of(request), 421);
	}
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		request.host = right[i];
		assert_int_equal(status_of(request), 200);
	}
}

static void the_usual_port_need_not_be_named(void **state)
{
	(void)state;
	struct serve_place usual = {.port = 80, .token = TOKEN};
	struct serve_request request = good();
	request.host = "localhost";
	assert_int_equal(serve_judge(&usual, &request).status, 200);
	request.origin = "http://localhost";
	assert_int_equal(serve_judge(&usual, &request).status, 200);
	request.host = "evil.example";
	assert_int_equal(serve_judge(&usual, &request).status, 421);
}

static void pages_of_other_sites_are_refused(void **state)
{
	(void)state;
	static const char *const origins[] = {"https://evil.example", "null", "http://127.0.0.1:9", "",
					      "https://127.0.0.1:8080"};
	static const char *const sites[] = {"cross-site", "same-site", ""};
	struct serve_request request = good();
	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		request.origin = origins[i];
		assert_int_equal(status_of(request), 403);
	}
	request.origin = "http://localhost:8080";
	assert_int_equal(status_of(request), 200);
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		request.site = sites[i];
		assert_int_equal(status_of(request), 403);
	}
	request.site = "same-origin";
	assert_int_equal(status_of(request), 200);
	request.site = "none";
	assert_int_equal(status_of(request), 200);
}

static void nothing_can_be_changed(void **state)
{
	(void)state;
	static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"};
	struct serve_request request = good();
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		request.method = methods[i];
		assert_int_equal(status_of(request), 405);
	}
	request.method = "HEAD";
	assert_int_equal(status_of(request), 200);
}

static void a_run_is_a_plain_name_in_the_history(void **state)
{
	(void)state;
	static const char *const right[] = {"churn-20260131-123456.pitot", "a b.pitot", "ä.pitot"};
	static const char *const wrong[] = {"",          ".pitot",       "../x.pitot",    "/etc/x.pitot",
					    "a/b.pitot", "index.sqlite", ".hidden.pitot", "x.pitot-wal",
					    "x.pitot/",  "x.PITOT"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(serve_is_run_name(wrong[i]));
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_true(serve_is_run_name(right[i]));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_page_and_its_questions_have_routes),
	cmocka_unit_test(without_the_token_there_is_nothing),
	cmocka_unit_test(another_name_for_this_machine_is_refused),
	cmocka_unit_test(the_usual_port_need_not_be_named),
	cmocka_unit_test(pages_of_other_sites_are_refused),
	cmocka_unit_test(nothing_can_be_changed),
	cmocka_unit_test(a_run_is_a_plain_name_in_the_history),
};

UNIT_MAIN(tests)
