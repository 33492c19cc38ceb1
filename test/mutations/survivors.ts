import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

/** What Stryker reports of a run: https://github.com/stryker-mutator/mutation-testing-elements, the report schema. */
const reportSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.string(),
      mutants: z.array(
        z.object({
          mutatorName: z.string(),
          replacement: z.string().default(''),
          status: z.string(),
          location: z.object({ start: z.object({ line: z.number(), column: z.number() }) }),
        }),
      ),
    }),
  ),
});

const acceptedSchema = z.array(
  z
    .strictObject({
      file: z.string(),
      line: z.string(),
      mutations: z.array(z.string()),
      reason: z.string().min(1),
    })
    .transform(({ file, line, mutations }) => mutations.map((mutation) => keyOf({ file, line, mutation }))),
);

/** A mutation that no test noticed, with the line that it changes and where its text begins. */
interface Survivor {
  readonly file: string;
  readonly at: number;
  readonly line: string;
  readonly mutation: string;
}

/** The mutants of a run, and those that its tests did not notice. */
export async function readReport(path: string): Promise<{ total: number; survivors: readonly Survivor[] }> {
  const { files } = reportSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  let total = 0;
  const survivors: Survivor[] = [];
  for (const [file, { source, mutants }] of Object.entries(files)) {
    const lines = source.split('\n');
    for (const { status, mutatorName, replacement, location } of mutants) {
      if (status === 'Ignored' || status === 'CompileError') continue;
      total += 1;
      if (status !== 'Survived' && status !== 'NoCoverage') continue;
      const at = location.start.line;
      const mutation = `${mutatorName}: ${replacement.replaceAll(/\s+/g, ' ')}`;
      survivors.push({ file, at, line: lines[at - 1]?.trim() ?? '', mutation });
    }
  }
  return { total, survivors };
}

/** Survivors that `accepted.yaml` does not list. A line that has moved is found by its text. */
export async function unexplained(survivors: readonly Survivor[]): Promise<readonly Survivor[]> {
  const text = await readFile(new URL('accepted.yaml', import.meta.url), 'utf8');
  const accepted = new Set(acceptedSchema.parse(parse(text)).flat());
  return survivors.filter((one) => !accepted.has(keyOf(one)));
}

const keyOf = ({ file, line, mutation }: Pick<Survivor, 'file' | 'line' | 'mutation'>) =>
  JSON.stringify([file, line, mutation]);
