# Writes run files with known profiles for tests/system/test_export.py.
unit-bins: $(BUILD)/unit/export_sample
