# Lets the kernel fill memory, and does nothing with it.
dd if=/dev/zero of=/dev/null bs=1M count=12000 2>/dev/null
