/** The parts of `serve`, and `all` of them in one process. */
export const ROLES = ['all', 'ingest', 'worker', 'forward', 'console'] as const;

/** Which parts a process runs. A large installation runs several of each on one queue and one database. */
export type Role = (typeof ROLES)[number];

export const receivesIn = (role: Role) => role === 'all' || role === 'ingest';

export const storesIn = (role: Role) => role === 'all' || role === 'worker';

export const forwardsIn = (role: Role) => role === 'all' || role === 'forward';
