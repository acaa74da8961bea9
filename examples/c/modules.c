/*
 * Modules on a stream: I_PUSH, I_LOOK, I_LIST, I_FIND, I_POP. Data pass through the queues of srvmod; a push of an unknown module
 * fails.
 */
#include "example.h"

int main(void)
{
    int ends[2];
    char name[FMNAMESZ + 1], text[32];
    struct str_mlist names[4];
    struct str_list list = {4, names};

    stream_pipe(ends);
    CHECK(ioctl(ends[0], I_LOOK, name) == -1 && errno == EINVAL);
    CHECK(ioctl(ends[0], I_PUSH, "nullmod") == 0);
    CHECK(ioctl(ends[0], I_PUSH, "srvmod") == 0);

    /* The last that was pushed is the nearest to the head. */
    CHECK(ioctl(ends[0], I_LOOK, name) == 0 && strcmp(name, "srvmod") == 0);
    CHECK(ioctl(ends[0], I_LIST, NULL) == 2);
    CHECK(ioctl(ends[0], I_LIST, &list) != -1 && list.sl_nmods == 2);
    CHECK(strcmp(names[0].l_name, "srvmod") == 0 && strcmp(names[1].l_name, "nullmod") == 0);
    CHECK(ioctl(ends[0], I_FIND, "nullmod") == 1);
    CHECK(ioctl(ends[0], I_FIND, "pipemod") == 0);
    CHECK(ioctl(ends[0], I_FIND, "no_such") == -1 && errno == EINVAL);
    CHECK(ioctl(ends[0], I_PUSH, "no_such") == -1 && errno == EINVAL);

    CHECK(write(ends[0], "through both", 12) == 12);
    CHECK(read(ends[1], text, sizeof text) == 12 && memcmp(text, "through both", 12) == 0);
    CHECK(write(ends[1], "and back", 8) == 8);
    CHECK(read(ends[0], text, sizeof text) == 8 && memcmp(text, "and back", 8) == 0);

    CHECK(ioctl(ends[0], I_POP, 0) == 0);
    CHECK(ioctl(ends[0], I_LOOK, name) == 0 && strcmp(name, "nullmod") == 0);
    CHECK(ioctl(ends[0], I_POP, 0) == 0);
    CHECK(ioctl(ends[0], I_POP, 0) == -1 && errno == EINVAL);
    puts("modules: ok");
    return 0;
}
