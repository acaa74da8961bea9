/* Modules in C are loaded into a program with functions of the DDI/DKI's names. A module calls the library's functions
 * (strmod(9)), and the program calls its own. The suite puts `upper` and `rot` where they are searched. */
#include "stream.h"

/* Functions with names that a program may have. Each would end the test if a module called it. */
static int called;

#define OWN(name) \
    int name(void *, ...); \
    int name(void *first, ...) { return (void)first, ++called; }
OWN(put)
OWN(putnext)
OWN(putq)
OWN(putbq)
OWN(getq)
OWN(qreply)
OWN(canputnext)
OWN(bcanputnext)
OWN(flushq)
OWN(flushband)
OWN(allocb)
OWN(freeb)
OWN(freemsg)
OWN(msgdsize)
OWN(kmem_alloc)
OWN(kmem_zalloc)
OWN(kmem_free)
OWN(qprocson)
OWN(qprocsoff)
OWN(qenable)
OWN(timeout)
OWN(RD)
OWN(WR)
OWN(OTHERQ)

static void a_module_calls_the_librarys_functions(void) {
    int ends[2];
    open_pipe(ends);
    EXPECT(ioctl(ends[0], I_PUSH, "upper"), 0, "strmod(9): a module in C is pushed");
    EXPECT(write(ends[0], "abcm", 4), 4, "write");
    EXPECT(read(ends[1], got.data_bytes, 9), 4, "the module passes the data on");
    BYTES(got.data_bytes, 4, "ABCM", "the module has changed them");
    EXPECT(write(ends[1], "back", 4), 4, "write");
    EXPECT(read(ends[0], got.data_bytes, 9), 4, "the other direction");
    EXPECT(ioctl(ends[0], I_POP, 0), 0, "I_POP");
    EXPECT(called, 0, "strmod(9): a module never calls the program's functions");
}

static void a_driver_calls_the_librarys_functions(void) {
    int device = open_device("rot");
    EXPECT(write(device, "abcm", 4), 4, "write");
    EXPECT(read(device, got.data_bytes, 9), 4, "the driver answers");
    BYTES(got.data_bytes, 4, "nopz", "the driver has changed the data");
    EXPECT(ioctl(device, I_FLUSH, FLUSHRW), 0, "I_FLUSH");
    EXPECT(called, 0, "strmod(9): a driver never calls the program's functions");
}

static void the_program_calls_its_own_functions(void) {
    called = 0;
    EXPECT(putnext(NULL), 1, "C: a program's function is what it defines");
    EXPECT(allocb(NULL), 2, "C: a program's function is what it defines");
}

static const struct test tests[] = {
    TEST(a_module_calls_the_librarys_functions),
    TEST(a_driver_calls_the_librarys_functions),
    TEST(the_program_calls_its_own_functions),
};

MAIN(tests)
