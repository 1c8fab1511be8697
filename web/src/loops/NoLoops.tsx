import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { CopyText } from "../ui/CopyText";
import { Plus, Wave } from "../ui/icons";
import { Empty } from "../ui/primitives";

/** The way in: try it without an agent, then with one's own. */
export function NoLoops() {
  const { t } = useTranslation();
  return (
    <Empty icon={<Wave />} title={t("loops.none")}>
      <p className="mb-4">{t("loops.none_hint")}</p>
      <ol className="mx-auto mb-5 max-w-md space-y-3 text-left">
        <li><p className="mb-1 font-medium text-ink">1. {t("first.demo")}</p><CopyText text="windlass demo" /></li>
        <li><p className="mb-1 font-medium text-ink">2. {t("first.agent")}</p><Link to="/agents" className="text-accent underline">{t("first.agents")}</Link></li>
        <li><p className="mb-1 font-medium text-ink">3. {t("first.loop")}</p><CopyText text={'windlass run "Fix the failing test" --gate "npm test"'} /></li>
      </ol>
      <Link to="/new" className="inline-flex min-h-9 items-center gap-1.5 rounded-md bg-accent px-4 text-sm font-medium text-accent-ink"><Plus /> {t("nav.new")}</Link>
    </Empty>
  );
}
