import { useTranslation } from "react-i18next";
import { hasSession, logOut } from "../api/session";
import { languages, setLanguage } from "../i18n";
import { say } from "../lib/toast";
import { Half } from "../ui/icons";
import { Menu, MenuItem } from "../ui/Menu";
import { IconButton } from "../ui/primitives";
import { useNotificationSwitch } from "./attention";
import { useTheme, type Theme } from "./theme";

/** Theme, language, notifications and the way out. It is loaded when somebody opens it, so it starts open. */
export default function Preferences() {
  const { t, i18n } = useTranslation();
  const [theme, setTheme] = useTheme();
  return (
    <Menu opened trigger={<IconButton label={t("nav.preferences")}><Half /></IconButton>}>
      <p className="px-2 pt-1 text-xs text-soft">{t("theme.label")}</p>
      {(["system", "light", "dark"] as Theme[]).map((name) => (
        <MenuItem key={name} checked={theme === name} onSelect={() => setTheme(name)}>{t(`theme.${name}`)}</MenuItem>
      ))}
      <p className="border-t border-line px-2 pt-2 text-xs text-soft">{t("nav.language")}</p>
      {languages.map(({ code, name }) => (
        <MenuItem key={code} checked={i18n.language === code} onSelect={() => void setLanguage(code)}><span lang={code}>{name}</span></MenuItem>
      ))}
      <NotifyItem />
      {hasSession() ? (
        <div className="mt-1 border-t border-line pt-1">
          <MenuItem onSelect={() => void logOut().then(() => location.assign("/"))}>{t("login.log_out")}</MenuItem>
        </div>
      ) : null}
    </Menu>
  );
}

function NotifyItem() {
  const { t } = useTranslation();
  const { on, possible, toggle } = useNotificationSwitch();
  if (!possible) return null;
  return (
    <div className="mt-1 border-t border-line pt-1">
      <MenuItem checked={on} onSelect={() => void toggle().then((now) => say(t(`notify.${now}`), { bad: now === "denied" }))}>{t("notify.label")}</MenuItem>
    </div>
  );
}
