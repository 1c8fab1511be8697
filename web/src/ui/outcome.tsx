// What a completed loop reached. Only a verified one has the filled green disc.

import type { LoopView } from "../api/types";

export type OutcomeName = NonNullable<LoopView["outcome"]>;
export const OUTCOMES: OutcomeName[] = ["verified", "claimed", "unchanged", "checked_in_place", "rolled_back"];

export const OUTCOME_TONE: Record<OutcomeName, { text: string; ground: string }> = {
  verified: { text: "text-good", ground: "bg-good-soft" },
  claimed: { text: "text-wait", ground: "bg-wait-soft" },
  unchanged: { text: "text-idle", ground: "bg-idle-soft" },
  checked_in_place: { text: "text-accent", ground: "bg-accent-soft" },
  rolled_back: { text: "text-idle", ground: "bg-idle-soft" },
};

/** Drawn into a box of 16 by 16. */
export function OutcomeShape({ outcome }: { outcome: OutcomeName }) {
  switch (outcome) {
    case "verified":
      return <><circle cx="8" cy="8" r="6.600" fill="currentColor" stroke="none" /><path d="m5 8.300 2.100 2.100L11.100 6" stroke="var(--panel)" /></>;
    case "claimed":
      return <path d="M4 14V2.500h7.500L10 5.500l1.500 3H4" />;
    case "unchanged":
      return <><circle cx="8" cy="8" r="6" /><path d="M5.400 6.600h5.200M5.400 9.400h5.200" /></>;
    case "checked_in_place":
      return <><rect x="2.200" y="2.200" width="11.600" height="11.600" rx="2" /><path d="m5 8.300 2.100 2.100L11.100 6" /></>;
    case "rolled_back":
      return <><path d="M3 3.200v3.600h3.600" /><path d="M3.300 6.600A5.400 5.400 0 1 1 2.800 9.500" /></>;
  }
}
