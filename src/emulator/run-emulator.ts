import { once } from 'node:events';
import { z } from 'zod';
import { EMULATOR_LOGINS } from './accounts.ts';
import type { EmulatorLogin } from './accounts.ts';
import {
  createEmulator,
  DEFAULT_RATE,
  DEFAULT_SCALE,
  DEFAULT_SECRET_FORM,
  DEFAULT_SEED,
} from './emulator.ts';
import type { EmulatorLogger } from './handle-errors.ts';
import { SECRET_FORMS } from './secret-forms.ts';

/** One option of the command: its name without dashes, its default as it would be typed, and what it means. */
export interface EmulatorOption {
  name: keyof z.input<typeof emulatorOptionsSchema>;
  default: string;
  meaning: string;
}

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

/** The options of `xiq-sink emulator`. */
export const EMULATOR_OPTIONS: readonly EmulatorOption[] = [
  { name: 'port', default: '8090', meaning: 'port of the API' },
  { name: 'host', default: '127.0.0.1', meaning: 'address to listen on; nothing protects it off loopback' },
  { name: 'seed', default: String(DEFAULT_SEED), meaning: 'same seed, same network' },
  {
    name: 'scale',
    default: `${DEFAULT_SCALE.devices},${DEFAULT_SCALE.clients},${DEFAULT_SCALE.users}`,
    meaning: 'how many devices, clients and users: DEVICES[,CLIENTS[,USERS]]',
  },
  { name: 'rate', default: String(DEFAULT_RATE), meaning: 'deliveries a second in total' },
  {
    name: 'secretForm',
    default: DEFAULT_SECRET_FORM,
    meaning: `how a delivery carries its secret: ${SECRET_FORMS.join(', ')}`,
  },
];

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
