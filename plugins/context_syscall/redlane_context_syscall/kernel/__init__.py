"""What is asked of the kernel: the listener, raw calls, what this kernel offers."""
