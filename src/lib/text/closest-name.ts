import { distance } from 'fastest-levenshtein';

/**
 * The known name that a misspelled name most likely means, compared without regard to case: by default at most a third
 * of its letters differ, and two at least. Undefined if it resembles none.
 */
export function closestName(
  misspelled: string,
  known: readonly string[],
  maxEdits = Math.max(2, Math.floor(misspelled.length / 3)),
): string | undefined {
  const [best] = known
    .map((name) => ({ name, edits: distance(misspelled.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, edits }) => edits <= maxEdits && edits < name.length)
    .toSorted((one, other) => one.edits - other.edits);
  return best?.name;
}
