//! Where a container engine may listen on this machine. Nothing is connected to here.

use std::fmt;
use std::path::{Path, PathBuf};

const DOCKER: &str = "/var/run/docker.sock";
const PODMAN: &str = "/run/podman/podman.sock";

/// A place where an engine may listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A unix socket.
    Socket(PathBuf),
    /// What a variable names is none: it may be on another machine.
    Elsewhere {
        /// The variable.
        variable: &'static str,
        /// What it names.
        address: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Elsewhere { variable, address } => write!(f, "{variable}={address}"),
        }
    }
}

/// What the environment says of engines, by the name of a variable.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process; an empty variable is none.
#[must_use]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Where Docker listens: at `DOCKER_HOST`, else at its usual place.
#[must_use]
pub fn docker(variables: Variables<'_>) -> Vec<Place> {
    let named = named_by("DOCKER_HOST", variables);
    vec![named.unwrap_or_else(|| Place::Socket(DOCKER.into()))]
}

/// Where Podman listens: at `CONTAINER_HOST`, else at one of its usual places.
#[must_use]
pub fn podman(variables: Variables<'_>) -> Vec<Place> {
    match named_by("CONTAINER_HOST", variables) {
        Some(named) => vec![named],
        None => [Place::Socket(PODMAN.into())].into_iter().chain(users(variables)).collect(),
    }
}

/// Where any engine listens, most wanted first: at the variables, then at the usual places.
#[must_use]
pub fn all(variables: Variables<'_>) -> Vec<Place> {
    let named = ["DOCKER_HOST", "CONTAINER_HOST"].map(|name| named_by(name, variables));
    let usual = [DOCKER, PODMAN].map(|path| Place::Socket(path.into()));
    named.into_iter().flatten().chain(usual).chain(users(variables)).collect()
}

/// A socket as people write it, a path or `unix://` and a path; `None` for an address that is none.
#[must_use]
pub fn socket(address: &str) -> Option<PathBuf> {
    match address.strip_prefix("unix://") {
        Some(path) => Some(path.into()),
        None => (!address.contains("://")).then(|| address.into()),
    }
}

fn named_by(variable: &'static str, variables: Variables<'_>) -> Option<Place> {
    let address = variables(variable)?;
    Some(socket(&address).map_or(Place::Elsewhere { variable, address }, Place::Socket))
}

/// Podman's of the user: under sudo the variable is gone, but the user's own engine is not.
fn users(variables: Variables<'_>) -> Option<Place> {
    let folder = variables("XDG_RUNTIME_DIR")
        .or_else(|| variables("SUDO_UID").map(|uid| format!("/run/user/{uid}")))?;
    Some(Place::Socket(Path::new(&folder).join("podman/podman.sock")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of one of the lists in an environment, as text.
    fn places(list: fn(Variables<'_>) -> Vec<Place>, environment: &[(&str, &str)]) -> Vec<String> {
        let variables = |name: &str| {
            let found = environment.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        list(&variables).iter().map(Place::to_string).collect()
    }

    #[test]
    fn variables_come_before_the_usual_places() {
        assert_eq!(places(all, &[]), [DOCKER, PODMAN]);
        let everything = [
            ("CONTAINER_HOST", "/p.sock"),
            ("DOCKER_HOST", "unix:///d.sock"),
            ("XDG_RUNTIME_DIR", "/run/user/7"),
        ];
        let users = "/run/user/7/podman/podman.sock";
        assert_eq!(places(all, &everything), ["/d.sock", "/p.sock", DOCKER, PODMAN, users]);
        assert_eq!(places(docker, &everything), ["/d.sock"]);
        assert_eq!(places(podman, &everything), ["/p.sock"]);
    }

    #[test]
    fn the_users_own_podman_is_found_under_sudo_too() {
        let users = "/run/user/1000/podman/podman.sock";
        assert_eq!(places(podman, &[("SUDO_UID", "1000")]), [PODMAN, users]);
        assert_eq!(places(docker, &[("SUDO_UID", "1000")]), [DOCKER]);
    }

    #[test]
    fn what_is_no_socket_keeps_the_name_of_its_variable_and_hides_no_other_place() {
        let remote = [("CONTAINER_HOST", "ssh://core@host/podman.sock")];
        let elsewhere = "CONTAINER_HOST=ssh://core@host/podman.sock";
        assert_eq!(places(all, &remote), [elsewhere, DOCKER, PODMAN]);
        assert_eq!(places(podman, &remote), [elsewhere]);
        assert_eq!(places(docker, &remote), [DOCKER]);
    }
}
