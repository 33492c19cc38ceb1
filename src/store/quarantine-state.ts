/** What lies in quarantine open, what was resolved in one of the ways, or all of it. */
export const QUARANTINE_STATES = ['open', 'replayed', 'discarded', 'all'] as const;

export type QuarantineState = (typeof QUARANTINE_STATES)[number];
