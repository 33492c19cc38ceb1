import { DEFAULT_RATE, DEFAULT_SCALE, DEFAULT_SECRET_FORM, DEFAULT_SEED } from './defaults.ts';
import type { EmulatorOptionName } from './run-emulator.ts';
import { SECRET_FORMS } from './secret-forms.ts';

/** One option of the command: its name without dashes, its default as it would be typed, and what it means. */
export interface EmulatorOption {
  name: EmulatorOptionName;
  default: string;
  meaning: string;
}

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
