import type { TFunction } from "i18next";
import { createContext, useContext } from "react";
import { useTranslation } from "react-i18next";
import type { TurnKey } from "../api/types";

export type RoleName = (role: TurnKey["role"]) => string;

/** The recipe of the loop that the page is about. */
export const Recipe = createContext("");

/** A role's name: who codes for a milestone is its developer. */
export const roleName = (recipe: string, t: TFunction): RoleName => (role) => t(`role.${recipe === "milestone" && role === "coder" ? "developer" : role}`);

export function useRole(): RoleName {
  const { t } = useTranslation();
  return roleName(useContext(Recipe), t);
}
