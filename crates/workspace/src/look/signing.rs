//! Signatures with the user's ssh key, as git makes them: `ssh-keygen -Y`.

use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::Workspaces;
use crate::git::ssh::{self, Ran};
use crate::git::{Git, GitError};

/// How literal keys in git's settings start.
const LITERAL: [&str; 4] = ["key::", "ssh-", "ecdsa-", "sk-"];

/// Why something could not be signed or checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SigningError {
    #[error("ssh-keygen was not found")]
    NoProgram,
    #[error("cannot sign with the key {key}: {said}")]
    Refused { key: String, said: String },
    #[error("cannot run {}", .program.display())]
    Start {
        program: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot write a temporary file")]
    File(#[source] std::io::Error),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl SigningError {
    /// The way out, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoProgram => Some("install OpenSSH 8.2 or later".to_owned()),
            Self::Refused { .. } => {
                Some("name a private key with --key, or a public key whose private key ssh-agent has".to_owned())
            }
            Self::Start { .. } | Self::File(_) => None,
            Self::Git(error) => error.hint(),
        }
    }
}

/// What is known of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// By this principal of the allowed signers.
    By { principal: String, key: String },
    /// The signature fits, but nobody who is allowed has this key.
    Stranger { key: String },
    /// The text or the signature was changed, or it was signed for another purpose.
    Wrong,
}

impl Workspaces {
    /// The ssh key with which the user's git signs in this directory, if it signs with one.
    pub async fn signing_key(&self, dir: &Path) -> Result<Option<String>, SigningError> {
        match self.setting(dir, "gpg.format").await?.as_deref() {
            Some("ssh") => self.setting(dir, "user.signingKey").await,
            Some(_) | None => Ok(None),
        }
    }

    /// The file in which the user's git looks up who may sign.
    pub async fn allowed_signers_file(&self, dir: &Path) -> Result<Option<PathBuf>, SigningError> {
        // Git reads a relative path from the top of the checkout.
        let top = self.project_root(dir).await.ok().unwrap_or_else(|| dir.to_owned());
        Ok(self.setting(dir, "gpg.ssh.allowedSignersFile").await?.map(|file| top.join(file)))
    }

    async fn setting(&self, dir: &Path, key: &str) -> Result<Option<String>, SigningError> {
        let git = Git::discover(self.host.clone(), dir);
        let output = git.call(&["config", "--includes", "--type=path", "--get", key]).answers(&[1]).run().await?;
        let value = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
        Ok((output.code == 0 && !value.is_empty()).then_some(value))
    }

    /// Signs a text for a purpose; the signature is text too. The key is a path, seen from `dir`, or a literal public key.
    pub async fn sign(&self, dir: &Path, key: &str, purpose: &str, text: &[u8]) -> Result<String, SigningError> {
        // Only from the user's own settings: the repository does not choose which program runs.
        let git = Git::discover(self.host.clone(), "/");
        let args = ["config", "--global", "--includes", "--type=path", "--get", "gpg.ssh.program"];
        let wished = git.call(&args).answers(&[1, 128]).run().await?;
        let wished = String::from_utf8_lossy(&wished.stdout).trim_end().to_owned();
        let program = ssh::program(&self.host, Some(wished.as_str()).filter(|name| !name.is_empty()));
        let program = program.ok_or(SigningError::NoProgram)?;
        let literal = LITERAL.iter().any(|start| key.starts_with(start));
        let own = literal.then(|| temporary(key.trim_start_matches("key::").as_bytes())).transpose()?;
        let path = own.as_ref().map_or_else(|| dir.join(key), |file| file.path().to_owned());
        let path = path.to_string_lossy();
        let mut args = vec!["-Y", "sign", "-n", purpose, "-f", &path];
        if literal {
            // The private key is the agent's.
            args.push("-U");
        }
        let ran = ssh::run(&self.host, &program, &args, text).await;
        let ran = ran.map_err(|source| SigningError::Start { program, source })?;
        if ran.passed && !ran.stdout.is_empty() {
            return Ok(ran.stdout);
        }
        let said =
            ran.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned();
        Err(SigningError::Refused { key: key.to_owned(), said })
    }

    /// Checks a signature of a text, and finds out who of the allowed signers made it. Without a list nobody is known.
    pub async fn check_signature(
        &self,
        purpose: &str,
        text: &[u8],
        signature: &[u8],
        allowed: Option<&[u8]>,
    ) -> Result<Signed, SigningError> {
        let signature = temporary(signature)?;
        let signature = signature.path().to_string_lossy().into_owned();
        let args = ["-Y", "check-novalidate", "-n", purpose, "-s", &signature];
        let ran = self.keygen(&args, text).await?;
        let (true, Some(key)) = (ran.passed, key_of(&ran.stdout)) else { return Ok(Signed::Wrong) };
        let Some(allowed) = allowed else { return Ok(Signed::Stranger { key }) };
        let allowed = temporary(allowed)?;
        let allowed = allowed.path().to_string_lossy().into_owned();
        let found = self.keygen(&["-Y", "find-principals", "-s", &signature, "-f", &allowed], &[]).await?;
        for principal in found.stdout.lines().filter(|line| found.passed && !line.is_empty()) {
            let args = ["-Y", "verify", "-n", purpose, "-s", &signature, "-f", &allowed, "-I", principal];
            if self.keygen(&args, text).await?.passed {
                return Ok(Signed::By { principal: principal.to_owned(), key });
            }
        }
        Ok(Signed::Stranger { key })
    }

    async fn keygen(&self, args: &[&str], input: &[u8]) -> Result<Ran, SigningError> {
        let program = ssh::program(&self.host, None).ok_or(SigningError::NoProgram)?;
        ssh::run(&self.host, &program, args, input).await.map_err(|source| SigningError::Start { program, source })
    }
}

/// `ED25519 key SHA256:…` from `Good "purpose" signature with ED25519 key SHA256:…`.
fn key_of(said: &str) -> Option<String> {
    let line = said.lines().find(|line| line.starts_with("Good "))?;
    line.rsplit_once(" with ").map(|(_, key)| key.trim().to_owned())
}

/// A file that only the user can read, gone with the value.
fn temporary(content: &[u8]) -> Result<NamedTempFile, SigningError> {
    let mut file = NamedTempFile::with_prefix("windlass-").map_err(SigningError::File)?;
    file.write_all(content).and_then(|()| file.flush()).map_err(SigningError::File)?;
    Ok(file)
}
