import { z } from 'zod';
import { strictSettings } from './setting-types.ts';

const perSecond = z
  .int()
  .min(1)
  .max(2 ** 40)
  .optional();

/** The member `limits` of a source in the settings file. */
export const sourceLimits = strictSettings({
  deliveries_per_second: perSecond,
  bytes_per_second: perSecond,
}).transform((limits) => ({
  deliveriesPerSecond: limits.deliveries_per_second,
  bytesPerSecond: limits.bytes_per_second,
}));

/** What a source may send to one ingest process: deliveries, and bytes of bodies as sent. Undefined: no limit. */
export type SourceLimits = z.output<typeof sourceLimits>;
