//! `windlass proof` and `windlass verify`.

use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_app::{
    Agreement, App, Checked, Context, ProveLoop, VerifyReport, VerifyWork, markdown, proof_text, sign_proof,
};

use crate::args::{ProofArgs, ProofFormat, VerifyArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::given::project;
use crate::style::{Style, json_line, one_line, short};
use crate::terminal::print;

pub async fn proof(app: &App, args: &ProofArgs) -> Result<Exit, Failure> {
    if args.sign && args.format == ProofFormat::Markdown {
        return Err(Failure::usage("the Markdown of a proof cannot be checked", "sign the JSON: leave out --format"));
    }
    let found = app.find(args.name.get()).await?;
    let statement = app.run(ProveLoop { id: found.id }).await?;
    let text = match args.format {
        ProofFormat::Markdown => markdown(&statement),
        ProofFormat::Json => proof_text(&statement),
    };
    let Some(file) = &args.output else {
        print(&text);
        return Ok(Exit::Completed);
    };
    // The key is that of whoever asks, also if a server wrote the proof.
    let signature = match (args.sign, app) {
        (true, App::Here(local)) => Some(sign_proof(&local.context, args.key.as_deref(), &text).await?),
        (true, App::There(_)) => Some(sign_proof(&Context::new(None)?, args.key.as_deref(), &text).await?),
        (false, _) => None,
    };
    write(file, &text)?;
    let commit = short(&statement.predicate.head.commit);
    match &signature {
        Some(signature) => {
            let sig = beside(file);
            write(&sig, &signature.text)?;
            eprintln!(
                "{}: proof of {commit} in {}, signed with {} in {}",
                found.name,
                file.display(),
                signature.key,
                sig.display()
            );
        }
        None => eprintln!("{}: proof of {commit} in {}", found.name, file.display()),
    }
    Ok(Exit::Completed)
}

/// Where the signature of a proof is.
fn beside(proof: &Path) -> PathBuf {
    let mut name = proof.as_os_str().to_owned();
    name.push(".sig");
    PathBuf::from(name)
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).map_err(|error| unwritable(file, &error))
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot write {}: {error}", file.display()), "choose another path with --output")
}

pub async fn verify(app: &App, dir: Option<&Path>, args: &VerifyArgs) -> Result<Exit, Failure> {
    let project = project(app, dir)?;
    let wanted = VerifyWork { project, no_gates: args.no_gates, agreed: args.yes, ..VerifyWork::default() };
    let path = Path::new(&args.what);
    let request = if args.what == "-" || path.is_file() {
        let sig = args.signature.clone().or_else(|| Some(beside(path)).filter(|sig| sig.is_file()));
        VerifyWork {
            proof: Some(text_of(path, "pass a proof file")?),
            signature: sig.map(|sig| text_of(&sig, "give the signature of the proof with --signature")).transpose()?,
            allowed_signers: match &args.allowed_signers {
                Some(file) => Some(text_of(file, "give a file of allowed signers, as ssh-keygen reads it")?),
                None => None,
            },
            ..wanted
        }
    } else if args.signature.is_some() || args.allowed_signers.is_some() {
        return Err(Failure::usage(
            format!("{} is not a file, and only the file of a proof can be signed", args.what),
            "give the file that `windlass proof NAME --output FILE --sign` wrote",
        ));
    } else {
        VerifyWork { commit: Some(args.what.clone()), ..wanted }
    };
    let mut report = app.run(request).await?;
    if args.json {
        print(&json_line(&serde_json::json!(report)));
    } else {
        report.lines.iter_mut().for_each(|line| line.detail = one_line(&line.detail, 400));
        print(&shown(&report, Style::for_stdout()));
    }
    Ok(if report.agrees { Exit::Completed } else { Exit::Failed })
}

fn text_of(path: &Path, hint: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text),
        false => std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display()), hint))?;
    Ok(text)
}

fn shown(report: &VerifyReport, style: Style) -> String {
    let mut text = String::new();
    for Checked { what, agreement, detail } in &report.lines {
        let mark = match agreement {
            Agreement::Agrees => style.good("✓"),
            Agreement::Differs => style.bad("✗"),
            Agreement::NotChecked => style.dim("-"),
        };
        text.push_str(&format!("{mark} {}: {detail}\n", one_line(what, 120)));
    }
    let differ = report.lines.iter().filter(|line| line.agreement == Agreement::Differs).count();
    text.push_str(&match differ {
        0 => format!("{}: all checks passed\n", report.r#loop),
        1 => format!("{}: 1 check failed\n", report.r#loop),
        _ => format!("{}: {differ} checks failed\n", report.r#loop),
    });
    text
}
