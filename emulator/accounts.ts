/** The two roles that the specification shows. */
export const ROLES = ['Administrator', 'Operator'] as const;

export type Role = (typeof ROLES)[number];

/** An account that can log in to the emulator. */
export interface EmulatorLogin {
  username: string;
  password: string;
  role: Role;
}

/** The accounts of every emulator, whatever its seed. They are not secret: they give access to an emulator only. */
export const EMULATOR_LOGINS = {
  administrator: { username: 'admin@emulator.test', password: 'emulated-admin', role: 'Administrator' },
  operator: { username: 'operator@emulator.test', password: 'emulated-operator', role: 'Operator' },
} as const satisfies Record<string, EmulatorLogin>;
