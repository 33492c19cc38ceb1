import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { Budget, Part } from './budget.ts';
import type { Machine } from './machine.ts';
import { budgetLines, formatMachine } from './report.ts';
import { TARGETS } from './targets/all.ts';
import { THIS_CHECKOUT } from './targets/xiq-sink.ts';

const PAGE = path.join(THIS_CHECKOUT, 'docs', 'performance.md');

/** The part of the page that is written anew. */
const BUDGET = /(?<=<!-- budget -->\n).*(?=<!-- end of budget -->)/s;

/** Writes the measured budgets into docs/performance.md. */
export async function documentBudgets(machine: Machine, budgets: readonly Budget[]): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  const filled = fillPage(page, machine, budgets, new Date());
  await writeFile(PAGE, await format(filled, { ...(await resolveConfig(PAGE)), filepath: PAGE }));
}

/** The page with the table of these budgets. */
export function fillPage(page: string, machine: Machine, budgets: readonly Budget[], now: Date): string {
  const lines = budgets.map(budgetLines);
  const isPart = ({ name }: Part) => name.startsWith('- ');
  const [program, ...rest] = lines.flat().filter((line) => !isPart(line));
  // The parts of all columns stay together, above the other processes.
  const inOrder = [...(program === undefined ? [] : [program]), ...lines.flat().filter(isPart), ...rest];
  const names = new Set(inOrder.map(({ name }) => name).filter((name) => name !== 'all')).add('all');
  const columns = lines.map((parts) => new Map(parts.map((part) => [part.name, part])));
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = [
    row(['', ...budgets.map(({ target, workload }) => `${workload}, ${TARGETS[target].title}`)]),
    row(['---', ...budgets.map(() => '--:')]),
    ...[...names].map((name) =>
      row([name, ...columns.map((parts) => parts.get(name)?.microseconds.toFixed(1) ?? '')]),
    ),
    row([
      'deliveries/s',
      ...budgets.map((budget) => Math.round(budget.deliveriesPerSecond).toLocaleString('en')),
    ]),
  ];
  const heading = `Measured on ${now.toISOString().slice(0, 10)}: ${formatMachine(machine)}.`;
  const isShared = budgets.some(({ program: own, others }) => (others.at(-1)?.microseconds ?? 0) > own / 2);
  const note = isShared
    ? ' Other programs used the machine at the same time, so these figures are provisional.'
    : '';
  return page.replace(BUDGET, () => `\n${heading}${note}\n\n${table.join('\n')}\n\n`);
}
