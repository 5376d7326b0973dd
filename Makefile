# pitot - build, test, install.
#
#   make                     build/pitot, build/libpitot.so, build/libpitot.a, build/libpitot-agent.so
#   make SAN=address,undefined   the same with sanitizers, in build-san/
#   make unit                build and run the unit tests
#   make lint format         look for mistakes; lay out the sources       (mk/lint.mk)
#   make fuzz fuzz-smoke     libFuzzer targets, and a short run of each   (mk/fuzz.mk)
#   make install uninstall   PREFIX=/usr/local DESTDIR=                   (mk/install.mk)
#   make clean
#
# Every .c file below src/ belongs to the program, except src/lib (the public library) and src/agent (the preloaded one,
# mk/agent.mk); src/wire belongs to all of them. A new file needs no change here.

VERSION := 0.1.0
# Not `?=`: make has a CC of its own.
ifeq ($(origin CC),default)
CC      := $(if $(shell command -v gcc),gcc,cc)
endif
OBJCOPY ?= objcopy
PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= $(if $(SAN),build-san,build)
SAN     ?=
OPT     ?= -O2

PACKAGES := sqlite3 yaml-0.1 jansson libdw libelf libprotobuf-c zlib libzstd
# OpenBLAS is not among them: src/model loads it when it is wanted (gemm.h); only its header is needed here.
WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS   ?= $(OPT) -g
ALL_CFLAGS := -std=c17 -D_GNU_SOURCE $(WARN) -fvisibility=hidden -Isrc -Iinclude -I$(BUILD)/gen \
              -DPITOT_VERSION='"$(VERSION)"' $(shell pkg-config --cflags $(PACKAGES) openblas) $(CFLAGS) \
              $(if $(SAN),-DSANITIZED -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
# Bound at start: a process that pitot forks stays small (ru_maxrss of what it starts begins at its size), because it never
# looks a symbol up.
ALL_LDFLAGS := -Wl,-z,now $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))
LIBS     := $(shell pkg-config --libs $(PACKAGES)) -ldl -lm -pthread

CORE_SRC := $(wildcard $(addprefix src/,$(addsuffix /*.c,base wire config probe symbol run store stats analyze table model render serve cmd)))
CORE_SRC += src/lib/timer.c src/lib/timing.c
CORE_OBJ := $(CORE_SRC:src/%.c=$(BUILD)/obj/%.o)
LIB_SRC  := $(wildcard src/lib/*.c src/wire/*.c)
LIB_OBJ  := $(LIB_SRC:src/%.c=$(BUILD)/pic/%.o)
# The timer belongs to the library and to the program; in the library it brings what it needs of src/stats.
TIMER_SRC := src/lib/timer.c src/lib/timing.c
TIMER_STATS := base/mem $(addprefix stats/,compare_adjust describe dist interval interval_bootstrap order rank_dist rng series)
TIMER_OBJ := $(TIMER_SRC:src/%.c=$(BUILD)/pic/%.o) $(TIMER_STATS:%=$(BUILD)/pic/%.o)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

-include mk/*.mk

.PHONY: all unit clean
all: $(BUILD)/pitot $(if $(LIB_SRC),$(BUILD)/libpitot.so $(BUILD)/libpitot.a)

# Flags are an input like any other: when they change, everything is built anew.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' > $@
.PHONY: FORCE
FORCE:

# Text files that are compiled in as strings.
GENERATED := $(BUILD)/gen/schema.inc $(BUILD)/gen/starter.inc $(GENERATED_MORE)
# The run file's schema has one file per depth; schema.sql comes first.
$(BUILD)/gen/schema.inc: $(sort $(wildcard src/store/schema*.sql))
$(BUILD)/gen/starter.inc: docs/pipeline-starter.yaml
$(BUILD)/gen/schema.inc $(BUILD)/gen/starter.inc:
	@mkdir -p $(@D)
	cat $^ | sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' > $@

$(BUILD)/obj/%.o: src/%.c $(BUILD)/flags | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/pic/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIC -MMD -MP -c $< -o $@

$(BUILD)/libcore.a: $(CORE_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/pitot: $(BUILD)/obj/main.o $(BUILD)/libcore.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< $(BUILD)/libcore.a $(LIBS) -o $@

$(BUILD)/libpitot.so: $(LIB_OBJ) $(TIMER_OBJ)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,libpitot.so.$(SOVERSION) $(sort $^) -lm -o $@

# Two objects whose hidden symbols are local: a program that links them sees pitot_* and no other name of ours. The timer is
# one of its own, because it needs libm and the rest does not.
$(BUILD)/libpitot.a: $(LIB_OBJ) $(TIMER_OBJ)
	@rm -f $@
	$(LD) -r $(filter-out $(TIMER_OBJ),$(LIB_OBJ)) -o $(BUILD)/pic/libpitot.o
	$(LD) -r $(TIMER_OBJ) -o $(BUILD)/pic/libpitot-timer.o
	$(OBJCOPY) --localize-hidden $(BUILD)/pic/libpitot.o
	$(OBJCOPY) --localize-hidden $(BUILD)/pic/libpitot-timer.o
	$(AR) rcs $@ $(BUILD)/pic/libpitot.o $(BUILD)/pic/libpitot-timer.o

# UNIT_LIBS_test_x: what the test test_x links besides the program's own code.
UNIT_LIBS_test_lib := $(BUILD)/libpitot.a
$(BUILD)/unit/test_lib: $(BUILD)/libpitot.a
UNIT_LIBS_test_span_read := $(BUILD)/libpitot.a
$(BUILD)/unit/test_span_read: $(BUILD)/libpitot.a

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Itests/unit $(ALL_LDFLAGS) -MMD -MP $< $(UNIT_LIBS_$*) $(BUILD)/libcore.a $(LIBS) -lcmocka \
	      -pthread -o $@

.PHONY: unit-bins
unit-bins: $(UNIT_BIN)
unit: unit-bins
	@tools/run_unit $(UNIT_BIN)

clean:
	rm -rf build build-san build-clang build-fuzz

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
