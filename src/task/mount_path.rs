//! Paths below a mount (MNT-07, MNT-08): whether one stays there.
//!
//! Refused are `../` and a segment `..` in any form, a path from the root, backslashes and NUL, and the empty path, which
//! names no file. Nothing is cleaned up: a path that has to be cleaned is refused.

/// Whether a path names something below the mount's prefix, whatever a backend makes of it.
#[must_use]
pub(super) fn is_inside(path: &str) -> bool {
    let climbs = path.contains("../") || path.split('/').any(|segment| segment == "..");
    let foreign = path.starts_with('/') || path.contains(['\\', '\0']);
    !path.is_empty() && !climbs && !foreign
}

#[cfg(test)]
mod tests {
    use super::is_inside;

    #[test]
    fn only_paths_that_stay_inside_are_let_through() {
        for path in ["a", "a/b.txt", "_memory/k", "a/..b", "a..b/c", "...", "a/./b"] {
            assert!(is_inside(path), "{path}");
        }
        for path in ["", "..", "../a", "a/..", "a/../b", "x../y", "/etc/passwd", "a\\..", "a\0"] {
            assert!(!is_inside(path), "{path}");
        }
    }
}
