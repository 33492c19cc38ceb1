import type { Config } from '../../src/config/config.ts';
import type { LogKey } from '../../src/seal/signed-note.ts';
import { parseVerifier } from '../../src/seal/signed-note.ts';
import type { Trust } from '../../src/seal/trust.ts';

/** A machine that knows nothing of the log. */
export const nothingKnown = async (): Promise<Trust> => ({ keys: [], seen: undefined, witnesses: [] });

/** A machine that knows the key of the log, and has not seen a checkpoint. */
export const knowing = (key: LogKey): Trust => ({
  keys: [parseVerifier(key.publicText)],
  seen: undefined,
  witnesses: [],
});

/** Settings without a place that keeps checkpoints. */
export const NO_ANCHORS: Pick<Config, 'anchors'> = {
  anchors: { file: undefined, url: undefined, timestampUrl: undefined, witnesses: [] },
};
