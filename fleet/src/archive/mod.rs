//! Transcripts of ended loops outside the database: in a directory that all machines see, or on an S3 server.
//!
//! An object is one file of a turn, `LOOP/TURN/FILE`; what is larger than a part goes on in `FILE.2`, `FILE.3`. The database names
//! the place and the size of each file, and forgets the content only after all of it was written.

mod keeper;
mod s3;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use reqwest::Url;

use self::s3::{Bucket, Login};
use crate::worker::Failure;

pub(crate) use self::keeper::Keeper;

/// The variables with the login of an S3 server: key ID, secret, and the token of a login that ends by itself.
pub(crate) const LOGIN: [&str; 3] =
    ["WINDLASS_FLEET_ARCHIVE_KEY_ID", "WINDLASS_FLEET_ARCHIVE_SECRET", "WINDLASS_FLEET_ARCHIVE_TOKEN"];
/// The most in one object, which is as much as is in memory at a time.
pub(crate) const PART: usize = 64 << 20;

/// Where an archive is, as people write it and as the database has it. It holds no login.
#[derive(Debug, Clone)]
pub struct Archive {
    text: String,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Dir(PathBuf),
    S3(Bucket),
}

impl Archive {
    /// `file:///DIR`, or `s3://BUCKET/PREFIX` with `?region=REGION` and `&endpoint=URL` if need be.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| -> Failure {
            format!("--archive {text}: {why}\nhint: use file:///DIR or s3://BUCKET/PREFIX?region=REGION&endpoint=URL")
                .into()
        };
        let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        let place = match url.scheme() {
            "file" => Place::Dir(url.to_file_path().map_err(|()| wrong("is no absolute directory"))?),
            "s3" => {
                let bucket =
                    url.host_str().filter(|bucket| !bucket.is_empty()).ok_or_else(|| wrong("names no bucket"))?;
                if !url.username().is_empty() || url.password().is_some() {
                    return Err(wrong("the login belongs in the environment"));
                }
                let (mut region, mut endpoint) = ("us-east-1".to_owned(), None);
                for (key, value) in url.query_pairs() {
                    match &*key {
                        "region" => region = value.into_owned(),
                        "endpoint" => endpoint = Some(value.into_owned()),
                        _ => return Err(wrong(&format!("'{key}' is not recognized"))),
                    }
                }
                let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
                let prefix = url.path().trim_matches('/');
                let slash = if prefix.is_empty() { "" } else { "/" };
                let at = format!("{}/{bucket}/{prefix}{slash}", endpoint.trim_end_matches('/'));
                Place::S3(Bucket { url: Url::parse(&at).map_err(|error| wrong(&error.to_string()))?, region })
            }
            other => return Err(wrong(&format!("'{other}' is not recognized"))),
        };
        Ok(Self { text: text.to_owned(), place })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Writes an object, or the same one again.
    pub async fn put(&self, key: &str, content: Vec<u8>) -> Result<(), Failure> {
        match &self.place {
            Place::Dir(dir) => {
                let path = dir.join(key);
                Ok(tokio::task::spawn_blocking(move || write_whole(&path, &content)).await??)
            }
            Place::S3(bucket) => bucket.put(key, content, &Login::from_env()?).await,
        }
    }

    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        match &self.place {
            Place::Dir(dir) => {
                let path = dir.join(key);
                match tokio::task::spawn_blocking(move || std::fs::read(path)).await? {
                    Ok(content) => Ok(Some(content)),
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(error.into()),
                }
            }
            Place::S3(bucket) => bucket.get(key, &Login::from_env()?).await,
        }
    }

    pub async fn remove(&self, key: &str) -> Result<(), Failure> {
        match &self.place {
            Place::Dir(dir) => match std::fs::remove_file(dir.join(key)) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
                Ok(()) | Err(_) => Ok(()),
            },
            Place::S3(bucket) => bucket.remove(key, &Login::from_env()?).await,
        }
    }
}

/// The objects of a file of this size.
pub(crate) fn parts(loop_id: &str, turn: &str, file: &str, size: u64) -> Vec<String> {
    let count = size.div_ceil(PART as u64).max(1);
    let name = |number: u64| if number == 1 { String::new() } else { format!(".{number}") };
    (1..=count).map(|number| format!("{loop_id}/{turn}/{file}{}", name(number))).collect()
}

/// A reader finds all of it or nothing, also after a crash.
fn write_whole(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(path);
    std::fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    std::io::Write::write_all(&mut file, content)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
