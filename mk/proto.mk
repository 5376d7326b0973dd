# Protocol Buffers: src/render/x.proto becomes $(BUILD)/gen/x.pb-c.h and an object of the program.

PROTO     := $(patsubst src/render/%.proto,%,$(wildcard src/render/*.proto))
PROTO_HDR := $(PROTO:%=$(BUILD)/gen/%.pb-c.h)
PROTO_SRC := $(PROTO:%=$(BUILD)/gen/%.pb-c.c)
PROTO_OBJ := $(PROTO:%=$(BUILD)/obj/gen/%.pb-c.o)
CORE_OBJ  += $(PROTO_OBJ)
GENERATED_MORE += $(PROTO_HDR)

$(PROTO_HDR): $(BUILD)/gen/%.pb-c.h: src/render/%.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=src/render --c_out=$(BUILD)/gen $<

# One call makes both files.
$(PROTO_SRC): $(BUILD)/gen/%.c: $(BUILD)/gen/%.h

$(PROTO_OBJ): $(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
