import { useState } from "react";
import { useTranslation } from "react-i18next";
import { codeIn, logIn, loginRefusal } from "../api/session";
import { Key } from "../ui/icons";
import { Button, Empty, Field } from "../ui/primitives";

/** No session, or an ended one: how to get in, in words that can be typed. */
export function Unauthorised() {
  const { t } = useTranslation();
  const [link, setLink] = useState("");
  const [refusal, setRefusal] = useState(loginRefusal());
  const submit = async () => {
    const code = codeIn(link);
    if (code === null) setRefusal(t("login.no_code"));
    else if (await logIn(code)) location.reload();
    else setRefusal(loginRefusal());
  };
  return (
    <Empty title={t("state.unauthorised")} icon={<Key />}>
      <p>{t("state.unauthorised_hint")}</p>
      <pre className="mt-3 inline-block max-w-full rounded bg-sunken px-3 py-2 text-left break-all whitespace-pre-wrap text-ink">windlass serve link</pre>
      <form
        className="mx-auto mt-3 flex max-w-md flex-col gap-2 text-left"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Field label={t("login.link")} error={refusal}>
          <input className="field" autoComplete="off" spellCheck={false} value={link} onChange={(event) => setLink(event.target.value)} />
        </Field>
        <Button type="submit" disabled={!link.trim()}>{t("login.log_in")}</Button>
      </form>
    </Empty>
  );
}
