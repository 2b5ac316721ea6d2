//! The rules of a target that is a container of an image.

use std::path::Path;

use super::{ensure, refuse};
use crate::plan::{PlanError, TargetSpec};

/// Checks what only an `image` can have, and what it must not.
pub(super) fn check(spec: &TargetSpec, what: &str) -> Result<(), PlanError> {
    let Some(image) = &spec.image else {
        return ensure(spec.volumes.is_empty(), || {
            format!("{what} has `volumes` without `image`: take them out")
        });
    };
    ensure(!image.trim().is_empty(), || {
        format!("{what} has an empty `image`: name a local one, such as \"web:1.0\"")
    })?;
    if let Some(dir) = spec.dir.as_deref().filter(|dir| !dir.is_absolute()) {
        return refuse(format!(
            "{what} has the `dir` {}, which is a folder inside of its container: begin it with /",
            dir.display()
        ));
    }
    match spec.volumes.iter().find(|volume| !is_volume(volume)) {
        Some(volume) => refuse(format!(
            "{what} has the volume \"{volume}\": write it as /host/path:/path, both from the root, \
             with :ro behind it where the container may not write"
        )),
        None => Ok(()),
    }
}

/// Two absolute paths, and perhaps the word that it is for reading only.
fn is_volume(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let are_absolute = |paths: &[&str]| paths.iter().all(|path| Path::new(path).is_absolute());
    match &parts[..] {
        [paths @ .., "ro"] if paths.len() == 2 => are_absolute(paths),
        [_, _] => are_absolute(&parts),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::validate::{Purpose, target};

    fn said(toml: &str) -> Result<(), String> {
        let text = format!("[[target]]\nname = \"t\"\nurl = \"http://127.0.0.1:1/\"\n{toml}");
        let mut plan = crate::plan::file::parse(&text, "the plan").unwrap();
        target(&plan.targets.remove(0), Purpose::Load).map_err(|error| error.to_string())
    }

    #[test]
    fn an_image_may_have_a_command_and_all_that_is_started_may_have() {
        said(
            "image = \"web:1\"\ncommand = [\"/server\"]\nengine = \"docker\"\ndir = \"/srv\"\n\
             env = { A = \"1\" }\ncpus = 0.5\ncpuset = \"0\"\nmemory = \"64MiB\"\n\
             volumes = [\"/a:/b\", \"/a b:/c:ro\"]",
        )
        .unwrap();
        said("image = \"web\"").unwrap();
    }

    #[test]
    fn what_is_inside_of_a_container_is_named_from_its_root() {
        let sentence = "target \"t\" has the `dir` srv, which is a folder inside of its container: \
                        begin it with /";
        assert_eq!(said("image = \"web\"\ndir = \"srv\"").unwrap_err(), sentence);
        for volume in ["/a", "a:/b", "/a:b", "/a:/b:rw", "/a:/b:/c", "/a:/b:ro:ro", ""] {
            let error = said(&format!("image = \"web\"\nvolumes = [\"{volume}\"]")).unwrap_err();
            let begin = format!("target \"t\" has the volume \"{volume}\": write it as /host/path");
            assert!(error.starts_with(&begin), "{error}");
        }
    }

    #[test]
    fn a_key_of_an_image_stands_only_beside_one() {
        let sentence = "target \"t\" has `volumes` without `image`: take them out";
        assert_eq!(said("pid = 1\nvolumes = [\"/a:/b\"]").unwrap_err(), sentence);
        assert!(said("image = \" \"").unwrap_err().contains("empty `image`"));
        let error = said("image = \"web\"\nadopt = true").unwrap_err();
        assert!(error.contains("cannot be adopted"), "{error}");
    }
}
