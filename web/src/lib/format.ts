// Figures for people. Unknown is said as unknown by the caller, never as 0.

export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "0s";
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 > 0 ? `${minutes}m ${seconds % 60}s` : `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  const both = (large: string, small: number, unit: string) => (small > 0 ? `${large} ${small}${unit}` : large);
  if (hours < 24) return both(`${hours}h`, minutes % 60, "m");
  return both(`${Math.floor(hours / 24)}d`, hours % 24, "h");
}

/** What is left, as a clock: 1:02:03. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (value: number) => String(value).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

export function money(usd: number): string {
  if (usd !== 0 && Math.abs(usd) < 0.01) return `$${usd.toFixed(4)}`;
  return `$${usd.toFixed(2)}`;
}

export function bytes(count: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

export function short(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(count < 10_000_000 ? 1 : 0)}M`;
}

export function commit(hash: string): string {
  return hash.slice(0, 8);
}

/** Making one takes longer than using it a hundred times; a list asks for many. */
function kept<T>(make: (language: string) => T): (language: string) => T {
  const made = new Map<string, T>();
  return (language) => {
    const there = made.get(language) ?? make(language);
    made.set(language, there);
    return there;
  };
}

const relative = kept((language) => new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "narrow" }));
const ofDay = kept((language) => new Intl.DateTimeFormat(language, { hour: "numeric", minute: "numeric", second: "numeric", hour12: false }));

/** Since then, in the language's own words. */
export function ago(at: string | null | undefined, now: number, language: string): string {
  const then = at ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(then)) return "";
  // The page's clock ticks once a second, so what just happened may be ahead of it.
  const seconds = Math.min(0, Math.round((then - now) / 1000));
  const words = relative(language);
  const size = Math.abs(seconds);
  if (size < 60) return words.format(seconds, "second");
  if (size < 3600) return words.format(Math.trunc(seconds / 60), "minute");
  if (size < 86_400) return words.format(Math.trunc(seconds / 3600), "hour");
  return words.format(Math.trunc(seconds / 86_400), "day");
}

export function clock(at: string, language: string): string {
  const then = new Date(at);
  if (Number.isNaN(then.getTime())) return "";
  return ofDay(language).format(then);
}

export function moment(at: string | null | undefined, language: string): string {
  const then = new Date(at ?? "");
  if (Number.isNaN(then.getTime())) return "";
  return then.toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) ?? path;
}
