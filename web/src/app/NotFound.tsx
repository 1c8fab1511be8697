import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Empty } from "../ui/primitives";

export function NotFound() {
  const { t } = useTranslation();
  return (
    <Empty title={t("state.no_page")}>
      <Link to="/" className="text-accent underline">{t("nav.loops")}</Link>
    </Empty>
  );
}
