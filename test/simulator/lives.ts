import { readFileSync } from 'node:fs';
import { SourceMap, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compileFunction, constants } from 'node:vm';
import { rolldown, type Plugin } from 'rolldown';
import { plantIn, type Plant } from './plants.ts';

/** The modules of a role in one function: each call of it runs them anew, for the process that starts. */
type Modules = () => void;

const fileOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const SRC = fileOf('../../src/');
const LIFE = fileOf('./life/');

/** The edges of a process: what its modules get instead. */
const EDGES: ReadonlyMap<string, string> = new Map([
  ['node:fs/promises', `${LIFE}fs-promises.ts`],
  ['node:timers/promises', `${LIFE}timers-promises.ts`],
  ['node:crypto', `${LIFE}crypto.ts`],
  [`${SRC}queue/redis-engine.ts`, `${LIFE}redis-engine.ts`],
]);

/** Packages that read the clock or draw by chance. */
const RUN_ANEW = /\/node_modules\/(?:p-timeout\/|uuid\/dist-node\/)/;

/** Modules without state that reach no edge: all lives share them. */
const SHARED = [
  /^events\/|^lib\/text\/|^lib\/(?:errors|loopback|outgoing|redis-address)\.ts$/,
  /^store\/(?!server\/(?:postgres|postgres-tls|database)\.ts|partitions\/months-on-demand\.ts|log\/|events\/shared-events\.ts|reconcile\/)/,
  /^forward\/(?:send-batch|sender|redact|redaction-rules|destination-filter|formats\/.*|senders\/.*|parse-destinations)\.ts$/,
  /^(?:seal|alerts|config|sources|access)\/(?!sequencer\.ts|sealer\.ts)/,
  /^handlers\/(?:coerce|identity|failure-rules|delivery-tally|delivery-to-events|run-alone)\.ts$/,
  /^ingest\/(?:scan\/|normalize\.ts|read-body\.ts)|^erasure\/(?:person-names|phone-number)\.ts$/,
  /^queue\/(?:installation|delivery-observer|redis-client|redis-replicas|redis-rights|postgres-engine)\.ts$/,
];

/** Globals, and a constant of the sealer, that the modules of a process get from it. */
const GLOBALS = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
  'performance',
  'Date',
  'Math',
  'crypto',
  'sealStep',
];

const CREATE_POOL = 'export function createPool(';

/** Today's versions of a job and a segment, and how the next version would know and write one more. */
const DELIVERY_BATCH = `${SRC}queue/delivery-batch.ts`;
const UPGRADES = [
  ['z.literal([1, 2, 3])', 'z.literal([1, 2, 3, 4])'],
  ['isNew ? 3 : isPacked ? 2 : 1;', '4;'],
] as const;

/** A run has few events: with smaller steps, it has many of them. */
const SEALER = `${SRC}seal/sealer.ts`;
const STEP = ['const STEP = 40 * TILE_WIDTH;', 'const STEP = sealStep;'] as const;

const loaded = new Map<string, Promise<Modules>>();
let planted: Plant | undefined;

/** What was bundled, by the name that V8 has of it, and where its parts are from. */
export const bundles = new Map<string, { readonly text: string; readonly map: SourceMap }>();

/** Loads modules with this fault in them from now on. */
export function plant(next: Plant | undefined): void {
  planted = next;
  loaded.clear();
}

/** The modules of a role, of today's version or the next one. */
export function loadModules(role: 'ingest' | 'worker', isUpgraded: boolean): Promise<Modules> {
  const key = `${role} ${isUpgraded}`;
  const modules = loaded.get(key) ?? bundle(`${LIFE}${role}.ts`, isUpgraded);
  loaded.set(key, modules);
  return modules;
}

