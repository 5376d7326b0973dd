# The inner loops are written so that the compiler can keep everything in registers; it has to try.
$(patsubst %,$(BUILD)/obj/model/kernel_%.o,base avx2 avx512): ALL_CFLAGS += $(if $(SAN),,-O3) -ffp-contract=fast -fno-math-errno

# Runs small graphs for tests/system/test_kernels.py, which compares them with PyTorch.
unit-bins: $(BUILD)/unit/graph_runner

# The same for the loops over columns of a table. No contraction: results must not depend on the compiler.
$(patsubst %,$(BUILD)/obj/table/%.o,chunk chunk_derive encode expr_memo expr_number expr_window linear moments pick): \
	ALL_CFLAGS += $(if $(SAN),,-O3) -ffp-contract=off
