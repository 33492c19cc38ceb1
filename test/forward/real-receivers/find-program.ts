import path from 'node:path';
import { hasOpenssl } from '../../support/certificates.ts';
import { findExecutable } from '../../support/executable.ts';

/** System programs are often not on the PATH of a user; unpacked packages (.ci/run) never are. */
const SYSTEM_DIRECTORIES = ['/usr/sbin', '/opt/syslog-ng/usr/sbin'];

/** The path of an installed program. */
export function findProgram(name: string): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(path.delimiter);
  return findExecutable(name, [...directories, ...SYSTEM_DIRECTORIES]);
}

/** The program of a receiver that needs certificates, and why its tests are skipped: undefined if it has all they need. */
export function findReceiver(name: string, missingOf: (program: string) => string | undefined) {
  const program = findProgram(name);
  if (program === undefined) return { program: '', missing: `${name} is not installed` };
  return { program, missing: hasOpenssl ? missingOf(program) : 'openssl is not installed' };
}
