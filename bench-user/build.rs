//! Puts the probes' object into the build, when there is a fresh one.
//!
//! It does not compile them: that needs tools which not every machine has (`cargo xtask setup`),
//! and `bench-user` is useful without probes too. An absent or stale object becomes an empty file,
//! and `BENCH_PROBES` (`BENCH_PROBES_LOG` for the logging build) tells the program why.

#[path = "../xtask/src/stamp.rs"]
mod stamp;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use stamp::Object;

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(required("CARGO_MANIFEST_DIR")?);
    let root = manifest.parent().unwrap_or(&manifest);
    let out = PathBuf::from(required("OUT_DIR")?);
    let sources = stamp::of_sources(root, &required("CARGO_CFG_TARGET_ARCH")?)?;

    // Cargo takes a watched path that is missing as a change at every build.
    fs::create_dir_all(stamp::dir(root))?;
    for watched in ["bench-ebpf/src", "bench-ebpf/Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo:rerun-if-changed={}", stamp::dir(root).display());
    // New files of a study get into the program too.
    println!("cargo:rerun-if-changed=studies");
    println!("cargo:rerun-if-env-changed=CARGO_TARGET_DIR");

    for (object, name, variable, remedy) in [
        (stamp::SILENT, "probes.o", "BENCH_PROBES", "cargo xtask build-ebpf"),
        (stamp::LOGGING, "probes-log.o", "BENCH_PROBES_LOG", "cargo xtask build-ebpf --probe-log"),
    ] {
        let state = match fresh(object, root, &sources) {
            Ok(bytes) => fs::write(out.join(name), bytes).map(|()| "ok".to_owned())?,
            Err(why) => {
                fs::write(out.join(name), [])?;
                format!("none: {why}; run `{remedy}` and build again")
            }
        };
        println!("cargo:rustc-env={variable}={state}");
    }
    Ok(())
}

/// The object's bytes, or in a few words why they must not be used.
fn fresh(object: Object, root: &Path, sources: &str) -> Result<Vec<u8>, &'static str> {
    let absent = "the probes were not compiled when this was built";
    let stamp = fs::read_to_string(object.stamp(root)).map_err(|_missing| absent)?;
    if stamp.trim() != sources {
        return Err("the compiled probes were older than their sources when this was built");
    }
    fs::read(object.path(root)).map_err(|_missing| absent)
}

/// A variable that cargo sets for every build script.
fn required(name: &str) -> io::Result<String> {
    env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))
}
