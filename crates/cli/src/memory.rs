//! Setting of the allocator for freed memory.

/// Keeps freed memory in the process instead of returning it to the system after each step.
///
/// A training step frees and allocates the same large blocks again; by default glibc maps and unmaps each of them,
/// which costs more than a quarter of a step. Call it before any thread is started.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        // From malloc.h.
        const M_TRIM_THRESHOLD: i32 = -1;
        const M_MMAP_MAX: i32 = -4;
        // SAFETY: mallopt takes two numbers and may be called at any time; a refused setting returns 0 and changes nothing.
        unsafe {
            mallopt(M_MMAP_MAX, 0);
            mallopt(M_TRIM_THRESHOLD, -1);
        }
    }
}
