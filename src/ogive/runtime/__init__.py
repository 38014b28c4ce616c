"""What runs compiled code: the native extension, threads, the cache of compiled kernels."""
