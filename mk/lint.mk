# What reads the sources without running them. C_FILES is a lazy variable: git is only asked when it is needed.

C_FILES = $(shell git ls-files --cached --others --exclude-standard '*.c' '*.h')

.PHONY: lint lint-style lint-symbols lint-cppcheck lint-shell lint-man tidy format format-check
lint: lint-style lint-symbols lint-cppcheck lint-shell lint-man

# Layers, banned calls, headers that stand alone, file heads, sizes.
lint-style:
	CC='$(CC)' tools/lint

# No function of ours has the name of one in a library that we link.
lint-symbols: $(BUILD)/libcore.a
	CC='$(CC)' tools/lint_symbols $< $(patsubst -l%,%,$(filter-out -ldl,$(filter -l%,$(LIBS)))) c

# The build directory makes a second run look only at what changed. cppcheck does not see that the comma operator in
# vec_push orders its two halves; gcc's -Wsequence-point, which does, stays on. It does not read protobuf-c's header, whose
# version the generated files ask for.
lint-cppcheck: | $(GENERATED)
	@mkdir -p $(BUILD)/cppcheck
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	         --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
	         --suppress=unknownEvaluationOrder --cppcheck-build-dir=$(BUILD)/cppcheck \
	         -j2 -D_GNU_SOURCE -D__x86_64__ -DPITOT_VERSION='"$(VERSION)"' -DPROTOBUF_C_VERSION_NUMBER=1003000 \
	         -DPROTOBUF_C_MIN_COMPILER_VERSION=1000000 -Isrc -Iinclude -I$(BUILD)/gen src

lint-shell:
	shellcheck check demo .ci/run tools/build_page tools/help_inc tools/install_packages tools/lint_symbols tools/npm_install \
	           tools/test_install tools/test_web

lint-man:
	mandoc -T lint -W warning $(MAN_PAGES)

# Slower and more opinionated than `make lint`: for the person who is about to send a change.
tidy: | $(GENERATED)
	clang-tidy --quiet $(CORE_SRC) $(LIB_SRC) -- -std=c17 -D_GNU_SOURCE -DPITOT_VERSION='"$(VERSION)"' -Isrc -Iinclude \
	           -I$(BUILD)/gen

format:
	clang-format -i $(C_FILES)

format-check:
	clang-format --dry-run -Werror $(C_FILES)
