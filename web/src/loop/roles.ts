import type { TFunction } from "i18next";
import { createContext, useContext } from "react";
import { useTranslation } from "react-i18next";
import type { ReviewKind, TurnKey } from "../api/types";

export type RoleName = (role: TurnKey["role"]) => string;

/** The kind of review of the loop that the page is about. */
export const Reviewed = createContext<ReviewKind | null>(null);

/** A role's name: the coder whose features an acceptor accepts is a developer. */
export const roleName = (review: ReviewKind | null | undefined, t: TFunction): RoleName => (role) => t(`role.${review === "acceptance" && role === "coder" ? "developer" : role}`);

export function useRole(): RoleName {
  const { t } = useTranslation();
  return roleName(useContext(Reviewed), t);
}
