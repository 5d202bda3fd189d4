/* What followed threads execute, open and connect to, told where each call ends: one
   that a supervisor answers in the caller's place has no beginning for tracepoints.
   For x86-64. bcc compiles this; kernel_tracer.py reads what it sends. */

#define ADDRESS_MOST 127
#define FILE_MOST 256
#define WORDS_MOST 1023
#define DATA_MOST 2047
#define WITHIN(value, most) asm volatile("%0 &= " #most : "+r"(value))

enum { EXEC = 1, OPEN = 2, CONNECT = 3 };
enum { SENT, LOST, UNFOLLOWED, OTHERS };
enum {
    NR_OPEN = 2,
    NR_CONNECT = 42,
    NR_EXECVE = 59,
    NR_CREAT = 85,
    NR_OPENAT = 257,
    NR_EXECVEAT = 322,
    NR_OPENAT2 = 437,
};
enum { INT_0X80 = 0x80CD, NR_AT = 120, SP_AT = 152, USER32_CS = 0x23, AT_FDCWD = -100, CREAT_FLAGS = 01101 };

/* struct pt_regs, as every x86-64 kernel has it (arch/x86/include/asm/ptrace.h). */
struct registers {
    u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
    u64 ip, cs, flags, sp, ss;
};

struct record {
    u64 when, flags;
    s64 result;
    u32 process;
    s32 directory;
    u32 length;
    s32 kind;
    char program[16];
    char data[DATA_MOST + 1];
};

BPF_HASH(followed, u32, u8, 32768);
BPF_PERCPU_ARRAY(scratch, struct record, 1);
BPF_ARRAY(counts, u64, 4);
BPF_RINGBUF_OUTPUT(events, 256);

static void count(int what)
{
    u64 *number = counts.lookup(&what);
    if (number)
        __sync_fetch_and_add(number, 1);
}

static void send(struct record *record, u64 length)
{
    WITHIN(length, 2047);
    record->length = length;
    record->when = bpf_ktime_get_ns();
    bpf_get_current_comm(record->program, sizeof record->program);
    count(events.ringbuf_output(record, 56 + length, 0) ? LOST : SENT);
}

TRACEPOINT_PROBE(sched, sched_process_fork)
{
    u32 parent = bpf_get_current_pid_tgid(), child = args->child_pid;
    u8 one = 1;
    if (followed.lookup(&parent) && followed.update(&child, &one))
        count(UNFOLLOWED);
    return 0;
}

static void executed(struct record *record)
{
    /* The new stack: argc, argv, NULL, envp; the words lie one behind the other. A
       supervisor puts other registers there by the time that the call ends. */
    u64 registers = bpf_task_pt_regs((void *)bpf_get_current_task_btf());
    u64 stack = 0, argc = 0, first = 0, behind = 0;
    bpf_probe_read_kernel(&stack, sizeof stack, (void *)registers + SP_AT);
    bpf_probe_read_user(&argc, sizeof argc, (void *)stack);
    bpf_probe_read_user(&first, sizeof first, (void *)stack + 8);
    bpf_probe_read_user(&behind, sizeof behind, (void *)stack + 16 + 8 * argc);
    u64 size = behind > first ? behind - first : 0;
    record->flags = size;
    if (size > WORDS_MOST)
        size = WORDS_MOST;
    WITHIN(size, 1023);
    if (bpf_probe_read_user(record->data + FILE_MOST, size, (void *)first))
        size = 0;
    send(record, FILE_MOST + size);
}

TRACEPOINT_PROBE(sched, sched_process_exec)
{
    /* A thread that executes takes its leader's number. */
    u64 id = bpf_get_current_pid_tgid();
    u32 now = id, before = args->old_pid;
    u8 one = 1;
    int zero = 0;
    if (!followed.lookup(&before))
        return 0;
    if (now != before) {
        followed.update(&now, &one);
        followed.delete(&before);
    }
    struct record *record = scratch.lookup(&zero);
    if (!record)
        return 0;
    record->process = id >> 32;
    record->result = 0;
    record->directory = AT_FDCWD;
    record->kind = EXEC;
    bpf_probe_read_kernel_str(record->data, FILE_MOST,
                              (void *)args + (args->data_loc_filename & 0xFFFF));
    executed(record);
    return 0;
}

TRACEPOINT_PROBE(sched, sched_process_exit)
{
    u32 thread = bpf_get_current_pid_tgid();
    followed.delete(&thread);
    return 0;
}

static void connected(struct record *record, struct registers *at)
{
    u32 given = at->dx;
    u64 size = given > ADDRESS_MOST ? ADDRESS_MOST : given;
    WITHIN(size, 127);
    send(record, bpf_probe_read_user(record->data, size, (void *)at->si) ? 0 : size);
}

RAW_TRACEPOINT_PROBE(sys_exit)
{
    u64 id = bpf_get_current_pid_tgid();
    u32 thread = id;
    int zero = 0;
    s32 number;
    struct registers at;
    if (!followed.lookup(&thread))
        return 0;
    bpf_probe_read_kernel(&number, sizeof number, (void *)ctx->args[0] + NR_AT);
    if (bpf_probe_read_kernel(&at, sizeof at, (void *)ctx->args[0]))
        return 0;
    u16 instruction = 0; /* int $0x80 means a 32-bit call, whoever makes it */
    bpf_probe_read_user(&instruction, sizeof instruction, (void *)at.ip - 2);
    if (at.cs == USER32_CS || instruction == INT_0X80) {
        count(OTHERS);
        return 0;
    }
    struct record *record = scratch.lookup(&zero);
    if (!record)
        return 0;
    u64 path = 0;
    record->process = id >> 32;
    record->result = ctx->args[1];
    record->directory = AT_FDCWD;
    record->flags = 0;
    record->kind = OPEN;
    switch (number) {
    case NR_OPEN:
        path = at.di;
        record->flags = at.si;
        break;
    case NR_CREAT:
        path = at.di;
        record->flags = CREAT_FLAGS;
        break;
    case NR_OPENAT:
        path = at.si;
        record->directory = at.di;
        record->flags = at.dx;
        break;
    case NR_OPENAT2:
        path = at.si;
        record->directory = at.di;
        bpf_probe_read_user(&record->flags, sizeof record->flags, (void *)at.dx);
        break;
    case NR_EXECVE:
    case NR_EXECVEAT:
        if (record->result >= 0)
            return 0; /* told where it was done */
        record->kind = EXEC;
        path = number == NR_EXECVE ? at.di : at.si;
        break;
    case NR_CONNECT:
        record->kind = CONNECT;
        connected(record, &at);
        return 0;
    default:
        return 0;
    }
    s64 length = bpf_probe_read_user_str(record->data, sizeof record->data, (void *)path);
    send(record, length > 0 ? length : 0);
    return 0;
}
