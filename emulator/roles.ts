import { isReading } from './grants.ts';
import { PERMISSION_NAMES } from './permissions.ts';

/**
 * The two roles the specification has seen. Which permissions a role has is not shown; here an administrator has all
 * of them and an operator those that change nothing.
 */
export const ROLES = ['Administrator', 'Operator'] as const;

export type Role = (typeof ROLES)[number];

/** The permissions of each role. */
export const PERMISSIONS_OF: Readonly<Record<Role, readonly string[]>> = {
  Administrator: PERMISSION_NAMES,
  Operator: PERMISSION_NAMES.filter(isReading),
};
