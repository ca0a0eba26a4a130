//! Bodies of requests that a client has compressed.
//!
//! In: the header that says how, and the bytes. Out: the bytes as they were before. What is decoded has the same bound as a body that was not
//! compressed. The request goes on as it is judged, so it is not compressed again.

use super::asking::Obstacle;
use super::messages;
use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use std::io::Read;

/// How a body is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// How the body of a request is coded; nothing if it is in a way that is not known, or in several.
pub(super) fn coding(headers: &HeaderMap) -> Option<Coding> {
    let mut named = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(name) = named.next() else { return Some(Coding::Identity) };
    if named.next().is_some() {
        return None;
    }
    Some(match &*name.to_str().ok()?.trim().to_ascii_lowercase() {
        "identity" => Coding::Identity,
        "gzip" | "x-gzip" => Coding::Gzip,
        "deflate" => Coding::Deflate,
        "br" => Coding::Brotli,
        "zstd" => Coding::Zstd,
        _ => return None,
    })
}

/// The body as it was before it was coded.
pub(super) async fn decoded(coding: Coding, body: Bytes, most: usize) -> Result<Bytes, Obstacle> {
    if coding == Coding::Identity {
        return Ok(body);
    }
    // it takes as long as the sender likes, within the bound
    let read = tokio::task::spawn_blocking(move || decode(coding, &body, most)).await;
    match read {
        Ok(Ok(body)) if body.len() <= most => Ok(body.into()),
        Ok(Ok(_)) => Err(Obstacle::new(413, messages::too_large(most))),
        _ => Err(Obstacle::new(400, messages::not_decoded())),
    }
}

/// The bytes, at most one more than the bound.
fn decode(coding: Coding, body: &[u8], most: usize) -> std::io::Result<Vec<u8>> {
    let all = |reader: &mut dyn Read| {
        let mut bytes = Vec::new();
        let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        reader.take(most).read_to_end(&mut bytes).map(|_| bytes)
    };
    match coding {
        Coding::Identity => Ok(body.to_vec()),
        Coding::Gzip => all(&mut flate2::read::MultiGzDecoder::new(body)),
        // what is called deflate is the format of zlib; some send it without its frame
        Coding::Deflate => all(&mut flate2::read::ZlibDecoder::new(body))
            .or_else(|_| all(&mut flate2::read::DeflateDecoder::new(body))),
        Coding::Brotli => all(&mut brotli_decompressor::Decompressor::new(body, 4_096)),
        Coding::Zstd => {
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(body).map_err(std::io::Error::other)?;
            all(&mut decoder)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Coding, decode};
    use std::io::Write as _;

    #[test]
    fn what_was_compressed_is_read_and_no_more_than_the_bound() {
        let text = "a text that comes again ".repeat(100);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(text.as_bytes()).unwrap();
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        deflate.write_all(text.as_bytes()).unwrap();
        let zstd =
            ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
        for (coding, body) in [
            (Coding::Gzip, gzip.finish().unwrap()),
            (Coding::Deflate, zlib.finish().unwrap()),
            (Coding::Deflate, deflate.finish().unwrap()),
            (Coding::Zstd, zstd),
        ] {
            assert_eq!(decode(coding, &body, 1 << 20).unwrap(), text.as_bytes(), "{coding:?}");
            assert_eq!(decode(coding, &body, 10).unwrap().len(), 11, "{coding:?}");
            assert!(decode(coding, &body[..body.len() / 2], 1 << 20).is_err(), "{coding:?}: cut off");
        }
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            assert!(decode(coding, b"no such thing", 100).is_err(), "{coding:?}");
        }
    }
}
