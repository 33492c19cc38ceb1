import { execFile } from 'node:child_process';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import packageJson from '../package.json' with { type: 'json' };
import { postDelivery, SECRET, startProgramAt } from './support/program.ts';
import { useDirectory } from './support/use-directory.ts';
import { waitFor } from './support/wait-for.ts';

const execute = promisify(execFile);
const CHECKOUT = path.resolve(import.meta.dirname, '..');

// Above every version that this checkout may have.
const FIRST = '900.0.0';
const SECOND = '900.0.1';

const directory = useDirectory();
/** A clone of what is committed, on the branch main. */
const clone = path.join(directory, 'clone');
const run = async (program: string, ...args: readonly string[]) =>
  (await execute(program, args, { cwd: clone })).stdout.trim();
const release = (...args: readonly string[]) => run('npm', 'run', '--silent', 'release', '--', ...args);

/** Commits a change that the list of changes mentions. */
async function addChange(): Promise<void> {
  const file = path.join(clone, 'CHANGELOG.md');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('## [Unreleased]\n', '## [Unreleased]\n\n### Fixed\n\n- Something.\n'));
  await run('git', 'commit', '--quiet', '--all', '--message', 'Change something');
}

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({ name: z.string().optional(), version: z.string(), dev: z.boolean().default(false) }),
  ),
});

/** NAME@VERSION of every package that is installed with the program, on any machine. */
async function installedPackages(): Promise<readonly string[]> {
  const { packages } = Lock.parse(JSON.parse(await readFile(path.join(clone, 'package-lock.json'), 'utf8')));
  const installed = Object.entries(packages).filter(([place, { dev }]) => place !== '' && !dev);
  const names = installed.map(
    ([place, { name, version }]) => `${name ?? place.split('node_modules/').at(-1)}@${version}`,
  );
  return [...new Set(names)].toSorted();
}

beforeAll(async () => {
  await execute('git', ['clone', '--quiet', '--no-hardlinks', CHECKOUT, clone]);
  await run('git', 'checkout', '--quiet', '-B', 'main');
  await run('git', 'config', 'user.name', 'Tests');
  await run('git', 'config', 'user.email', 'tests@example.com');
  await addChange();
});

describe('npm run release', () => {
  it('changes nothing with --dry-run', async () => {
    const before = await run('git', 'rev-parse', 'HEAD');
    expect(await release(FIRST, '--dry-run')).toContain(`would run: git tag --annotate v${FIRST}`);
    expect(await run('git', 'rev-parse', 'HEAD')).toBe(before);
    expect(await run('git', 'status', '--porcelain', '--ignored')).toBe('');
  });

  it('refuses what is no release', async () => {
    await expect(release('one')).rejects.toThrow('needs a version such as 1.0.0 (got "one")');
    await expect(release('0.0.1')).rejects.toThrow(`the version is ${packageJson.version} already`);
    await appendFile(path.join(clone, 'README.md'), '\n');
    await expect(release(FIRST)).rejects.toThrow('there are changes that are not committed');
    await run('git', 'checkout', '--quiet', 'README.md');
    await run('git', 'checkout', '--quiet', '-b', 'side');
    await expect(release(FIRST)).rejects.toThrow('not on the branch main');
    await run('git', 'checkout', '--quiet', 'main');
  });

  it('commits, tags, and writes files whose checksums are right; a second run repeats only the files', async () => {
    await release(FIRST);
    const commit = await run('git', 'rev-parse', 'HEAD');
    expect(await run('git', 'log', '-1', '--format=%s')).toBe(`Release ${FIRST}`);
    expect(await run('git', 'show', 'HEAD:CHANGELOG.md')).toMatch(
      new RegExp(
        String.raw`^## \[Unreleased\]\n\n## \[${FIRST}\] - \d{4}-\d\d-\d\d\n\n### Fixed\n\n- Something\.$`,
        'm',
      ),
    );
    await release(FIRST);
    expect(await run('git', 'rev-parse', 'HEAD', `v${FIRST}^{commit}`)).toBe(`${commit}\n${commit}`);
    expect(await run('git', 'status', '--porcelain')).toBe('');
    await run('sh', '-c', `cd dist/${FIRST} && sha256sum --check --strict SHA256SUMS`);
    await expect(release(SECOND)).rejects.toThrow('CHANGELOG.md lists no change under [Unreleased]');
  });

  it('writes a bill of materials that the schema of CycloneDX accepts, with every package of the program', async () => {
    const text = await readFile(path.join(clone, `dist/${FIRST}/xiq-sink-${FIRST}.cdx.json`), 'utf8');
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot5).validate(text)).toBeNull();
    const Package = z.object({ name: z.string(), version: z.string() });
    const Bill = z.object({ metadata: z.object({ component: Package }), components: z.array(Package) });
    const { metadata, components } = Bill.parse(JSON.parse(text));
    expect(metadata.component).toMatchObject({ name: 'xiq-sink', version: FIRST });
    const listed = components.map(({ name, version }) => `${name}@${version}`);
    expect(listed.toSorted()).toEqual(await installedPackages());
  });
});

describe('an installed release', () => {
  it('keeps its events when it is upgraded to the next one, and when that is rolled back', async () => {
    await addChange();
    await release(SECOND);
    const folder = path.join(directory, 'installation');
    await mkdir(folder);
    const settings = { DATA_DIR: path.join(directory, 'data'), WEBHOOK_SECRET: SECRET };
    const program = path.join(folder, 'node_modules/.bin/xiq-sink');

    /** Installs a version over the one before, stores one more event, and gives the descriptions of all. */
    const use = async (version: string, description: string): Promise<readonly string[]> => {
      const tarball = path.join(clone, `dist/${version}/xiq-sink-${version}.tgz`);
      await execute('npm', ['install', '--prefer-offline', tarball], { cwd: folder });
      const env = { PATH: process.env['PATH'], ...settings };
      expect((await execute(program, ['--version'], { env })).stdout).toBe(`${version}\n`);
      const service = await startProgramAt(program, settings);
      const record = { id: 1, userName: 'ada@example.com', description, timeStamp: Date.now() };
      expect((await postDelivery(service, 'AUDIT_LOG_ALL', record)).status).toBe(200);
      const question = 'select description from audit_log order by id';
      const Rows = z.array(z.object({ description: z.string() }));
      const stored = await waitFor(async () => {
        const { stdout } = await execute(program, ['sql', '--json', question], { env });
        const descriptions = Rows.parse(JSON.parse(stdout)).map((row) => row.description);
        return descriptions.includes(description) ? descriptions : undefined;
      });
      expect(await service.end('SIGTERM')).toBe(0);
      return stored;
    };

    expect(await use(FIRST, 'before')).toEqual(['before']);
    expect(await use(SECOND, 'upgraded')).toEqual(['before', 'upgraded']);
    expect(await use(FIRST, 'rolled back')).toEqual(['before', 'upgraded', 'rolled back']);
    // Three installations, which a busy machine takes a minute each for.
  }, 300_000);
});
