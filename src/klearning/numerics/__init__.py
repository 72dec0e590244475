"""What everything is made of: types, the kernel decorator, sparse rows, layers, checks."""
