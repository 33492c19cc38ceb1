import { once } from 'node:events';
import { styleText } from 'node:util';
import { z } from 'zod';
import { commandName, quoteForShell } from '../src/lib/text/command-name.ts';
import { EMULATOR_LOGINS } from './accounts.ts';
import type { EmulatorLogin } from './accounts.ts';
import { createEmulator } from './emulator.ts';
import { DIALECTS } from './dialects.ts';
import type { EmulatorLogger } from './http/errors.ts';
import { SECRET_FORMS } from './sending/secret-forms.ts';

const wholeNumber = z
  .string()
  .regex(/^\d+$/, 'must be a whole number')
  .transform(Number)
  .pipe(z.int('must be below 2^53'));

const scale = z
  .string()
  .regex(/^\d+(,\d+){0,2}$/, 'must be DEVICES[,CLIENTS[,USERS]]')
  .transform((text) => {
    const [devices = 1, clients = devices * 4, users = devices * 2] = text.split(',').map(Number);
    return { devices, clients, users };
  });

const oneOf = <Word extends string>(words: readonly Word[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`);

/** Reads the options as typed on the command line. Each message states the values that the option accepts. */
export const emulatorOptionsSchema = z.object({
  port: wholeNumber.refine((port) => port <= 65_535, 'must be at most 65535'),
  host: z.string().min(1, 'must not be empty'),
  seed: wholeNumber,
  scale,
  rate: z
    .string()
    .regex(/^\d+(\.\d+)?$/, 'must be a number of deliveries per second')
    .transform(Number),
  secretForm: oneOf(SECRET_FORMS),
  dialect: oneOf(DIALECTS),
});

export type EmulatorOptions = z.output<typeof emulatorOptionsSchema>;

/** A running emulator: the base address of its API, and the accounts that can log in. */
export interface EmulatorStarted {
  url: string;
  logins: readonly EmulatorLogin[];
}

interface RunContext {
  /** Ends the run. */
  signal: AbortSignal;
  onStarted?: (started: EmulatorStarted) => void;
  logger?: EmulatorLogger;
}

/** Runs an emulator until the signal aborts. Rejects if it cannot listen. */
export async function runEmulator(
  { port, host, ...setup }: EmulatorOptions,
  { signal, onStarted, logger }: RunContext,
): Promise<void> {
  const emulator = createEmulator(logger === undefined ? setup : { ...setup, logger });
  const url = await emulator.listen(port, host);
  try {
    onStarted?.({ url, logins: Object.values(EMULATOR_LOGINS) });
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await emulator.close();
  }
}

/** The text that a terminal shows after the start. */
export function startedScreen({ url, logins }: EmulatorStarted): string {
  return [
    styleText('bold', `Cloud emulator running at ${url}`),
    '',
    'Accounts (user name, password, role):',
    ...logins.map(({ username, password, role }) => `  ${username}  ${password}  ${role}`),
    '',
    'Subscribe xiq-sink to it, in another terminal:',
    `  export CLOUD_API_URL=${url} CLOUD_USERNAME=${logins[0]?.username} CLOUD_PASSWORD=${logins[0]?.password}`,
    `  PUBLIC_URL=http://localhost:8080 SUBSCRIBE=auto ${quoteForShell(commandName())} serve`,
    '',
    `Delivery counts: curl ${url}/emulator/status`,
    `API description: ${url}/openapi.json`,
    '',
  ].join('\n');
}
