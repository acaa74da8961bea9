/* A small static program without a C library: it ends at once with 42. For the rows that execute one. */
void _start(void) {
#if defined __x86_64__
    __asm__ volatile("syscall" : : "a"(60), "D"(42));
#elif defined __aarch64__
    register long number __asm__("x8") = 93;
    register long code __asm__("x0") = 42;
    __asm__ volatile("svc #0" : : "r"(number), "r"(code));
#else
#error "the call of exit is not written for this kind of CPU"
#endif
}
