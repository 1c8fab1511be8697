//! `windlass proof` and `windlass verify`.

use std::io::Read;
use std::path::Path;

use windlass_app::{Agreement, App, Checked, ProveLoop, VerifyReport, VerifyWork, markdown};

use crate::args::{ProofArgs, ProofFormat, VerifyArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::{print, project};
use crate::style::{Style, one_line, short};

pub async fn proof(app: &App, args: &ProofArgs) -> Result<Exit, Failure> {
    let found = app.find(args.name.get()).await?;
    let statement = app.run(ProveLoop { id: found.id }).await?;
    let text = match args.format {
        ProofFormat::Markdown => markdown(&statement),
        ProofFormat::Json => format!("{:#}\n", serde_json::json!(statement)),
    };
    match &args.output {
        Some(file) => {
            std::fs::write(file, text).map_err(|error| {
                Failure::usage(format!("cannot write {}: {error}", file.display()), "choose another with --output")
            })?;
            eprintln!("{}: proof of {} in {}", found.name, short(&statement.predicate.head.commit), file.display());
        }
        None => print(&text),
    }
    Ok(Exit::Completed)
}

pub async fn verify(app: &App, dir: Option<&Path>, args: &VerifyArgs) -> Result<Exit, Failure> {
    let project = project(app, dir)?;
    let wanted = VerifyWork { project, no_gates: args.no_gates, agreed: args.yes, ..VerifyWork::default() };
    let path = Path::new(&args.what);
    let mut report = if args.what == "-" || path.is_file() {
        app.run(VerifyWork { proof: Some(text_of(path)?), ..wanted }).await?
    } else {
        app.run(VerifyWork { commit: Some(args.what.clone()), ..wanted }).await?
    };
    if args.json {
        print(&format!("{}\n", serde_json::json!(report)));
    } else {
        report.lines.iter_mut().for_each(|line| line.detail = one_line(&line.detail, 400));
        print(&shown(&report, Style::for_stdout()));
    }
    Ok(if report.agrees { Exit::Completed } else { Exit::Failed })
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text),
        false => std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()), "give the file of a proof")
    })?;
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
        0 => format!("{}: everything that was checked agrees\n", report.r#loop),
        1 => format!("{}: 1 thing differs\n", report.r#loop),
        _ => format!("{}: {differ} things differ\n", report.r#loop),
    });
    text
}
