import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { plantIn, type Plant } from './plants.ts';

const here = (file: string) => new URL(file, import.meta.url).href;
const SRC = here('../../src/');
const LIFE = here('./life/');

/** The edges of a process: what its modules get instead. */
const EDGES: ReadonlyMap<string, string> = new Map([
  ['node:fs/promises', here('./life/fs-promises.ts')],
  ['node:timers/promises', here('./life/timers-promises.ts')],
  ['node:crypto', here('./life/crypto.ts')],
  [here('../../src/queue/redis-engine.ts'), here('./life/redis-engine.ts')],
]);

/** Packages that read the clock or draw by chance. */
const LOADED_ANEW = /\/node_modules\/(?:p-timeout\/|uuid\/dist-node\/(?:index|rng|v7)\.js)/;

/** Modules without state that reach no edge: all lives share them, because each life takes 70 ms to load. */
const SHARED = [
  /^events\/|^lib\/text\/|^lib\/(?:errors|loopback|outgoing|redis-address)\.ts$/,
  /^store\/(?!server\/(?:postgres|postgres-tls|database)\.ts|partitions\/months-on-demand\.ts|log\/|events\/shared-events\.ts|reconcile\/)/,
  /^forward\/(?:send-batch|sender|redact|redaction-rules|destination-filter|formats\/.*|senders\/.*|parse-destinations)\.ts$/,
  /^(?:seal|alerts|config|sources|access)\/(?!sequencer\.ts)/,
  /^handlers\/(?:coerce|identity|failure-rules|delivery-tally|delivery-to-events|run-alone)\.ts$/,
  /^ingest\/(?:scan\/|normalize\.ts|read-body\.ts)|^erasure\/(?:person-names|phone-number)\.ts$/,
  /^queue\/(?:installation|delivery-observer|redis-client|redis-replicas|redis-rights|postgres-engine)\.ts$/,
];

/** Globals that the modules of a process get from it. */
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
];

const CREATE_POOL = 'export function createPool(';

const texts = new Map<string, string>();
/** What a module imports by a name, whatever the life. */
const resolvedAs = new Map<
  string,
  { readonly url: string; readonly isOwn: boolean; readonly format: string | null }
>();
let planted: Plant | undefined;

/** Loads modules with this fault in them from now on. */
export function plant(next: Plant | undefined): void {
  planted = next;
  texts.clear();
}

/** Gives each life of a process, `?life=KEY`, modules of its own, with simulated edges. */
export function registerLives(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const life = /\?life=.*$/.exec(context.parentURL ?? '')?.[0];
      if (life === undefined) return next(specifier, context);
      const key = `${context.parentURL?.split('?')[0]} ${specifier.split('?')[0]}`;
      const known = resolvedAs.get(key);
      if (known !== undefined)
        return { url: known.isOwn ? known.url + life : known.url, format: known.format, shortCircuit: true };
      const isEdge = context.parentURL?.startsWith(LIFE) === true;
      const edge = isEdge ? undefined : EDGES.get(specifier);
      const resolved = next(specifier, context);
      const plain = resolved.url.replace(/\?life=.*$/, '');
      const url = edge ?? (isEdge ? undefined : EDGES.get(plain)) ?? plain;
      const isOwn =
        url.startsWith(LIFE) ||
        (url.startsWith(SRC) && !isShared(url.slice(SRC.length))) ||
        LOADED_ANEW.test(url);
      const format = isOwn ? 'module' : (resolved.format ?? null);
      resolvedAs.set(key, { url, isOwn, format });
      return { url: isOwn ? url + life : url, format, shortCircuit: true };
    },
    load(url, context, next) {
      const [plain = url, life] = url.split('?life=');
      if (life === undefined) return next(url, context);
      const text = texts.get(plain) ?? textOf(plain);
      texts.set(plain, text);
      return { format: 'module', source: text.replaceAll('?life=', `?life=${life}`), shortCircuit: true };
    },
  });
}

const isShared = (file: string) => file !== planted?.file && SHARED.some((shared) => shared.test(file));

function textOf(url: string): string {
  const file = fileURLToPath(url);
  let source = readFileSync(file, 'utf8');
  if (planted !== undefined && file.endsWith(`/src/${planted.file}`)) source = plantIn(source, planted);
  let text = file.endsWith('.ts') ? stripTypeScriptTypes(source) : source;
  if (url.startsWith(LIFE)) return text;
  const head: string[] = [];
  const names = GLOBALS.filter((name) => text.includes(name) && !isImported(text, name));
  if (names.length > 0)
    head.push(`import { ${names.join(', ')} } from '${here('./life/globals.ts')}?life=';`);
  if (text.includes(CREATE_POOL)) {
    text = text.replace(CREATE_POOL, 'function createRealPool(');
    head.push(`export { createPool } from '${here('./life/pool.ts')}?life=';`);
  }
  return head.join(' ') + text;
}

const isImported = (text: string, name: string) =>
  [...text.matchAll(/import\s*\{([^}]*)\}/g)].some(([, names = '']) =>
    new RegExp(`\\b${name}\\b(?! as)`).test(names),
  );
