//! References to files of the mount, as `file(path)` of a script gives them (SCR-05 to SCR-08): never the content.
//!
//! In: a path below the mount's prefix and its size, if somebody knows it. Out: the object `{path, mimeType, size}` that a
//! capability gets as an argument, and the summary that the model sees. A reference is data without any power of its own:
//! whoever reads one out of arguments has its path tested anew.

use super::mount_path;
use crate::cel::{Json, JsonRef, Value};
use crate::task::state::Answer;

/// A reference to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReference {
    path: String,
    size: Option<u64>,
}

/// The types of files, by what stands behind the last dot (SCR-06).
const TYPES: &[(&str, &str)] = &[
    ("aac", "audio/aac"),
    ("avi", "video/x-msvideo"),
    ("bmp", "image/bmp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("eml", "message/rfc822"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("ics", "text/calendar"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ogg", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("rtf", "application/rtf"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("tsv", "text/tab-separated-values"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// The type of a file whose name does not tell it.
const UNKNOWN: &str = "application/octet-stream";

impl FileReference {
    /// A reference to a file below the mount's prefix; `None` if the path leaves it (SCR-08).
    #[must_use]
    pub fn new(path: &str, size: Option<u64>) -> Option<Self> {
        mount_path::check(path).is_ok().then(|| Self { path: path.to_owned(), size })
    }

    /// A reference to a path that was tested, with the answer to the question for its size.
    pub(in crate::task) fn measured(path: &str, answer: &Answer) -> Self {
        let size = if let Answer::Size(size) = answer { Some(*size) } else { None };
        Self { path: path.to_owned(), size }
    }

    /// The reference that a value of arguments is, if it is one: an object with `path` and the `mimeType` that goes with it,
    /// and perhaps `size`. Models can write such objects themselves, so this is where the path is tested.
    #[must_use]
    pub fn read(value: JsonRef<'_>) -> Option<Self> {
        let size = match value.get("size").map(JsonRef::value) {
            Some(Value::Int(size)) => Some(u64::try_from(size).ok()?),
            Some(_) => return None,
            None => None,
        };
        let reference = Self::new(value.get("path")?.as_str()?, size)?;
        let members = if size.is_some() { 3 } else { 2 };
        let exact = value.len() == members && value.get("mimeType")?.as_str()? == reference.mime_type();
        exact.then_some(reference)
    }

    /// The path below the mount's prefix.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The bytes, if somebody knows them.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// The last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
    }

    /// The type that goes with the name's extension, whatever its case (SCR-06).
    #[must_use]
    pub fn mime_type(&self) -> &'static str {
        let extension = self.name().rsplit_once('.').map(|(_, extension)| extension);
        let row = extension.and_then(|it| TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(it)));
        row.map_or(UNKNOWN, |(_, mime_type)| mime_type)
    }

    /// The reference as a capability receives it: an object.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let text = |text: &str| Json::string(text);
        let mut members = vec![("path", text(&self.path)), ("mimeType", text(self.mime_type()))];
        members.extend(self.size.map(|size| ("size", Json::from(serde_json::json!(size)))));
        Json::object(members)
    }

    /// The text that the model sees: `summary.pdf (application/pdf, 1.2MB)` (SCR-07).
    #[must_use]
    pub fn summary(&self) -> String {
        let (name, mime_type) = (self.name(), self.mime_type());
        match self.size {
            Some(size) => format!("{name} ({mime_type}, {})", readable(size)),
            None => format!("{name} ({mime_type})"),
        }
    }
}

/// Bytes as people write them: one decimal, by 1024. What would be rounded up to 1024.0 is one of the next unit.
fn readable(size: u64) -> String {
    const KB: u64 = 1 << 10;
    const MB: u64 = 1 << 20;
    const GB: u64 = 1 << 30;
    match size {
        ..KB => format!("{size}B"),
        _ if size < MB - KB / 20 => tenths(size, KB, "KB"),
        _ if size < GB - MB / 20 => tenths(size, MB, "MB"),
        _ => tenths(size, GB, "GB"),
    }
}

fn tenths(size: u64, unit: u64, name: &str) -> String {
    let rounded = u128::from(size).saturating_mul(10).saturating_add(u128::from(unit) / 2);
    let tenths = rounded.checked_div(u128::from(unit)).unwrap_or_default();
    format!("{}.{}{name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::FileReference;
    use crate::cel::Json;
    use serde_json::json;

    fn summary(path: &str, size: u64) -> String {
        FileReference::new(path, Some(size)).unwrap().summary()
    }

    #[test]
    fn a_summary_names_the_file_its_type_and_its_size() {
        assert_eq!(summary("summary.pdf", 1_258_291), "summary.pdf (application/pdf, 1.2MB)");
        assert_eq!(summary("out/Photo.JPG", 1023), "Photo.JPG (image/jpeg, 1023B)");
        assert_eq!(summary("a.csv", 1024), "a.csv (text/csv, 1.0KB)");
        assert_eq!(summary("a", 1_048_575), "a (application/octet-stream, 1.0MB)");
        assert_eq!(summary("a.b/c", 1_048_000), "c (application/octet-stream, 1023.4KB)");
        assert_eq!(summary("x.zip", 5 << 30), "x.zip (application/zip, 5.0GB)");
        assert_eq!(FileReference::new("a.txt", None).unwrap().summary(), "a.txt (text/plain)");
    }

    #[test]
    fn a_reference_is_read_back_and_a_forged_path_is_none() {
        for size in [None, Some(7)] {
            let reference = FileReference::new("a/b.txt", size).unwrap();
            assert_eq!(FileReference::read(reference.to_json().root()), Some(reference));
        }
        assert_eq!(FileReference::new("../a.txt", None), None);
        for forged in [
            json!({ "path": "../a.txt", "mimeType": "text/plain" }),
            json!({ "path": "a.txt", "mimeType": "application/pdf" }),
            json!({ "path": "a.txt", "mimeType": "text/plain", "more": 1 }),
            json!({ "path": "a.txt", "mimeType": "text/plain", "size": -1 }),
            json!("a.txt"),
        ] {
            assert_eq!(FileReference::read(Json::from(forged).root()), None);
        }
    }
}
