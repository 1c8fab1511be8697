// One JSON file for each language; another one is added by adding a file.

import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { remember, remembered } from "../lib/storage";
import type english from "./locales/en.json";
import { loadServerWords } from "./server";

declare module "i18next" {
  interface CustomTypeOptions {
    resources: { translation: typeof english };
    returnNull: false;
  }
}

const files = import.meta.glob<{ default: typeof english }>("./locales/*.json");
const codeOf = (path: string) => path.replace(/^.*\//, "").replace(/\.json$/, "");

export const languages = Object.keys(files)
  .map(codeOf)
  .sort()
  .map((code) => ({ code, name: new Intl.DisplayNames([code], { type: "language" }).of(code) ?? code }));

/** The best of what there is for what the browser asks: zh-TW and zh-HK read zh-Hant. */
export function choose(wanted: readonly string[], have: readonly string[]): string {
  for (const tag of wanted) {
    const lower = tag.toLowerCase();
    const exact = have.find((code) => code.toLowerCase() === lower);
    if (exact) return exact;
    if (lower.startsWith("zh")) {
      const script = /hant|tw|hk|mo/.test(lower) ? "zh-Hant" : "zh-Hans";
      if (have.includes(script)) return script;
    }
    const near = have.find((code) => code.split("-")[0]?.toLowerCase() === lower.split("-")[0]);
    if (near) return near;
  }
  return "en";
}

async function load(code: string) {
  await loadServerWords(code);
  const file = files[`./locales/${code}.json`];
  if (file && !i18next.hasResourceBundle(code, "translation")) {
    i18next.addResourceBundle(code, "translation", (await file()).default);
  }
}

export async function setLanguage(code: string) {
  await load(code);
  await i18next.changeLanguage(code);
  document.documentElement.lang = code;
  remember("language", code);
}

export async function startI18n() {
  const stored = remembered("language");
  const code = choose(stored ? [stored] : navigator.languages, languages.map((language) => language.code));
  await i18next.use(initReactI18next).init({
    lng: code,
    fallbackLng: false,
    resources: {},
    interpolation: { escapeValue: false },
    // Its advertisement has no place in the user's console.
    showSupportNotice: false,
  });
  await load(code);
  await i18next.changeLanguage(code);
  document.documentElement.lang = code;
}
