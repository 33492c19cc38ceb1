import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Strips the types of this package when npm has installed it. Node.js does so itself everywhere but below
 * `node_modules`. With this, an installed package runs the same files as a checkout: no build, no second layout, the
 * same lines in errors. Threads get it, too, as they inherit `--import`.
 */
const PACKAGE = new URL('..', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(PACKAGE) || !url.endsWith('.ts')) return nextLoad(url, context);
    const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});
