// Small choices of this browser. Where storage is forbidden they last as long as the page.

const memory = new Map<string, string>();

export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(`windlass.${key}`) ?? memory.get(key) ?? null;
  } catch {
    return memory.get(key) ?? null;
  }
}

export function remember(key: string, value: string | null) {
  try {
    if (value === null) localStorage.removeItem(`windlass.${key}`);
    else localStorage.setItem(`windlass.${key}`, value);
  } catch {
    // Kept in memory below.
  }
  if (value === null) memory.delete(key);
  else memory.set(key, value);
}
