/* System calls by an instruction of the program, which no library sees. */
#ifndef RAW_H
#define RAW_H
#include "check.h"
#include <sys/syscall.h>

#if defined(__x86_64__)
#define HAS_RAW_CALLS 1
MAY_BE_UNUSED static long raw_call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
#else
#define HAS_RAW_CALLS 0
MAY_BE_UNUSED static long raw_call(long number, long a, long b, long c) {
    (void)number, (void)a, (void)b, (void)c;
    return -ENOSYS;
}
#endif

/* Makes a pipe of the kernel, even if pipe(2) makes a STREAMS pipe. */
MAY_BE_UNUSED static void open_kernel_pipe(int ends[2]) {
#if HAS_RAW_CALLS
    NEEDS(raw_call(SYS_pipe2, (long)ends, 0, 0) == 0, "a pipe of the kernel");
#else
    NEEDS(syscall(SYS_pipe2, ends, 0) == 0, "a pipe of the kernel");
#endif
}
#endif
