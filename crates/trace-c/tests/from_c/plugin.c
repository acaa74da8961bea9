/* A library that a program opens while it runs: the function NAME calls back. C11. */
void NAME(void (*back)(void));

void NAME(void (*back)(void)) {
    back();
    __asm__ volatile("" ::: "memory");
}
