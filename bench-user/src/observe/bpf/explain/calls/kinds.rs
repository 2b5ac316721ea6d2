//! What is special about each syscall, by its name: the numbers differ between architectures.

use bench_ebpf::abi::calls::kinds;
use syscalls::Sysno;

const NEVER_RETURNS: [&str; 2] = ["exit", "exit_group"];

const FORKS: [&str; 4] = ["clone", "clone3", "fork", "vfork"];

const NO_RESULT: [&str; 1] = ["rt_sigreturn"];

const EVENTS: [&str; 12] = [
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "io_getevents",
    "io_pgetevents",
    "io_uring_enter",
    "recvmmsg",
    "sendmmsg",
];

const BYTES: [&str; 13] = [
    "read",
    "readv",
    "pread64",
    "preadv",
    "preadv2",
    "recvfrom",
    "recvmsg",
    "sendfile",
    "splice",
    "tee",
    "vmsplice",
    "copy_file_range",
    "getrandom",
];

const WRITES: [&str; 7] =
    ["write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg"];

/// The numbers of those that there are on this machine, with their kind.
pub(super) fn by_number() -> impl Iterator<Item = (u32, u32)> {
    let all: [(&[&str], u32); 6] = [
        (&NEVER_RETURNS, kinds::NEVER_RETURNS),
        (&FORKS, kinds::FORKS),
        (&NO_RESULT, kinds::NO_RESULT),
        (&EVENTS, kinds::EVENTS),
        (&BYTES, kinds::BYTES),
        (&WRITES, kinds::WRITES),
    ];
    all.into_iter().flat_map(|(names, kind)| {
        let number = |name: &&str| u32::try_from(name.parse::<Sysno>().ok()?.id()).ok();
        names.iter().filter_map(number).map(move |number| (number, kind))
    })
}

/// The kind of a number; a plain one where it has no other.
pub(super) fn of(number: u32) -> u32 {
    by_number().find(|(known, _)| *known == number).map_or(kinds::PLAIN, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_of_this_machine_or_of_an_older_table() {
        let names = [&NEVER_RETURNS[..], &FORKS, &NO_RESULT, &EVENTS, &BYTES, &WRITES].concat();
        // Tables of newer architectures leave out what has a newer form.
        let may_lack = ["fork", "vfork", "epoll_wait", "poll", "select"];
        for name in names {
            assert!(name.parse::<Sysno>().is_ok() || may_lack.contains(&name), "{name}");
        }
        assert_eq!(by_number().map(|(n, _)| n).max().map(|n| n < 512), Some(true));
    }

    #[test]
    fn a_kind_is_found_by_number() {
        assert_eq!(of(Sysno::read as u32), kinds::BYTES);
        assert_eq!(of(Sysno::sendto as u32), kinds::WRITES);
        assert_eq!(of(Sysno::getppid as u32), kinds::PLAIN);
    }
}
