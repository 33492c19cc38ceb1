/** The known name that a mistyped one most likely means: at most a third of its letters differ, two at least. */
export function closestName(written: string, known: readonly string[]): string | undefined {
  const most = Math.max(2, Math.floor(written.length / 3));
  const [best] = known
    .map((name) => ({ name, distance: editDistance(written.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= most && distance < name.length)
    .toSorted((a, b) => a.distance - b.distance);
  return best?.name;
}

/** How many letters have to be inserted, removed or replaced (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, other] of Array.from(b).entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
