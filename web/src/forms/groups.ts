// Where a setting is found. A key that nobody has placed is under "other", so none is ever missing.

export const GROUPS = ["loop", "review", "workspace", "limits", "safety", "summaries", "notifications", "milestones", "other"] as const;
export type SettingsGroup = (typeof GROUPS)[number];

const PLACES: [RegExp, SettingsGroup][] = [
  [/^notify_/, "notifications"],
  [/^(summar|generate_summary|commit_message|context_tokens)/, "summaries"],
  [/^(review|human_review|warnings_block|plan|post_action)/, "review"],
  [/^(soul|vision|memory|auto_start|wake|recover)/, "milestones"],
  [/^(sandbox|docker|network|protect|env_|secret|redact|trust|allow_|denied)/, "safety"],
  [/^(max_|queue_|budget|duration|.*timeout$|stall|cgroup|limit)/, "limits"],
  [/^(branch|merge_|in_place|setup|copy|commit|retention|base|workspace)/, "workspace"],
  [/^(agent|model|recipe|gates|baseline|completion_promise|session|fallbacks|follow_up|language|max_iterations)/, "loop"],
];

export function groupOf(key: string): SettingsGroup {
  return PLACES.find(([pattern]) => pattern.test(key))?.[1] ?? "other";
}
