import { Session } from 'node:inspector/promises';
import type { Profiler } from 'node:inspector';
import type { SourceMap } from 'node:module';
import { bundles } from './lives.ts';

/** The blocks of files below `src/`, as V8 counts them, by `FROM-TO`: whether each was executed. */
export type Coverage = Map<string, Map<string, boolean>>;

const SRC = new URL('../../src/', import.meta.url).href;

/** Counts executed blocks from now on. Returns how to read them. */
export async function startCoverage(): Promise<() => Promise<Coverage>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const coverage: Coverage = new Map();
    for (const { url, functions } of result) {
      const bundle = bundles.get(url);
      if (bundle !== undefined) addCoverage(coverage, ofFiles(blocksOf(functions), bundle));
      else if (url.startsWith(SRC)) coverage.set(url.slice(SRC.length), blocksOf(functions));
    }
    return coverage;
  };
}

/** The blocks of a bundle, by the file that they are in. */
function ofFiles(
  blocks: ReadonlyMap<string, boolean>,
  { text, map }: { readonly text: string; readonly map: SourceMap },
): Coverage {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const find = (offset: number) => {
    const line = starts.findLastIndex((start) => start <= offset);
    return map.findEntry(line, offset - (starts[line] ?? 0));
  };
  const coverage: Coverage = new Map();
  for (const [block, isExecuted] of blocks) {
    const entry = find(Number(block.split('-')[0]));
    if (!('originalSource' in entry)) continue;
    const [, file] = /\/src\/(.*)$/.exec(`/${entry.originalSource}`) ?? [];
    if (file === undefined) continue;
    const known = coverage.get(file) ?? new Map<string, boolean>();
    const key = `${entry.originalLine}:${entry.originalColumn} ${block}`;
    coverage.set(file, known.set(key, isExecuted));
  }
  return coverage;
}

/** Adds what another thread has executed. */
export function addCoverage(all: Coverage, more: Coverage): void {
  for (const [file, blocks] of more) {
    const known = all.get(file) ?? new Map<string, boolean>();
    for (const [block, isExecuted] of blocks) known.set(block, isExecuted || known.get(block) === true);
    all.set(file, known);
  }
}

/** One life reports a block only if its count differs from that of what is around it: each is looked up in all of them. */
function blocksOf(functions: readonly Profiler.FunctionCoverage[]): Map<string, boolean> {
  const blocks = new Map<string, boolean>();
  const byPlace = Map.groupBy(
    functions,
    ({ ranges: [whole] }) => `${whole?.startOffset}-${whole?.endOffset}`,
  );
  for (const lives of byPlace.values()) {
    const places = new Map(lives.flatMap(({ ranges }) => ranges).map((range) => [keyOf(range), range]));
    for (const [key, place] of places)
      blocks.set(key, blocks.get(key) === true || lives.some(({ ranges }) => isExecuted(ranges, place)));
  }
  return blocks;
}

const keyOf = ({ startOffset, endOffset }: Profiler.CoverageRange) => `${startOffset}-${endOffset}`;

/** The innermost range around a block has its count. Ranges follow what they are in. */
function isExecuted(ranges: readonly Profiler.CoverageRange[], block: Profiler.CoverageRange): boolean {
  const around = ranges.findLast(
    ({ startOffset, endOffset }) => startOffset <= block.startOffset && endOffset >= block.endOffset,
  );
  return (around?.count ?? 0) > 0;
}

/** A line for each file of these directories with blocks, those with the most that were not executed first, and the sum. */
export function describeCoverage(coverage: Coverage): string {
  const files = [...coverage]
    .filter(([file]) => SIMULATED.test(file))
    .map(([file, blocks]) => ({
      file,
      all: blocks.size,
      executed: blocks.values().filter(Boolean).toArray().length,
    }))
    .toSorted((a, b) => b.all - b.executed - (a.all - a.executed));
  const sum = (of: 'all' | 'executed') => files.reduce((total, file) => total + file[of], 0);
  const lines = files.map(({ file, all, executed }) => `  ${`${executed} of ${all}`.padStart(12)} ${file}`);
  const share = ((100 * sum('executed')) / Math.max(1, sum('all'))).toFixed(1);
  return [`branches: ${sum('executed')} of ${sum('all')} executed (${share} %)`, ...lines].join('\n');
}

/** What is simulated: the other files are only loaded. */
const SIMULATED =
  /^(?:queue\/(?!postgres|redis|claim|inspect|installation)|handlers\/(?!convert)|forward\/(?:forward|send-batch|batch|start)|seal\/(?:sealer|sequencer)|ingest\/(?:admission|receive|normalize)|store\/log|lib\/(?:group|files|repeat))/;
