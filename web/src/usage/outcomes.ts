// Shares of what loops come to. A share is nothing without its counts, so they stay together.

import type { OutcomeRow } from "../api/types";

export interface Share {
  part: number;
  of: number;
  /** None of nothing. */
  percent: number | null;
}

const share = (part: number, of: number): Share => ({ part, of, percent: of > 0 ? Math.round((part / of) * 100) : null });

export function sharesOf(row: OutcomeRow): Record<"verified" | "refused" | "reviewed" | "first", Share> {
  return { verified: share(row.verified, row.ended), refused: share(row.claims_refused, row.claims), reviewed: share(row.changed_by_reviewer, row.reviewed), first: share(row.first_won, row.forked) };
}

const DAY_MS = 86_400_000;

/** From which moment on: the start of the reader's day so many days ago; nothing for all. */
export function sinceOf(days: number | null, now: number): string | undefined {
  return days === null ? undefined : new Date(new Date(now).setHours(0, 0, 0, 0) - days * DAY_MS).toISOString();
}
