import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { findExecutable } from '../support/executable.ts';

const execute = promisify(execFile);

/** Without what `npm run` put in front: the places shall find the Node.js of the machine, not the one of this checkout. */
const PATH = (process.env['PATH'] ?? '')
  .split(path.delimiter)
  .filter((folder) => !folder.split(path.sep).includes('node_modules'))
  .join(path.delimiter);

export const isRoot = process.getuid?.() === 0;

/** Where the machine has this program; undefined where it has not. */
export const findProgram = (name: string): string | undefined =>
  findExecutable(name, PATH.split(path.delimiter));

/** What a person's session has, whichever the place: nothing of the settings of xiq-sink. */
const SESSION = [
  'HOME',
  'LANG',
  'TERM',
  'CI',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
];

/** How this machine's npm gets at its registry. Other users and other installations of Node.js have to be told. */
const NPM_SETTINGS = ['registry', 'cafile', 'proxy', 'https-proxy'];

/** The environment of a person on this machine who has not started anything yet. */
export async function machineEnvironment(): Promise<Readonly<Record<string, string>>> {
  const session = SESSION.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const { stdout } = await execute('npm', ['config', 'get', ...NPM_SETTINGS], {
    env: { ...process.env, PATH },
  });
  const npm = stdout.split('\n').flatMap((line) => {
    const [, name, value] = /^([^=]+)=(.+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined || ['null', 'undefined'].includes(value)) return [];
    return [[`npm_config_${name.replaceAll('-', '_')}`, value] as const];
  });
  return { ...Object.fromEntries([...session, ...npm]), PATH };
}
