import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { SECRET } from '../support/program.ts';

const FLOOD = path.join(import.meta.dirname, 'flood-source.ts');
const run = promisify(execFile);

/** What a noisy source sends: see `flood-source.ts`. */
export interface Noise {
  readonly bodies: readonly string[];
  readonly connections: number;
  readonly requests?: number;
  readonly stalls?: boolean;
}

/**
 * Sends as much as it can to a URL, from a process of its own. Resolves with the answers by status; 0 stands for
 * connections that broke.
 */
export async function makeNoise(url: string, noise: Noise, seconds: number): Promise<Record<string, number>> {
  const options = { requests: null, stalls: false, ...noise, url, secret: SECRET, seconds };
  // It would be on a machine of its own: here it gets what the service, its database and the quiet sender leave.
  const { stdout } = await run('nice', ['-n', '19', process.execPath, FLOOD, JSON.stringify(options)]);
  return z.record(z.string(), z.number()).parse(JSON.parse(stdout));
}
