# The stub of NVIDIA's management library that test_probe_gpu loads through PITOT_NVML.
$(BUILD)/unit/libnvml-stub.so: tests/unit/nvml_stub.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE $(WARN) -g -O1 -fPIC -shared $< -o $@

$(BUILD)/unit/test_probe_gpu: | $(BUILD)/unit/libnvml-stub.so
