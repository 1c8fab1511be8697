import clsx from "clsx";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Cross, Eye, Message, Warn } from "../ui/icons";
import { Button, IconButton } from "../ui/primitives";
import { placeWords, type Comment, type Finding, type Note, type Place } from "./notes";

interface Props {
  note: Note;
  onCancel: () => void;
  onSave: (place: Place, text: string) => void;
  onRemove: (id: string) => void;
}

export function NoteView({ note, onCancel, onSave, onRemove }: Props) {
  switch (note.type) {
    case "finding":
      return <FindingNote finding={note.finding} />;
    case "comment":
      return <CommentNote comment={note.comment} onRemove={onRemove} />;
    case "editor":
      return <Editor place={note.place} onCancel={onCancel} onSave={onSave} />;
  }
}

const BOX = "my-1 mx-2 max-w-3xl rounded-md border bg-panel px-3 py-2 font-sans text-sm whitespace-normal text-ink";

function FindingNote({ finding }: { finding: Finding }) {
  const { t } = useTranslation();
  const bug = finding.severity === "bug";
  return (
    <div data-note="finding" className={clsx(BOX, "border-l-4", bug ? "border-bad" : "border-wait")}>
      <p className={clsx("flex items-center gap-1.5 text-xs font-semibold", bug ? "text-bad" : "text-wait")}>{bug ? <Eye className="size-3.5" /> : <Warn className="size-3.5" />}{t(`severity.${finding.severity}`)}{finding.line ? <span className="font-normal text-soft">{finding.file}:{finding.line}</span> : null}<span className="ml-auto font-mono font-normal text-faint">{String(finding.id)}</span></p>
      <p className="mt-1 break-words whitespace-pre-wrap">{finding.description}</p>
      {finding.scenario ? <p className="mt-1 break-words whitespace-pre-wrap text-soft">{finding.scenario}</p> : null}
    </div>
  );
}

function CommentNote({ comment, onRemove }: { comment: Comment; onRemove: (id: string) => void }) {
  const { t } = useTranslation();
  return (
    <div data-note="comment" className={clsx(BOX, "flex gap-2 border-ask")}>
      <Message className="mt-0.5 size-4 shrink-0 text-ask" />
      <div className="min-w-0 grow"><p className="text-xs text-soft">{placeWords(comment)}</p><p className="break-words whitespace-pre-wrap">{comment.text}</p></div>
      <IconButton small label={t("comment.remove")} onClick={() => onRemove(comment.id)}><Cross className="size-3.5" /></IconButton>
    </div>
  );
}

function Editor({ place, onCancel, onSave }: { place: Place; onCancel: () => void; onSave: (place: Place, text: string) => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const save = () => text.trim() && onSave(place, text.trim());
  return (
    <div data-note="editor" className={clsx(BOX, "border-accent")}>
      <label className="block text-xs text-soft">
        {t("comment.about", { place: placeWords(place) })}
        <textarea
          autoFocus
          rows={3}
          className="field mt-1 text-sm"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
            if (event.key === "Escape") onCancel();
          }}
        />
      </label>
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <Button small tone="accent" disabled={!text.trim()} onClick={save}>{t("comment.add")}</Button>
        <Button small onClick={onCancel}>{t("action.cancel")}</Button>
        <span className="text-xs text-faint">{t("comment.extend")}</span>
      </div>
    </div>
  );
}
