# libpitot-agent.so: preloaded into every profiled process. It links libc only, exports nothing but the functions that it
# wraps, never leaves once it is loaded, and its thread-local state is of the kind that a signal handler may read.
# libagent.a has the same objects for the unit tests: a test pulls in what it calls and nothing else. The wrappers are not in
# it, or a test that calls such a function would get them.

AGENT_SRC    := $(wildcard src/agent/*.c)
AGENT_OBJ    := $(AGENT_SRC:src/%.c=$(BUILD)/agent-pic/%.o)
# libpitot-agent-memory.so is the same with the memory profiler: only where that is wanted does an allocation pass through it.
AGENT_MEMORY := $(wildcard src/agent/memory*.c) $(addprefix src/agent/interpose_,malloc.c new.c map.c)
AGENT_MEMORY_OBJ := $(AGENT_MEMORY:src/%.c=$(BUILD)/agent-pic/%.o)
# -fno-plt -z now: no lazy binding, hence no loader's lock, inside a handler. No stack protector: its canary check would end
# the host. -fno-builtin-malloc: nothing here may be turned into a call of the allocator.
AGENT_CFLAGS := -fPIC -ftls-model=initial-exec -fno-plt -fno-stack-protector -fno-builtin-malloc -fasynchronous-unwind-tables
# Fields that were just written one by one are not read back in pairs: the processor would wait for them.
AGENT_CFLAGS += -fno-tree-slp-vectorize

all: $(BUILD)/libpitot-agent.so $(BUILD)/libpitot-agent-memory.so

$(BUILD)/agent-pic/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(AGENT_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libpitot-agent.so: $(filter-out $(AGENT_MEMORY_OBJ),$(AGENT_OBJ))
$(BUILD)/libpitot-agent-memory.so: $(AGENT_OBJ)
$(BUILD)/libpitot-agent.so $(BUILD)/libpitot-agent-memory.so:
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete $(if $(SAN),,-Wl,-z,defs) $^ -ldl -pthread -o $@

$(BUILD)/libagent.a: $(filter-out $(BUILD)/agent-pic/agent/interpose%,$(AGENT_OBJ))
	@rm -f $@
	$(AR) rcs $@ $^

# Unit tests of the agent's parts: tests/unit/test_agent_*.c.
AGENT_UNIT := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_agent_*.c))
$(foreach test,$(AGENT_UNIT),$(eval UNIT_LIBS_$(test) := $(BUILD)/libagent.a))
$(AGENT_UNIT:%=$(BUILD)/unit/%): $(BUILD)/libagent.a

# C++ that a test of the unwinder loads. Bound lazily unless the test asks otherwise.
$(BUILD)/unit/libthrower.so: tests/unit/thrower.cc
	@mkdir -p $(@D)
	$(CXX) -Wall -Wextra -Werror -O2 -g -fPIC -shared -Wl,-z,lazy $< -o $@

# Clang's AddressSanitizer wraps what throws, and looks for it when the program starts.
THROWING := -Wl,--no-as-needed -lstdc++
UNIT_LIBS_test_agent_unwind += $(if $(SAN),$(THROWING))

$(BUILD)/unit/test_agent_unwind $(BUILD)/unit/test_agent_module: | $(BUILD)/unit/libthrower.so

# What threads do to each other in the agent, seen by ThreadSanitizer: only what needs no fences of its own, which it does not know.
.PHONY: agent-tsan
agent-tsan:
	@mkdir -p $(BUILD)/tsan
	$(CC) -std=c17 -D_GNU_SOURCE $(WARN) -g -O1 -fsanitize=thread -Isrc -Itests/unit tests/unit/test_agent_node.c \
	      src/agent/node.c src/agent/file.c -lcmocka -pthread -o $(BUILD)/tsan/test_agent_node
	@tools/run_unit $(BUILD)/tsan/test_agent_node
