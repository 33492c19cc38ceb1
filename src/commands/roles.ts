/** The parts that `serve` can run by themselves, and all of them. */
export const ROLES = ['all', 'ingest', 'worker', 'forward', 'console'] as const;

/** Which parts one process runs; a larger set-up runs many of each on one queue and one database. */
export type Role = (typeof ROLES)[number];
