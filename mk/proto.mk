# Protocol Buffers: src/FOLDER/x.proto becomes $(BUILD)/gen/x.pb-c.h and an object of the program. Names are unique over all folders.

PROTO_FILES := $(wildcard src/*/*.proto)
PROTO     := $(patsubst %.proto,%,$(notdir $(PROTO_FILES)))
PROTO_HDR := $(PROTO:%=$(BUILD)/gen/%.pb-c.h)
PROTO_SRC := $(PROTO:%=$(BUILD)/gen/%.pb-c.c)
PROTO_OBJ := $(PROTO:%=$(BUILD)/obj/gen/%.pb-c.o)
CORE_OBJ  += $(PROTO_OBJ)
GENERATED_MORE += $(PROTO_HDR)

# $(call proto_header,src/render/pprof.proto)
define proto_header
$(BUILD)/gen/$(notdir $(1:.proto=)).pb-c.h: $(1)
	@mkdir -p $$(@D)
	protoc-c --proto_path=$(dir $(1)) --c_out=$(BUILD)/gen $$<
endef
$(foreach file,$(PROTO_FILES),$(eval $(call proto_header,$(file))))

# One call makes both files.
$(PROTO_SRC): $(BUILD)/gen/%.c: $(BUILD)/gen/%.h

$(PROTO_OBJ): $(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
