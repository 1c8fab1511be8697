import { useQuery } from "@tanstack/react-query";
import type { TFunction } from "i18next";
import { useMemo } from "react";
import { get, query } from "../api/client";
import type { RecipeRow } from "../api/types";
import { forGoals } from "./newLoop";

/** The recipes that a goal can be started with in a project. */
export function useRecipes(project: string): RecipeRow[] {
  const all = useQuery({ queryKey: ["recipes", project], queryFn: ({ signal }) => get<RecipeRow[]>(`/api/recipes${query({ project })}`, signal), staleTime: 60_000 }).data;
  return useMemo(() => forGoals(all ?? []), [all]);
}

/** What a recipe is for: a translation of ours, or its file's own words. */
export const recipeWords = (recipe: RecipeRow, t: TFunction) => (recipe.source === "built_in" ? t(`recipe.${recipe.name}` as "recipe.promise", { defaultValue: recipe.about }) : recipe.about);
