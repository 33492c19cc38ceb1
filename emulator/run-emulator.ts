import { once } from 'node:events';
import { z } from 'zod';
import { EMULATOR_LOGINS } from './accounts.ts';
import type { EmulatorLogin } from './accounts.ts';
import { createEmulator } from './emulator.ts';
import type { EmulatorLogger } from './handle-errors.ts';
import { SECRET_FORMS } from './secret-forms.ts';

const wholeNumber = z.string().regex(/^\d+$/, 'expected a whole number').transform(Number);

const scale = z
  .string()
  .regex(/^\d+(,\d+){0,2}$/, 'expected DEVICES[,CLIENTS[,USERS]]')
  .transform((text) => {
    const [devices = 1, clients = devices * 4, users = devices * 2] = text.split(',').map(Number);
    return { devices, clients, users };
  });

/** Reads the options as typed; each message says what the option takes. */
export const emulatorOptionsSchema = z.object({
  port: wholeNumber.pipe(z.int().max(65_535)),
  host: z.string().min(1),
  seed: wholeNumber.pipe(z.int()),
  scale,
  rate: z
    .string()
    .regex(/^\d+(\.\d+)?$/, 'expected a number of deliveries a second')
    .transform(Number),
  secretForm: z.enum(SECRET_FORMS),
});

export type EmulatorOptions = z.output<typeof emulatorOptionsSchema>;

/** The names of the options, without dashes. */
export type EmulatorOptionName = keyof z.input<typeof emulatorOptionsSchema>;

/** What a start-up screen shows. */
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

/** Runs an emulator until the signal aborts; rejects where it cannot listen. */
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
