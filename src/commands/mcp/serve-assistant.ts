import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { resolveReferences, type Environment } from '../../config/references.ts';
import { createAssistant } from '../../console/assistant/tools.ts';
import { UsageError } from '../../lib/errors.ts';
import { note } from '../shared/output.ts';
import { createApi } from './api.ts';

/**
 * `mcp`: answers an assistant on standard input and output, until the input ends. The API decides what the token may see,
 * and records each question in the operator log. Throws a UsageError if there is no token at its place.
 */
export function serveAssistant(origin: string, place: string | undefined, env: Environment): void {
  const api = createApi(origin, place === undefined ? undefined : tokenAt(place, env));
  serveStdio(() => createAssistant(api), { onerror: (error) => note(error.message) });
}

function tokenAt(place: string, env: Environment): string {
  const [, kind = '', at = ''] = /^(env|file):(.+)$/s.exec(place) ?? [];
  if (kind === '') {
    throw new UsageError('--token must be env:NAME or file:/path: others on this machine can read arguments');
  }
  const missing = (_path: unknown, reason: string) => {
    throw new UsageError(`--token: ${reason}`);
  };
  return String(resolveReferences({ [kind]: at }, env, missing));
}
