import { useTranslation } from "react-i18next";
import { Key } from "../ui/icons";
import { Empty } from "../ui/primitives";

/** No cookie, or an old one: how to get in, in words that can be typed. */
export function Unauthorised() {
  const { t } = useTranslation();
  return (
    <Empty title={t("state.unauthorised")} icon={<Key />}>
      <p>{t("state.unauthorised_hint")}</p>
      <pre className="mt-3 inline-block max-w-full rounded bg-sunken px-3 py-2 text-left break-all whitespace-pre-wrap text-ink">{`${location.origin}/?token=…`}</pre>
    </Empty>
  );
}
