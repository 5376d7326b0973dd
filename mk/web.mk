# The page (web/): TypeScript, bundled by esbuild and compiled in as strings. Node runs only when something in web/ has changed.

WEB_SRC  := $(wildcard web/src/*.ts web/src/*.css) web/build.mjs web/package-lock.json
PAGE_INC := $(BUILD)/gen/page.inc
GENERATED_MORE += $(PAGE_INC)

$(PAGE_INC): $(WEB_SRC) tools/build_page tools/npm_install
	tools/build_page $@

# Tries again where the packages could not be had.
.PHONY: page
page:
	rm -f $(PAGE_INC)
	$(MAKE) all

# The pictures of the page in docs/, from a run of the demo.
.PHONY: screenshots
screenshots: all
	tools/test_web --screenshots

lint: lint-web
.PHONY: lint-web
lint-web:
	@tools/npm_install web
	node web/node_modules/typescript/bin/tsc -p web
