# libFuzzer targets: tests/fuzz/fuzz_x.c becomes build-fuzz/fuzz_x, linked with a core that carries the same
# instrumentation. Seeds lie in tests/fuzz/corpus/x/, a dictionary in tests/fuzz/x.dict; both may be absent.

FUZZ_BUILD := build-fuzz
FUZZ_SRC   := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN   := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/%)
SECONDS    ?= 10

FUZZ_MAKE  := $(MAKE) CC=clang BUILD=$(FUZZ_BUILD) SAN=fuzzer-no-link,address,undefined OPT=-O1

.PHONY: fuzz fuzz-bins fuzz-smoke unit-sanitized
fuzz:
	$(FUZZ_MAKE) fuzz-bins

# The unit tests with address and undefined behaviour sanitizers, as with `make SAN=address,undefined unit`, but on the core
# that the fuzz targets need as well: instrumenting everything twice takes longer than running the tests.
unit-sanitized:
	+$(FUZZ_MAKE) unit

fuzz-bins: $(FUZZ_BIN)

# FUZZ_LIBS_x: what the target fuzz_x links besides the program's own code.
FUZZ_LIBS_bare := $(BUILD)/libagent.a
FUZZ_LIBS_cfi  := $(BUILD)/libagent.a
$(BUILD)/fuzz_bare $(BUILD)/fuzz_cfi: $(BUILD)/libagent.a

$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/libcore.a
	$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes $(ALL_LDFLAGS) -fsanitize=fuzzer -MMD -MP $< $(FUZZ_LIBS_$*) $(BUILD)/libcore.a \
	      $(LIBS) -o $@

fuzz-smoke: fuzz
	@tools/run_fuzz --seconds $(SECONDS) $(FUZZ_SRC:tests/fuzz/%.c=$(FUZZ_BUILD)/%)
