# The flame graph's script and style, compiled in as strings like the texts of the Makefile.

FLAME_INC := $(BUILD)/gen/flame_js.inc $(BUILD)/gen/flame_css.inc
GENERATED_MORE += $(FLAME_INC)

$(FLAME_INC): $(BUILD)/gen/flame_%.inc: src/render/flame.%
	@mkdir -p $(@D)
	sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $< > $@
