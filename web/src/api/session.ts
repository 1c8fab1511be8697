// This browser's session: a secret in storage that is bound to this very scheme, host and port. There are no cookies,
// because browsers send those to every port of an address.

import { remember, remembered } from "../lib/storage";

const KEY = "session";
/** Why the last link did not log this browser in. */
let refusal: string | null = null;

export const hasSession = () => remembered(KEY) !== null;
export const loginRefusal = () => refusal;

/** What every request to the server carries. */
export function authorization(): Record<string, string> {
  const secret = remembered(KEY);
  return secret === null ? {} : { Authorization: `Bearer ${secret}` };
}

/** The server does not know the session that a request carried: it was revoked, or has expired. */
export function forget(sent: Record<string, string>) {
  if (sent["Authorization"] !== undefined && sent["Authorization"] === authorization()["Authorization"]) remember(KEY, null);
}

/** The code in a login link, or one that was typed alone. */
export function codeIn(text: string): string | null {
  const trimmed = text.trim();
  return /#code=([0-9a-f]+)$/i.exec(trimmed)?.[1] ?? (/^[0-9a-f]{16,}$/i.test(trimmed) ? trimmed : null);
}

/** Exchanges a code for a session. */
export async function logIn(code: string): Promise<boolean> {
  refusal = null;
  try {
    const response = await fetch("/api/login", { method: "POST", cache: "no-store", credentials: "omit", headers: { "Content-Type": "application/json", ...authorization() }, body: JSON.stringify({ code }) });
    const answer = (await response.json()) as { secret?: string; error?: { message?: string } };
    if (response.ok && answer.secret) {
      remember(KEY, answer.secret);
      return true;
    }
    refusal = answer.error?.message ?? String(response.status);
  } catch (error) {
    refusal = String(error);
  }
  return false;
}

/** Takes the code out of the address before anything else sees it, and logs in with it. */
export async function enter(): Promise<void> {
  const code = codeIn(location.hash);
  if (code === null) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  await logIn(code);
}

/** Ends the session, here in any case. */
export async function logOut(): Promise<void> {
  const headers = authorization();
  remember(KEY, null);
  try {
    await fetch("/api/logout", { method: "POST", cache: "no-store", credentials: "omit", headers });
  } catch {
    // The server is away; the secret is gone from this browser all the same.
  }
}
