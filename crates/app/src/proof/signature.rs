//! Signatures of proofs, made and checked with ssh keys as git does.
//!
//! The signature is a file beside the proof, over its very bytes, so `ssh-keygen -Y verify` checks it without Windlass.

use std::path::Path;

use windlass_engine::engine::Engine;
use windlass_workspace::{Signed, SigningError, Workspaces};

use super::verify::{Agreement, Lines};
use crate::context::Context;
use crate::problem::{Kind, Problem};

/// What a signature is for, so that one of a commit or of a mail proves nothing here.
pub const PURPOSE: &str = "windlass-proof";

/// A proof's signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofSignature {
    /// What belongs into the file beside the proof.
    pub text: String,
    /// The key, by its kind and fingerprint.
    pub key: String,
}

impl From<SigningError> for Problem {
    fn from(error: SigningError) -> Self {
        let refused = matches!(error, SigningError::Refused { .. });
        let code = if refused { Kind::Refused } else { Kind::Failed };
        Problem::of(code, &error, error.hint())
    }
}

/// Signs a proof on this machine, whichever one wrote it: with this key, or with the one that the user's git signs with.
pub async fn sign_proof(context: &Context, key: Option<&str>, proof: &str) -> Result<ProofSignature, Problem> {
    let workspaces = context.workspaces()?;
    let key = match key {
        Some(key) => key.to_owned(),
        None => workspaces.signing_key(&context.cwd).await?.ok_or_else(no_key)?,
    };
    let text = workspaces.sign(&context.cwd, &key, PURPOSE, proof.as_bytes()).await?;
    match workspaces.check_signature(PURPOSE, proof.as_bytes(), text.as_bytes(), None).await? {
        Signed::Stranger { key } | Signed::By { key, .. } => Ok(ProofSignature { text, key }),
        Signed::Wrong => Err(Problem::new(Kind::Failed, format!("the signature made with {key} does not match"))
            .hint("sign with another key: --key FILE")),
    }
}

fn no_key() -> Problem {
    Problem::refused(
        "no ssh key to sign with: git is not set up to sign with one",
        "pass a key with --key FILE, or configure one: git config --global gpg.format ssh && git config --global user.signingkey FILE",
    )
}

/// What a verification is given of signatures.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) proof: &'a str,
    pub(super) signature: Option<&'a str>,
    /// Whom to believe, as `ssh-keygen` reads it.
    pub(super) allowed: Option<&'a str>,
}

/// Adds the line about the signature.
pub(super) async fn check(engine: &Engine, root: &Path, given: &Given<'_>, lines: &mut Lines) -> Result<(), Problem> {
    const WHAT: &str = "signature";
    let Some(signature) = given.signature else {
        match given.allowed {
            // It may have been taken away.
            Some(_) => lines.add(WHAT, Agreement::Differs, "the proof is not signed"),
            None => lines.add(WHAT, Agreement::NotChecked, "the proof is not signed"),
        }
        return Ok(());
    };
    let (allowed, place) = match given.allowed {
        Some(text) => (Some(text.as_bytes().to_vec()), "the allowed signers".to_owned()),
        None => configured(&engine.workspaces, root).await?,
    };
    let found =
        engine.workspaces.check_signature(PURPOSE, given.proof.as_bytes(), signature.as_bytes(), allowed.as_deref());
    match found.await? {
        Signed::By { principal, key } => {
            lines.add(WHAT, Agreement::Agrees, format!("signed by {principal} with {key}"))
        }
        Signed::Stranger { key } if allowed.is_none() => lines.add(
            WHAT,
            Agreement::NotChecked,
            format!("it matches, but the owner of {key} is unknown; use --allowed-signers FILE"),
        ),
        Signed::Stranger { key } => {
            lines.add(WHAT, Agreement::Differs, format!("{key} is not allowed to sign proofs by {place}"));
        }
        Signed::Wrong => {
            lines.add(WHAT, Agreement::Differs, "it does not fit: the proof or the signature was changed");
        }
    }
    Ok(())
}

/// Whom the user's git believes, with the name of the file.
async fn configured(workspaces: &Workspaces, root: &Path) -> Result<(Option<Vec<u8>>, String), Problem> {
    let Some(file) = workspaces.allowed_signers_file(root).await? else { return Ok((None, String::new())) };
    let text = std::fs::read(&file).map_err(|error| {
        Problem::refused(
            format!("cannot read the allowed signers in {}: {error}", file.display()),
            "give another file with --allowed-signers, or correct git's gpg.ssh.allowedSignersFile",
        )
    })?;
    Ok((Some(text), file.display().to_string()))
}
