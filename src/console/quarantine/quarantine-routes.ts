import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { addReplay, discardQuarantined, NO_REPLAYS } from '../../store/quarantine.ts';
import type { Replay } from '../../store/quarantine.ts';
import { readContent } from '../../store/search-quarantine.ts';
import type { Quarantined } from '../../store/search-quarantine.ts';
import { jsonRoute, streamRoute } from '../api/route.ts';
import type { ApiRoute } from '../api/route.ts';
import { choosePart, describeChoice } from './choose.ts';
import { describeQuarantined } from './describe-quarantined.ts';
import { readPage } from './page-of-quarantine.ts';
import {
  chosenBody,
  quarantinedSchema,
  quarantineQuery,
  toQuarantinedAnswer,
} from './quarantined-schemas.ts';
import { replaySchema, toReplayAnswer } from './replay-schemas.ts';

/** What the routes work with. */
export interface QuarantineOptions {
  readonly db: Db;
  /** Replays these, as a new delivery would be taken. Stops between two of them when the signal fires. */
  readonly replay: (items: readonly Quarantined[], signal: AbortSignal) => Promise<readonly Replay[]>;
}

/** One of quarantine, by its id. */
export const oneQuarantined = z.object({
  path: z.object({ quarantine_id: z.uuid('takes an id of quarantine') }),
});

/** Looking at quarantine, replaying, discarding. */
export function quarantineRoutes(options: QuarantineOptions): readonly ApiRoute[] {
  const { db } = options;
  return [listRoute(db), oneRoute(db), contentRoute(db), replayRoute(options), discardRoute(db)];
}

const listRoute = (db: Db) =>
  jsonRoute({
    method: 'get',
    path: '/quarantine',
    tag: 'quarantine',
    summary: 'what lies in quarantine and matches, newest first',
    asks: z.object({ query: quarantineQuery }),
    answer: z.object({
      items: z.array(quarantinedSchema),
      next_cursor: z.string().nullable(),
      total: z.number().int(),
    }),
    async work({ query }) {
      const { items, next, total } = await readPage(db, query);
      return { items: items.map(toQuarantinedAnswer), next_cursor: next ?? null, total };
    },
  });

const oneRoute = (db: Db) =>
  jsonRoute({
    method: 'get',
    path: '/quarantine/{quarantine_id}',
    tag: 'quarantine',
    summary: 'one in quarantine, and what became of it',
    asks: oneQuarantined,
    answer: quarantinedSchema.extend({
      replay_of: z.string().nullable().meta({ description: 'the id whose replay set it aside anew' }),
      again: z
        .array(z.object({ quarantine_id: z.string(), reason: z.string() }))
        .meta({ description: 'what its replay could not store either' }),
    }),
    async work({ path }) {
      const { item, replayOf, account } = await describeQuarantined(db, path.quarantine_id);
      const again = (account?.again ?? []).map(({ quarantineId, reason }) => ({
        quarantine_id: quarantineId,
        reason,
      }));
      return { ...toQuarantinedAnswer(item), replay_of: replayOf ?? null, again };
    },
  });

const contentRoute = (db: Db) =>
  streamRoute({
    method: 'get',
    path: '/quarantine/{quarantine_id}/content',
    tag: 'quarantine',
    summary: 'the bytes of one, as they came',
    asks: oneQuarantined,
    mediaTypes: { 'application/octet-stream': 'the bytes; none when it was discarded' },
    async work({ path: { quarantine_id: id } }, _asking, response) {
      await describeQuarantined(db, id);
      const content = await readContent(db, id);
      response.attachment(`quarantine-${id}.bin`).type('application/octet-stream').send(content);
    },
  });

const next = z.string().nullable().meta({ description: 'cursor of the next part; null when that was all' });

const replayRoute = ({ db, replay }: QuarantineOptions) =>
  jsonRoute({
    method: 'post',
    path: '/quarantine/replay',
    tag: 'quarantine',
    summary: 'read and store again what is chosen, as a new delivery is',
    description: 'Of what matches, one request takes a part: go on with next_cursor.',
    asks: z.object({ body: chosenBody }),
    answer: z.object({ results: z.array(replaySchema), next_cursor: next }),
    async work({ body }, { operator, signal }) {
      const part = await choosePart(db, body);
      const replays = await recordAction(
        db,
        {
          operator,
          action: 'quarantine.replay',
          subject: subjectOf(body.ids),
          details: describeChoice(body),
        },
        () => replay(part.items, signal),
        (all) => ({ ...all.reduce(addReplay, NO_REPLAYS) }),
      );
      const unknown = part.missing.map((quarantineId): Replay => ({ kind: 'unknown', quarantineId }));
      return { results: [...replays, ...unknown].map(toReplayAnswer), next_cursor: part.next ?? null };
    },
  });

const discardRoute = (db: Db) =>
  jsonRoute({
    method: 'post',
    path: '/quarantine/discard',
    tag: 'quarantine',
    summary: 'empty the bytes of what is chosen and open, for good',
    description: 'Of what matches, one request takes a part: go on with next_cursor.',
    asks: z.object({ body: chosenBody }),
    answer: z.object({ discarded: z.number().int(), next_cursor: next }),
    async work({ body }, { operator }) {
      const part = await choosePart(db, body);
      const ids = part.items.map((item) => item.quarantine_id);
      const discarded = await recordAction(
        db,
        {
          operator,
          action: 'quarantine.discard',
          subject: subjectOf(body.ids),
          details: describeChoice(body),
        },
        () => discardQuarantined(db, ids),
        (count) => ({ discarded: count }),
      );
      return { discarded, next_cursor: part.next ?? null };
    },
  });

/** One id is what it is done to; several stand in the details. */
const subjectOf = (ids: readonly string[] | undefined) => (ids?.length === 1 ? ids[0] : undefined);
