//! Versions of policy documents, and which of them another document asks for.
//!
//! In: `1.2.0` of a document, `^1.2` or `1.2.0` of one that uses it. Out: [`RequiredVersion`], which says yes or no of a version.

use crate::cel::Semver;

/// The versions that a document asks for.
///
/// ```
/// use celador::manifest::version::RequiredVersion;
///
/// let required = RequiredVersion::parse("^1.2").ok_or("it is a requirement")?;
/// let admits = |version: &str| version.parse().is_ok_and(|version| required.admits(&version));
/// assert!(admits("1.2.0") && admits("1.10.3"));
/// assert!(!admits("1.1.9") && !admits("2.0.0") && !admits("1.3.0-beta"));
/// assert!(RequiredVersion::parse(">1").is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug)]
pub struct RequiredVersion {
    least: Semver,
    /// How many of the numbers have to be the same, from the first one on; nothing if the whole version has to be.
    same_numbers: Option<usize>,
}

impl RequiredVersion {
    /// `1.2.0` asks for this version; `^1.2` for it or a later one that promises to be compatible with it: one with the same first number,
    /// or, as long as that is 0, with the same first number that is not. Nothing if it is neither. Linear.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let Some(least) = text.strip_prefix('^') else {
            return Some(Self { least: text.parse().ok()?, same_numbers: None });
        };
        let written = least.split('.').count();
        let least = Semver::normalized(least).ok()?;
        let numbers = [least.major(), least.minor(), least.patch()];
        let zeros = numbers.iter().take_while(|number| **number == 0).count();
        Some(Self { same_numbers: Some(zeros.saturating_add(1).min(written).min(numbers.len())), least })
    }

    /// Whether a version will do. What comes before a release, such as `1.3.0-beta`, will do only where its three numbers are asked for.
    #[must_use]
    pub fn admits(&self, version: &Semver) -> bool {
        let numbers = |version: &Semver| [version.major(), version.minor(), version.patch()];
        let (found, least) = (numbers(version), numbers(&self.least));
        let Some(same) = self.same_numbers else { return *version == self.least };
        let [major, minor, patch] = found;
        let release: Option<Semver> = format!("{major}.{minor}.{patch}").parse().ok();
        let is_release = release.is_some_and(|release| *version == release);
        let is_compatible = found.iter().zip(&least).take(same).all(|(found, least)| found == least);
        *version >= self.least && is_compatible && (is_release || found == least)
    }
}
