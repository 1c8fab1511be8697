// The order of milestones: only those that have not begun can change places; the others keep theirs.

/** All ids with `id` put where `other` is among those that can move; the same ones if nothing changes. */
export function reordered(all: readonly string[], movable: readonly string[], id: string, other: string): string[] {
  const from = movable.indexOf(id);
  const to = movable.indexOf(other);
  if (from < 0 || to < 0 || from === to) return [...all];
  const moved = movable.filter((each) => each !== id);
  moved.splice(to, 0, id);
  let next = 0;
  return all.map((each) => (movable.includes(each) ? (moved[next++] as string) : each));
}
