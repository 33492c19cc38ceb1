import { createLogger } from '../logger.ts';

/** A one-off command speaks by its output; its log holds only what went wrong. */
export const quietLogger = () => createLogger('warn');
