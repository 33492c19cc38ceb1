import { z } from 'zod';
import type { Replay } from '../../store/quarantine.ts';

/** What came of one replay. */
export const replaySchema = z
  .object({
    quarantine_id: z.string(),
    outcome: z.enum(['replayed', 'resolved', 'refused', 'unknown']).meta({
      description:
        'replayed: it became a delivery; resolved: it had been before; refused: it cannot be taken now and stays open; unknown: it is not there',
    }),
    delivery_id: z.string().nullable().meta({ description: 'the delivery that it became' }),
    events: z.number().int(),
    duplicates: z.number().int(),
    again: z
      .array(z.object({ quarantine_id: z.string(), reason: z.string() }))
      .meta({ description: 'what could not be read or stored this time either, under its new id' }),
    reason: z.string().nullable().meta({ description: 'why it was not replayed' }),
  })
  .meta({ id: 'Replay', description: 'What came of the replay of something in quarantine' });

const NOTHING = { delivery_id: null, events: 0, duplicates: 0, again: [], reason: null };

/** The outcome of a replay as the API answers it. */
export function toReplayAnswer(replay: Replay): z.output<typeof replaySchema> {
  const base = { ...NOTHING, quarantine_id: replay.quarantineId, outcome: replay.kind };
  switch (replay.kind) {
    case 'replayed': {
      const again = replay.again.map(({ quarantineId, reason }) => ({ quarantine_id: quarantineId, reason }));
      const { deliveryId, events, duplicates } = replay;
      return { ...base, delivery_id: deliveryId, events, duplicates, again };
    }
    case 'resolved': {
      const reason = `it was ${replay.resolution} already, ${replay.resolvedAt.toISOString()}`;
      return { ...base, delivery_id: replay.deliveryId, reason };
    }
    case 'refused':
      return { ...base, reason: replay.reason };
    case 'unknown':
      return { ...base, reason: 'it is not in quarantine' };
  }
}
