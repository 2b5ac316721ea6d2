/* COUNT calls of getppid that seccomp refuses (SECCOMP), or COUNT pauses that a signal ends
 * (SIGNALS). */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#ifdef SECCOMP
static int refuse_getppid(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

int main(void)
{
    if (refuse_getppid())
        return 1;
    for (int i = 0; i < COUNT; i++)
        if (syscall(__NR_getppid) != -1)
            return 2;
    return 0;
}
#endif

#ifdef SIGNALS
static void handle(int signal)
{
    (void)signal;
}

int main(void)
{
    struct itimerval soon = {{0, 0}, {0, 20000}};
    if (signal(SIGALRM, handle) == SIG_ERR)
        return 1;
    for (int i = 0; i < COUNT; i++) {
        /* The signal waits until pause looks for it, however late that is. */
        if (setitimer(ITIMER_REAL, &soon, NULL) != 0)
            return 2;
        syscall(__NR_pause);
    }
    return 0;
}
#endif
