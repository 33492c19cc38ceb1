/** Divides texts, in order, into runs whose lengths add up to at most `maxBytes`; a longer text makes a run alone. */
export function divideBySize(texts: readonly string[], maxBytes: number): string[][] {
  const runs: string[][] = [];
  let bytes = Infinity;
  for (const text of texts) {
    // One byte more: the comma or line break behind it.
    const length = Buffer.byteLength(text) + 1;
    if (bytes + length > maxBytes) {
      runs.push([]);
      bytes = 0;
    }
    runs.at(-1)?.push(text);
    bytes += length;
  }
  return runs;
}
