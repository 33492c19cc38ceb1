import type { EmulatedSecretForm } from './secret-forms.ts';
import type { Scale } from './world.ts';

/** How an emulator is set up unless told otherwise. */
export const DEFAULT_SEED = 1;
export const DEFAULT_SCALE: Scale = { devices: 50, clients: 200, users: 100 };
export const DEFAULT_RATE = 5;
export const DEFAULT_SECRET_FORM: EmulatedSecretForm = 'basic';
