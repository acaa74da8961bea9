/* A private IPC namespace, as Headwater's rows of message queues have: its limits can be raised without a change for the
 * machine, and no queue outlives its processes. */
#ifndef HEADWATER_IPC_NAMESPACE_H
#define HEADWATER_IPC_NAMESPACE_H

#include "kernel.h"

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fputs(text, file) >= 0;
    return file != NULL && fclose(file) == 0 && written;
}

/* Enters a new namespace; without the privilege, in a new user namespace. */
static int enter_namespace(void)
{
    char user[32], group[32];
    if (unshare(CLONE_NEWIPC) == 0)
        return PEER_OK;
    snprintf(user, sizeof user, "0 %u 1", getuid());
    snprintf(group, sizeof group, "0 %u 1", getgid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWIPC) != 0 || !write_file("/proc/self/setgroups", "deny") ||
        !write_file("/proc/self/uid_map", user) || !write_file("/proc/self/gid_map", group))
        return kernel_fail("unshare CLONE_NEWIPC");
    return PEER_OK;
}

/* Raises a limit to at least `wanted`. */
static int raise_limit(const char *path, size_t wanted)
{
    char text[32];
    unsigned long long now = 0;
    FILE *file = fopen(path, "r");
    bool known = file != NULL && fscanf(file, "%llu", &now) == 1;
    if (file != NULL)
        fclose(file);
    snprintf(text, sizeof text, "%zu", wanted);
    if ((known && now >= wanted) || write_file(path, text))
        return PEER_OK;
    return kernel_fail(path);
}

#endif
