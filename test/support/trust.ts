import type { LogKey } from '../../src/seal/signed-note.ts';
import { parseVerifier } from '../../src/seal/signed-note.ts';
import type { Trust } from '../../src/seal/trust.ts';

/** A machine that knows nothing of the log. */
export const nothingKnown = async (): Promise<Trust> => ({ keys: [], seen: undefined });

/** A machine that knows the key of the log, and has not seen a checkpoint. */
export const knowing = (key: LogKey): Trust => ({ keys: [parseVerifier(key.publicText)], seen: undefined });
