import { DIALECT_MEANINGS, DIALECTS } from './dialects.ts';
import { SECRET_FORMS } from './sending/secret-forms.ts';

/** The defaults of the options, typed as on the command line; an emulator made in code has the same. */
export const DEFAULTS = {
  port: 8090,
  host: '127.0.0.1',
  seed: 1,
  scale: { devices: 50, clients: 200, users: 100 },
  rate: 5,
  secretForm: 'basic',
  dialect: 'vendor',
} as const;

/** One option: its name without dashes, its default as typed on the command line, and its meaning. */
interface EmulatorOption {
  name: keyof typeof DEFAULTS;
  default: string;
  meaning: string;
}

/** The options of `xiq-sink emulator` and of `node emulator/main.ts`. */
export const EMULATOR_OPTIONS: readonly EmulatorOption[] = [
  { name: 'port', default: String(DEFAULTS.port), meaning: 'port of the API' },
  {
    name: 'host',
    default: DEFAULTS.host,
    meaning: 'listen address; keep it on loopback, access is not restricted',
  },
  {
    name: 'seed',
    default: String(DEFAULTS.seed),
    meaning: 'the same seed gives the same network and events',
  },
  {
    name: 'scale',
    default: Object.values(DEFAULTS.scale).join(','),
    meaning: 'size of the network: DEVICES[,CLIENTS[,USERS]]',
  },
  { name: 'rate', default: String(DEFAULTS.rate), meaning: 'deliveries per second, over all subscriptions' },
  {
    name: 'secretForm',
    default: DEFAULTS.secretForm,
    meaning: `how a delivery carries the secret: ${SECRET_FORMS.join(', ')}`,
  },
  {
    name: 'dialect',
    default: DEFAULTS.dialect,
    meaning: `the published form of the API: ${DIALECTS.join(', ')}`,
  },
];

/** The flag of an option: `--secret-form` for `secretForm`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The dialects, one in a line, below the options of a help text. */
export function dialectHelp(): string {
  return ['', 'Dialects:', ...DIALECTS.map((name) => `  ${name.padEnd(7)} ${DIALECT_MEANINGS[name]}`)].join(
    '\n',
  );
}
