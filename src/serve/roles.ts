/** The parts that `serve` can run by themselves, and all of them. */
export const ROLES = ['all', 'ingest', 'worker', 'forward', 'console'] as const;

/** Which parts one process runs; a larger set-up runs many of each on one queue and one database. */
export type Role = (typeof ROLES)[number];

/** Whether a role takes deliveries. */
export const receivesIn = (role: Role) => role === 'all' || role === 'ingest';

/** Whether a role stores deliveries. */
export const storesIn = (role: Role) => role === 'all' || role === 'worker';

/** Whether a role forwards events. */
export const forwardsIn = (role: Role) => role === 'all' || role === 'forward';
