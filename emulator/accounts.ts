import type { Role } from './roles.ts';

/** Somebody who can log in to the emulator. */
export interface EmulatorLogin {
  username: string;
  password: string;
  role: Role;
}

/** The accounts every emulator has, whatever its seed. They are no secret: they open nothing but a stand-in. */
export const EMULATOR_LOGINS = {
  administrator: { username: 'admin@emulator.test', password: 'emulated-admin', role: 'Administrator' },
  operator: { username: 'operator@emulator.test', password: 'emulated-operator', role: 'Operator' },
} as const satisfies Record<string, EmulatorLogin>;
