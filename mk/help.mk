# The manual pages are what --help prints: each page becomes a row {"name", "text"} of $(BUILD)/gen/help.inc.

MAN_PAGES := $(sort $(wildcard docs/man/pitot*.[15]))
GENERATED_MORE += $(if $(MAN_PAGES),$(BUILD)/gen/help.inc)

$(BUILD)/gen/help.inc: $(MAN_PAGES) tools/help_inc
	@mkdir -p $(@D)
	tools/help_inc $(MAN_PAGES) > $@
