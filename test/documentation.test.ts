import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import { defineProgram } from '../src/commands/program.ts';
import { FIRST_MIGRATION, loadMigrations } from '../src/store/server/schema/migrations.ts';
import { findBanned } from './support/banned-phrases.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CODE_OF_CONDUCT.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(path.join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** A page without its code: links in an example lead nowhere, and `#` begins a comment there. */
const prose = (page: string) => page.replaceAll(/^( *)```.*?^\1```$/gms, '').replaceAll(/`[^`\n]*`/g, '');

const linksOf = (file: string) =>
  [...prose(read(file)).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** The anchors of a page, as GitHub makes them of its headings, and those that it sets itself. */
function anchorsOf(page: string): Set<string> {
  const text = page.replaceAll(/^```.*?^```$/gms, '');
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  const explicit = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  return new Set([...headings, ...explicit]);
}

describe('the links of the documentation', () => {
  const links = PAGES.flatMap((page) =>
    linksOf(page).map((target) => {
      const [file = '', anchor] = target.split('#');
      return { page, target, anchor, file: file === '' ? page : path.join(path.dirname(page), file) };
    }),
  );

  it('are found', () => {
    expect(PAGES.length).toBeGreaterThan(10);
    expect(links.length).toBeGreaterThan(30);
  });

  it.each(links)('in $page lead to a file: $target', ({ file }) => {
    expect(existsSync(path.join(ROOT, file)), `${file} does not exist`).toBe(true);
  });

  it.each(links.filter(({ anchor }) => anchor !== undefined))(
    'in $page lead to a heading: $target',
    ({ file, anchor }) => {
      expect([...anchorsOf(read(file))]).toContain(anchor);
    },
  );
});

describe('the runbook', () => {
  it.each(['haproxy.cfg', 'haproxy-postgres.cfg', 'nginx.conf', 'patroni.yml'])(
    'quotes deploy/%s, which the tests run with',
    (name) => {
      expect(read('docs/running.md')).toContain(`\n${read(`deploy/${name}`)}\`\`\``);
    },
  );

  it('says what to do at each alarm', () => {
    const alarms = read('docs/alerts.yml').match(/(?<=alert: )\w+/g) ?? [];
    expect(alarms.length).toBeGreaterThan(10);
    expect(alarms.filter((name) => !read('docs/running.md').includes(`\`${name}\``))).toEqual([]);
  });
});

describe('the map of the project', () => {
  const map = read('docs/architecture.md');
  const named = [
    ...new Set(map.match(/(?<![\w/.-])(?:src|test|emulator|bench|migrations|bin|docs)\/[\w./-]*[\w/]/g)),
  ];

  it('names many files', () => {
    expect(named.length).toBeGreaterThan(40);
  });

  it.each(named)('names %s, which exists', (file) => {
    expect(existsSync(path.join(ROOT, file))).toBe(true);
  });

  it('names no file by its name alone that is gone', () => {
    const found = ['src', 'test', 'emulator', 'lint', 'docs'].flatMap((directory) =>
      readdirSync(path.join(ROOT, directory), { recursive: true }).map((name) => path.basename(String(name))),
    );
    const files = new Set(found);
    const alone = map.match(/(?<=`)[\w.-]+\.(?:ts|js|md)(?=`)/g) ?? [];
    expect(alone.length).toBeGreaterThan(10);
    expect(alone.filter((name) => !files.has(name))).toEqual([]);
  });

  it('shows the way of a delivery in at most 16 steps, each a function in the file beside it', () => {
    const steps = [...map.matchAll(/^\| \d+ +\| (.*?) +\| `(src\/\S+)` /gm)];
    expect(steps.length).toBeGreaterThan(10);
    expect(steps.length).toBeLessThanOrEqual(16);
    for (const [, functions = '', file = ''] of steps) {
      for (const [, name = ''] of functions.matchAll(/`(?:\w+\.)?(#?\w+)`/g)) {
        expect(read(file), `${file} has no ${name}`).toMatch(
          new RegExp(`(?:function |^ {2,4}(?:async )?)${name}(?:[(<]|: \\()`, 'm'),
        );
      }
    }
  });

  it('names every directory of src', () => {
    const rooms = readdirSync(path.join(ROOT, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `src/${name}/`);
    expect(rooms.filter((room) => !map.includes(room))).toEqual([]);
  });
});

describe('the commands of the documentation', () => {
  const program = defineProgram({});
  const documented = PAGES.filter((page) => page !== 'CHANGELOG.md').flatMap((page) => {
    const code =
      read(page)
        .replaceAll('\\\n', '')
        .match(/^ *```sh.*?^ *```|`[^`\n]+`/gms) ?? [];
    return code.flatMap((text) =>
      [...text.matchAll(/(?<!namespace )\bxiq-sink ((?!xiq-sink)[a-z][^`\n#|&>]*)/g)].map(
        ([, line = '']) => ({
          page,
          line,
        }),
      ),
    );
  });

  it('are found', () => {
    expect(documented.length).toBeGreaterThan(100);
  });

  it.each(documented)('$page: xiq-sink $line', ({ line }) => {
    let command: CommandUnknownOpts = program;
    const words = line.split(/[\s[\]]+/);
    for (const word of words) {
      const next: CommandUnknownOpts | undefined = command.commands.find((one) => one.name() === word);
      if (next === undefined) break;
      command = next;
    }
    expect(command, 'no such command').not.toBe(program);
    expect(command.commands.length === 0 || words.length === 1, 'no such subcommand').toBe(true);
    const options = ['--help', ...command.options.map(({ long }) => long)];
    expect(options).toEqual(
      expect.arrayContaining(words.filter((word) => word.startsWith('--') && word !== '--')),
    );
  });
});

it('every route of the API that a page names has a row in the table of roles', () => {
  const routes = new Set(read('docs/access.md').match(/(?:GET|POST) \/api\/[^`]+/g));
  const named = PAGES.flatMap((page) => read(page).match(/(?:GET|POST) \/api\/[^`\s,)]+/g) ?? []);
  expect(named.filter((route) => !routes.has(route))).toEqual([]);
});

// docs/style.md quotes the phrases that it replaces.
it.each(PAGES.filter((page) => page !== 'docs/style.md'))('%s is in plain words', (page) => {
  expect(findBanned(read(page))).toEqual([]);
});

it('the list of changes names each migration before which older programs must stop', async () => {
  const migrations = Object.entries(await loadMigrations());
  const stopping = migrations.filter(
    ([name, migration]) => name > FIRST_MIGRATION && migration.olderProgramsMayRun !== true,
  );
  // Databases of the time before have had the files of SQL from the beginning.
  const numbers = stopping.map(([name]) => name.slice(0, 4)).filter((number) => number > '0010');
  expect(numbers.length).toBeGreaterThan(0);
  for (const number of numbers) expect(read('CHANGELOG.md')).toContain(number);
});