async function bundle(input: string, isUpgraded: boolean): Promise<Modules> {
  const bundled = await rolldown({
    input,
    platform: 'node',
    plugins: [edges(isUpgraded)],
    checks: { circularDependency: false },
  });
  const { output } = await bundled.generate({ format: 'esm', codeSplitting: false, sourcemap: true });
  await bundled.close();
  const [{ code, map }] = output;
  const imported: Record<string, unknown> = {};
  const names = new Set([...code.matchAll(IMPORT)].map(([, , from = '']) => from));
  for (const name of names) {
    const shared: unknown = await import(name);
    imported[name] = shared;
  }
  const text = code
    .replaceAll(
      IMPORT,
      (_, what: string, from: string) => `${asConstant(what)} = imported[${JSON.stringify(from)}];`,
    )
    .replaceAll(/^import "[^"]+";$/gm, '')
    .replaceAll(/^export \{[^}]*\};?$/gm, '')
    .replaceAll('import.meta', 'meta');
  const meta = { url: pathToFileURL(input).href, dirname: LIFE, filename: input };
  const filename = `${input}?${isUpgraded ? 'next' : 'today'}`;
  if (map !== null)
    bundles.set(pathToFileURL(filename).href, { text, map: new SourceMap({ sourceRoot: '', ...map }) });
  const run = compileFunction(text, ['imported', 'meta'], {
    filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  return () => void Reflect.apply(run, undefined, [imported, meta]);
}

/** An import that a bundle has at its beginning, from a module that all lives share. */
const IMPORT = /^import (.+) from "([^"]+)";$/gm;

/** `{ a as b }`, `c` or `* as d` of an import, as the left side of a declaration. */
function asConstant(imported: string): string {
  const [, whole] = /^\* as (.+)$/.exec(imported) ?? [];
  if (whole !== undefined) return `const ${whole}`;
  if (!imported.startsWith('{'))
    return asConstant(imported.replace(/^([^,]+)(?:, \{(.*)\})?$/, '{ default as $1, $2 }'));
  return `const ${imported.replaceAll(' as ', ': ').replace(', }', ' }')}`;
}

/** Puts the edges, the globals and the fault into modules, and leaves those alone that all lives share. */
function edges(isUpgraded: boolean): Plugin {
  return {
    name: 'edges',
    async resolveId(specifier, importer, options) {
      if (importer === undefined) return specifier;
      const isEdge = importer.startsWith(LIFE);
      const edge = isEdge ? undefined : EDGES.get(specifier);
      if (edge !== undefined) return edge;
      if (specifier.startsWith('node:')) return { id: specifier, external: true };
      const id = (await this.resolve(specifier, importer, { ...options, skipSelf: true }))?.id ?? specifier;
      const instead = isEdge ? undefined : EDGES.get(id);
      if (instead !== undefined) return instead;
      const isOwn =
        id.startsWith(LIFE) || (id.startsWith(SRC) && !isShared(id.slice(SRC.length))) || RUN_ANEW.test(id);
      if (isOwn) return id;
      const isFile = specifier.startsWith('.') || specifier.startsWith('/');
      return { id: isFile ? pathToFileURL(id).href : specifier, external: 'absolute' };
    },
    load: (id) => ({ code: textOf(id, isUpgraded), moduleType: 'js' }),
  };
}

const isShared = (file: string) => file !== planted?.file && SHARED.some((shared) => shared.test(file));

function textOf(file: string, isUpgraded: boolean): string {
  let source = readFileSync(file, 'utf8');
  if (planted !== undefined && file === SRC + planted.file) source = plantIn(source, planted);
  if (isUpgraded && file === DELIVERY_BATCH) source = replaceAll(source, UPGRADES);
  if (file === SEALER) source = replaceAll(source, [STEP]);
  let text = file.endsWith('.ts') ? stripTypeScriptTypes(source) : source;
  if (file.startsWith(LIFE)) return text;
  // At the end, so that all else stays where it is in the file.
  const more: string[] = [];
  const names = GLOBALS.filter((name) => text.includes(name) && !isImported(text, name));
  if (names.length > 0) more.push(`import { ${names.join(', ')} } from '${LIFE}globals.ts';`);
  if (text.includes(CREATE_POOL)) {
    text = text.replace(CREATE_POOL, 'function createRealPool(');
    more.push(`export { createPool } from '${LIFE}pool.ts';`);
  }
  return [text, ...more].join('\n');
}

function replaceAll(source: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((text, [today, instead]) => {
    if (!text.includes(today)) throw new Error(`the simulator looks for a text that is gone: ${today}`);
    return text.replace(today, instead);
  }, source);
}

const isImported = (text: string, name: string) =>
  [...text.matchAll(/import\s*\{([^}]*)\}/g)].some(([, names = '']) =>
    new RegExp(`\\b${name}\\b(?! as)`).test(names),
  );
