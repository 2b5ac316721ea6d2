/* Submits NOPS no-ops, READS reads of the zero device and FAILS closes of nothing to an io_uring,
 * in batches of 8; with SQPOLL a thread of the kernel takes them from the ring. Exits with 77
 * where no ring can be made. */
#include <linux/io_uring.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCH 8

static int ring;
static unsigned *sq_tail, *sq_mask, *sq_array, *sq_flags, *cq_head, *cq_tail;
static struct io_uring_sqe *sqes;
static char buffer[4096];

static int set_up(void)
{
    struct io_uring_params p;
    memset(&p, 0, sizeof(p));
#ifdef SQPOLL
    p.flags = IORING_SETUP_SQPOLL;
    p.sq_thread_idle = 1000;
#endif
    ring = syscall(__NR_io_uring_setup, BATCH, &p);
    if (ring < 0)
        return 77;
    char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
                    IORING_OFF_SQ_RING);
    char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
                    PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
    sqes = mmap(0, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
                IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || (void *)sqes == MAP_FAILED)
        return 1;
    sq_tail = (unsigned *)(sq + p.sq_off.tail);
    sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
    sq_array = (unsigned *)(sq + p.sq_off.array);
    sq_flags = (unsigned *)(sq + p.sq_off.flags);
    cq_head = (unsigned *)(cq + p.cq_off.head);
    cq_tail = (unsigned *)(cq + p.cq_off.tail);
    return 0;
}

static int batch(int opcode, int fd)
{
    unsigned tail = *sq_tail;
    for (int i = 0; i < BATCH; i++) {
        unsigned slot = (tail + i) & *sq_mask;
        struct io_uring_sqe *sqe = &sqes[slot];
        memset(sqe, 0, sizeof(*sqe));
        sqe->opcode = opcode;
        sqe->fd = fd;
        if (opcode == IORING_OP_READ) {
            sqe->addr = (uintptr_t)buffer;
            sqe->len = sizeof(buffer);
        }
        sq_array[slot] = slot;
    }
    __atomic_store_n(sq_tail, tail + BATCH, __ATOMIC_SEQ_CST);
#ifdef SQPOLL
    if (__atomic_load_n(sq_flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
        if (syscall(__NR_io_uring_enter, ring, 0, 0, IORING_ENTER_SQ_WAKEUP, 0, 0) < 0)
            return 1;
    while (__atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) - *cq_head < BATCH)
        usleep(50);
#else
    int n = syscall(__NR_io_uring_enter, ring, BATCH, BATCH, IORING_ENTER_GETEVENTS, 0, 0);
    if (n != BATCH || __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) - *cq_head != BATCH)
        return 1;
#endif
    __atomic_store_n(cq_head, *cq_head + BATCH, __ATOMIC_RELEASE);
    return 0;
}

int main(void)
{
    int zero = open("/dev/zero", O_RDONLY);
    int failed = set_up();
    for (int i = 0; i < NOPS / BATCH && !failed; i++)
        failed = batch(IORING_OP_NOP, -1);
    for (int i = 0; i < READS / BATCH && !failed; i++)
        failed = batch(IORING_OP_READ, zero);
    for (int i = 0; i < FAILS / BATCH && !failed; i++)
        failed = batch(IORING_OP_CLOSE, 1 << 20);
    return failed;
}
