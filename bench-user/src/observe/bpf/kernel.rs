//! What the probes need to know of the running kernel before they are loaded.

use super::hook::Hook;
use super::refusal::LoadError;

/// Where the kernel keeps its type information.
pub(super) const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

/// The running kernel.
pub(super) struct Kernel {
    types: Result<btf_rs::Btf, String>,
    btf: Result<aya::Btf, String>,
    /// The hook that counts syscalls exactly here.
    pub(super) hook: Hook,
}

impl Kernel {
    /// Reads its type information, which may be missing, and its release. `hook` overrides the
    /// choice that follows the release.
    pub(super) fn read(hook: Option<Hook>) -> Self {
        let bytes = std::fs::read(KERNEL_BTF).map_err(|e| e.to_string());
        let types = bytes
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|bytes| btf_rs::Btf::from_bytes(bytes).map_err(|e| e.to_string()));
        let btf = bytes.and_then(|bytes| {
            aya::Btf::parse(&bytes, aya::Endianness::default()).map_err(|e| e.to_string())
        });
        let exact = || Hook::for_kernel(&rustix::system::uname().release().to_string_lossy());
        // Without type information only the classic tracepoint can be had.
        let found = if btf.is_ok() { exact() } else { Hook::ClassicTracePoint };
        Self { types, btf, hook: hook.unwrap_or(found) }
    }

    /// The types, to look offsets up.
    ///
    /// # Errors
    /// When the kernel has none.
    pub(super) fn types(&self) -> Result<&btf_rs::Btf, LoadError> {
        self.types.as_ref().map_err(|e| LoadError::NoBtf(e.clone()))
    }

    /// The same for aya, which attaches BTF tracepoints by them.
    ///
    /// # Errors
    /// As [`Self::types`].
    pub(super) fn btf(&self) -> Result<&aya::Btf, LoadError> {
        self.btf.as_ref().map_err(|e| LoadError::NoBtf(e.clone()))
    }
}
