//! Names of io_uring's opcodes by number.

/// As `enum io_uring_op` lists them since 5.1 (include/uapi/linux/io_uring.h, 6.18), without
/// `IORING_OP_` and in lower case. The list only grows at its end.
const NAMES: [&str; 65] = [
    "nop",
    "readv",
    "writev",
    "fsync",
    "read_fixed",
    "write_fixed",
    "poll_add",
    "poll_remove",
    "sync_file_range",
    "sendmsg",
    "recvmsg",
    "timeout",
    "timeout_remove",
    "accept",
    "async_cancel",
    "link_timeout",
    "connect",
    "fallocate",
    "openat",
    "close",
    "files_update",
    "statx",
    "read",
    "write",
    "fadvise",
    "madvise",
    "send",
    "recv",
    "openat2",
    "epoll_ctl",
    "splice",
    "provide_buffers",
    "remove_buffers",
    "tee",
    "shutdown",
    "renameat",
    "unlinkat",
    "mkdirat",
    "symlinkat",
    "linkat",
    "msg_ring",
    "fsetxattr",
    "setxattr",
    "fgetxattr",
    "getxattr",
    "socket",
    "uring_cmd",
    "send_zc",
    "sendmsg_zc",
    "read_multishot",
    "waitid",
    "futex_wait",
    "futex_wake",
    "futex_waitv",
    "fixed_fd_install",
    "ftruncate",
    "bind",
    "listen",
    "recv_zc",
    "epoll_wait",
    "readv_fixed",
    "writev_fixed",
    "pipe",
    "nop128",
    "uring_cmd128",
];

/// The name of an opcode, or its number where it is newer than this list.
#[must_use]
pub(in crate::observe) fn name(number: usize) -> String {
    NAMES.get(number).map_or_else(|| format!("op_{number}"), |name| (*name).to_owned())
}

/// Whether an opcode can have this name.
#[must_use]
pub fn is_known(name: &str) -> bool {
    let number = name.strip_prefix("op_").and_then(|number| number.parse::<usize>().ok());
    NAMES.contains(&name) || number.is_some_and(|n| n < 256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_programs_are_compiled_with_have_their_names() {
        let known = [(0, "nop"), (13, "accept"), (22, "read"), (27, "recv"), (47, "send_zc")];
        for (number, expected) in known {
            assert_eq!(name(number), expected);
        }
        assert_eq!(name(120), "op_120");
        assert!(is_known("recv") && is_known("op_120") && !is_known("rcv") && !is_known("op_x"));
    }
}
