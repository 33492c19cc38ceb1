/**
 * The rooms of `src/` by floor, from top to bottom. Imports run down only, types included: a file imports its own room and
 * those of the floors below.
 */
export const FLOORS: readonly (readonly string[])[] = [
  ['commands'],
  ['serve'],
  ['console'],
  [
    'access',
    'alerts',
    'archive',
    'embedded',
    'erasure',
    'forward',
    'handlers',
    'ingest',
    'inventory',
    'observe',
    'reconcile',
    'replay',
    'reports',
    'seal',
    'sources',
    'subscribe',
  ],
  ['cloud', 'config', 'queue'],
  ['store'],
  ['events'],
  ['lib'],
];

/** The rooms of the same floor that a room imports, too. No two of them need each other. */
export const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  access: ['ingest'],
  alerts: ['forward', 'handlers'],
  archive: ['forward', 'seal'],
  erasure: ['archive', 'ingest'],
  handlers: ['erasure', 'observe'],
  inventory: ['sources'],
  reconcile: ['handlers', 'sources'],
  replay: ['handlers', 'ingest'],
  reports: ['forward'],
  seal: ['handlers'],
  subscribe: ['handlers'],
};

/** The only file of `src/` that is in no room. It imports any of them, and nothing imports it. */
export const ENTRY = 'src/main.ts';

/** Folders of `src/` that the emulator, a program of its own, shares with the service. */
export const SHARED_WITH_EMULATOR: readonly string[] = ['src/cloud/contract', 'src/events', 'src/lib'];

/** The rooms that run the emulator. */
export const RUN_EMULATOR: readonly string[] = ['commands'];

/** The rooms that speak SQL. */
export const SPEAK_SQL: readonly string[] = ['store', 'embedded'];
