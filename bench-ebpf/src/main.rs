//! The object that the kernel loads; on any other target an empty program.

#![cfg_attr(target_arch = "bpf", no_std, no_main, feature(asm_experimental_arch))]
#![cfg_attr(
    target_arch = "bpf",
    expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "words are cut to what they hold; a conversion that can fail is a branch that the \
                  verifier follows at every event"
    ),
    expect(
        clippy::needless_borrows_for_generic_args,
        reason = "a value that is handed over is copied onto the stack, which has 512 bytes"
    )
)]

#[cfg(target_arch = "bpf")]
mod compiler;
#[cfg(target_arch = "bpf")]
mod filter;
#[cfg(target_arch = "bpf")]
mod maps;
#[cfg(target_arch = "bpf")]
mod probes;
#[cfg(target_arch = "bpf")]
mod seqlock;
#[cfg(target_arch = "bpf")]
mod task;

#[cfg(not(target_arch = "bpf"))]
fn main() {}

#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // The verifier refuses a program in which a panic can be reached.
    loop {}
}

/// GPL-compatible, as the tracing helpers demand.
#[cfg(target_arch = "bpf")]
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
