/** The two roles that the specification shows. */
export const SPECIFIED_ROLES = ['Administrator', 'Operator'] as const;

/** All roles of the vendor's description, where they are spelled `HELP_DESK`. */
export const ROLES = [
  ...SPECIFIED_ROLES,
  'Monitor',
  'Help Desk',
  'Guest Management',
  'Observer',
  'Installer',
  'Application Operator',
] as const;

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
