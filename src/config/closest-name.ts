/** Shorter names are too close to names that mean something else. */
const MIN_LENGTH = 6;

/** One edit is a slip in any name; two only in a name that stays recognizable. */
const allowedEdits = (name: string) => (name.length < 8 ? 1 : 2);

/** The known name that a name is most likely a misspelling of. Undefined if it resembles none. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  if (name.length < MIN_LENGTH) return undefined;
  const [best] = known
    .filter((candidate) => candidate.length >= MIN_LENGTH)
    .map((candidate) => ({ candidate, edits: countEdits(name, candidate) }))
    .filter(({ candidate, edits }) => edits <= allowedEdits(candidate))
    .toSorted((one, other) => one.edits - other.edits);
  return best?.candidate;
}

/**
 * Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other (Damerau-Levenshtein
 * distance, optimal string alignment).
 */
function countEdits(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          at(last, column) + 1,
          at(current, column - 1) + 1,
          at(last, column - 1) + (isSame ? 0 : 1),
          isSwap ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

const at = (row: readonly number[], column: number) => row[column] ?? Number.POSITIVE_INFINITY;
