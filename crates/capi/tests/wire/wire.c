/*
 * wire DEVICE ADDRESS: sends datagrams of many sizes to port 7777 of an IPv4 address, where each is sent back, and compares what comes.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <xti.h>

#define ROUNDS 3
/* Sizes around those of a byte, of an Ethernet frame and of UDP. */
static const unsigned SIZES[] = {1, 2, 3, 64, 255, 256, 1000, 1471, 1472, 1473, 4096, 16384, 32768, 65507};
#define COUNT (sizeof SIZES / sizeof *SIZES)

static int failed(const char *call)
{
    t_error(call);
    return 1;
}

int main(int count, char **arguments)
{
    static char sent[65536], received[65536];
    struct sockaddr_in own = {.sin_family = AF_INET}, from;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7777)};
    struct t_bind any = {.addr = {.maxlen = sizeof own, .len = sizeof own, .buf = (void *)&own}, .qlen = 0};
    unsigned place, byte;
    int fd, flags;

    if (count != 3 || inet_pton(AF_INET, arguments[2], &to.sin_addr) != 1) {
        fprintf(stderr, "usage: wire DEVICE ADDRESS\n");
        return 2;
    }
    fd = t_open(arguments[1], O_RDWR, NULL);
    if (fd < 0)
        return failed("t_open");
    if (t_bind(fd, &any, NULL) < 0)
        return failed("t_bind");
    for (place = 0; place < ROUNDS * COUNT; place++) {
        unsigned size = SIZES[place % COUNT];
        struct t_unitdata there = {.addr = {.len = sizeof to, .buf = (void *)&to}, .udata = {.len = size, .buf = sent}};
        struct t_unitdata back = {.addr = {.maxlen = sizeof from, .buf = (void *)&from},
                                  .udata = {.maxlen = sizeof received, .buf = received}};

        for (byte = 0; byte < size; byte++)
            sent[byte] = (char)(byte * 7 + place);
        if (t_sndudata(fd, &there) < 0)
            return failed("t_sndudata");
        if (t_rcvudata(fd, &back, &flags) < 0)
            return failed("t_rcvudata");
        if (flags != 0 || back.udata.len != size || memcmp(sent, received, size) != 0 || from.sin_port != to.sin_port) {
            fprintf(stderr, "%s: of %u bytes came %u, or others\n", arguments[1], size, back.udata.len);
            return 1;
        }
    }
    printf("%s: %u datagrams there and back\n", arguments[1], (unsigned)(ROUNDS * COUNT));
    return t_close(fd);
}
