import { execFile, spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { printCompletions } from '../../src/commands/completion.ts';
import { defineProgram } from '../../src/commands/program.ts';
import { ROLES } from '../../src/config/roles.ts';
import { endOfCommand } from '../support/command.ts';
import { runProgram } from '../support/program.ts';
import { useDirectory } from '../support/use-directory.ts';

const run = promisify(execFile);

const hasBash = spawnSync('bash', ['--version']).status === 0;

const bashScript = async () => (await endOfCommand({}, 'completion', 'bash')).stdout;

const directory = useDirectory();
beforeAll(async () => writeFile(path.join(directory, 'completion.bash'), await bashScript()));

/** What a bash that has read the script offers when Tab is pressed behind these words. */
async function completeInBash(...words: string[]): Promise<string[]> {
  const script = path.join(directory, 'completion.bash');
  const press = `
    source "$1"; shift
    COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}
    complete -p xiq-sink | grep -q -- '-F'
    $(complete -p xiq-sink | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['-c', press, 'bash', script, 'xiq-sink', ...words], {
    env: { PATH: process.env['PATH'] },
  });
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

/** What some work prints by `console.log`. */
async function loggedBy(work: () => Promise<unknown>): Promise<string[]> {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  try {
    await work();
    return log.mock.calls.map(([line]) => String(line));
  } finally {
    log.mockRestore();
  }
}

/** What `complete` offers behind these words. */
async function offers(...words: string[]): Promise<string[]> {
  const lines = await loggedBy(() => printCompletions(defineProgram({}), words));
  return lines.filter((line) => !line.startsWith(':')).map((line) => line.split('\t')[0] ?? '');
}

describe.skipIf(!hasBash)('bash', () => {
  it('completes commands, options and their values', async () => {
    expect(await completeInBash('quar')).toEqual(['quarantine']);
    expect(await completeInBash('events', 'search', '--type', 'AUD')).toEqual(['AUDIT_LOG_ALL']);
    expect(await completeInBash('events', 'search', '--type=LOCATION_A')).toEqual(['LOCATION_AP_CENTRIC']);
    expect(await completeInBash('events', 'search', '--unt')).toEqual(['--until']);
  });

  it('completes file names where it has nothing to offer', async () => {
    expect(await bashScript()).toMatch(/^complete -o default -F \w+ xiq-sink$/m);
  });
});

describe('complete', () => {
  it('offers the choices of options and arguments', async () => {
    expect(await offers('serve', '--role', '')).toEqual([...ROLES]);
    expect(await offers('quarantine', 'list', '--state=')).toContain('discarded');
    expect(await offers('completion', 'f')).toEqual(['fish']);
    expect(await offers('destinations', '')).toContain('rewind');
    expect(await offers('')).not.toContain('complete');
  });

  it('loads nothing that only a running command needs, so that it answers at once', async () => {
    const trace = path.join(directory, 'loaded');
    const hook = path.join(directory, 'hook.mjs');
    await writeFile(
      hook,
      `import { registerHooks } from 'node:module';
       import { appendFileSync } from 'node:fs';
       registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(trace)}, url + '\\n'); return next(url, context); } });`,
    );
    await runProgram({ NODE_OPTIONS: `--import=${hook}` }, 'complete', '--', 'ev');
    const loaded = await readFile(trace, 'utf8');
    expect(loaded).toContain('events/command.ts');
    const packages = new Set(
      [...loaded.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)].map(([, name]) => name),
    );
    expect([...packages].toSorted((a = '', b = '') => a.localeCompare(b))).toEqual([
      '@bomb.sh/tab',
      '@commander-js/extra-typings',
      'commander',
      'fastest-levenshtein',
      'uuid',
    ]);
  });
});

it.each(['zsh', 'fish', 'powershell'])('%s gets a script that asks this program', async (shell) => {
  const script = await loggedBy(() => endOfCommand({}, 'completion', shell));
  expect(script.join('\n')).toMatch(/\/bin\/xiq-sink complete '?--'? /);
});

it('no other shell gets one', async () => {
  expect(await endOfCommand({}, 'completion', 'tcsh')).toMatchObject({ code: 2 });
});
