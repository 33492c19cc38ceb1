import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import express, { type Router } from 'express';

/** Modules of npm packages that the browser imports under the same names as the server. */
const PACKAGES = {
  preact: fileOf('preact'),
  'preact/hooks': fileOf('preact/hooks'),
  htm: fileOf('htm'),
  'htm/preact': fileOf('htm/preact'),
  // Its module is not minified; this script is, and `textOf` makes a module of it.
  uplot: path.join(folderOf('uplot'), 'dist/uPlot.iife.min.js'),
};

const BROWSER_DIRECTORY = path.join(import.meta.dirname, './browser');
const UPLOT_STYLE = path.join(folderOf('uplot'), 'dist/uPlot.min.css');

/** Relative to that directory, as in their addresses: their imports of each other are the same there. */
const browserFiles = globSync('**/*.{ts,css,svg}', { cwd: BROWSER_DIRECTORY }).toSorted();

/** Changes with any of the files, so that browsers can cache them forever: a new version has new addresses. */
const version = hash(
  'sha256',
  [...Object.values(PACKAGES), UPLOT_STYLE, ...browserFiles.map((name) => path.join(BROWSER_DIRECTORY, name))]
    .map((file) => hash('sha256', readFileSync(file)))
    .join(),
).slice(0, 12);

const BASE = `/assets/${version}`;

export const ASSETS = {
  modules: BASE,
  style: `${BASE}/console.css`,
  icon: `${BASE}/icon.svg`,
  uplotStyle: `${BASE}/uplot.css`,
};

const nameOf = (specifier: string) => `${specifier.replaceAll('/', '-')}.mjs`;

const addressOf = (specifier: string) =>
  `${BASE}/${specifier in PACKAGES ? `npm/${nameOf(specifier)}` : specifier}`;

const filesOf = new Map<string, string>([
  ...Object.entries(PACKAGES),
  ...browserFiles.map((name) => [name, path.join(BROWSER_DIRECTORY, name)] as const),
]);

/** The names of the modules that each one imports. */
const imports = new Map([...filesOf].map(([name, file]) => [name, importsOf(name, file)]));

function importsOf(name: string, file: string): readonly string[] {
  const specifiers = readFileSync(file, 'utf8')
    .replaceAll(/^import type .*$/gm, '')
    .matchAll(/\bfrom ?["']([\w./-]+)["']/g);
  return [...specifiers].map(([, from = '']) =>
    from.startsWith('.') ? path.posix.join(path.posix.dirname(name), from) : from,
  );
}

/** The addresses of modules and of everything that they import, so that a browser loads all of them at once. */
export function modulesFor(names: readonly string[]): readonly string[] {
  const all = new Set(names);
  for (const name of all) for (const from of imports.get(name) ?? []) if (filesOf.has(from)) all.add(from);
  return [...all].map(addressOf);
}

/** The import map of every page, exactly as hashed for the Content-Security-Policy. */
export const IMPORT_MAP = JSON.stringify({
  imports: Object.fromEntries(Object.keys(PACKAGES).map((specifier) => [specifier, addressOf(specifier)])),
});

/** The hash that allows the import map, an inline script (CSP Level 3, section 2.3.1). */
export const IMPORT_MAP_HASH = `'sha256-${hash('sha256', IMPORT_MAP, 'base64')}'`;

/** A file as browsers run it: types become blanks, so that every line and column stays where it is. */
function textOf(specifier: string, file: string): string {
  const text = readFileSync(file, 'utf8');
  if (specifier.endsWith('.ts')) return stripTypeScriptTypes(text);
  return specifier === 'uplot' ? `${text}\nexport default uPlot;` : text;
}

const ENCODERS = {
  br: promisify(brotliCompress),
  gzip: promisify(gzip),
  identity: async (text: string) => Buffer.from(text),
};

/**
 * Serves the modules and styles of the console, and only those files of the packages above. They are public, like the
 * repository, so that neither a login nor the database holds them up. Each is made once, when it is first asked for.
 */
export function serveAssets(): Router {
  const router = express.Router({ caseSensitive: true });
  const send = (address: string, read: () => string) => {
    const bodies = new Map<string, Promise<Buffer>>();
    router.get(address, async (request, response) => {
      // Browsers list gzip first, although Brotli is smaller.
      const encoding =
        (['br', 'gzip'] as const).find((one) => request.acceptsEncodings(one) !== false) ?? 'identity';
      response.type(path.extname(address).replace('ts', 'js')).vary('Accept-Encoding');
      // Express keeps a header that is set, and other answers are not to be kept.
      response.set('Cache-Control', 'public, max-age=31536000, immutable');
      if (encoding !== 'identity') response.set('Content-Encoding', encoding);
      const body = bodies.get(encoding) ?? ENCODERS[encoding](read());
      bodies.set(encoding, body);
      response.send(await body);
    });
  };
  for (const [name, file] of filesOf) send(addressOf(name), () => textOf(name, file));
  send(ASSETS.uplotStyle, () => readFileSync(UPLOT_STYLE, 'utf8'));
  return router;
}

/** The file that an ES module import resolves to. */
function fileOf(specifier: string): string {
  return fileURLToPath(import.meta.resolve(specifier));
}

function folderOf(name: string): string {
  return path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
}
