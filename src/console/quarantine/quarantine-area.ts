import { z } from 'zod';
import { groupByBytes, replayQuarantined, type ReplayContext } from '../../replay/replay.ts';
import type { Db } from '../../store/server/database.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { addReplay, NO_REPLAYS, discardQuarantined, type Replay } from '../../store/quarantine/quarantine.ts';
import {
  readContent,
  readOpenQuarantine,
  type Quarantined,
} from '../../store/quarantine/search-quarantine.ts';
import type { Scope } from '../../store/server/scope.ts';
import { CHANGE_QUARANTINE, hasAccess, VIEW } from '../access/access.ts';
import { toAnswer, jsonRoute, parseInput, streamRoute, type ApiRoute } from '../api/route.ts';
import { pageSchema } from '../api/paging.ts';
import type { Area } from '../area.ts';
import type { Notice } from '../html/navigation.ts';
import { quarantinedPage, renderQuarantine } from './quarantine-pages.ts';
import {
  againSchema,
  chosenBody,
  quarantinedSchema,
  quarantineQuery,
  replaySchema,
  toQuarantinedAnswer,
  toReplayAnswer,
  choosePart,
  describeChoice,
  describeQuarantined,
  readQuarantine,
} from './read-quarantine.ts';

const IN_PARTS =
  'With matching, each request processes one part: repeat with cursor set to next_cursor until it is null.';

const SEE_CONTENT = { needs: 'quarantine.content', data: 'by source' } as const;

export function quarantineArea(options: QuarantineOptions): Area {
  const { db } = options;
  return {
    tag: 'quarantine',
    routes: quarantineRoutes(options),
    pages: [
      {
        path: '/quarantine',
        entry: {
          label: 'Quarantine',
          group: 'Delivery',
          icon: 'quarantine',
          needsPerson: ({ scope }) => openItems(db, scope),
        },
        ...VIEW,
        render: (request, visitor) => renderQuarantine(db, visitor, request),
      },
      {
        path: '/quarantine/:quarantine_id',
        ...VIEW,
        async render(request, visitor) {
          const { path } = parseInput(oneQuarantined, request);
          const described = await describeQuarantined(db, visitor.scope, path.quarantine_id);
          const maySee = hasAccess(visitor, SEE_CONTENT);
          const content = maySee ? await readContent(db, visitor.scope, path.quarantine_id) : undefined;
          return quarantinedPage(described, content, visitor);
        },
      },
    ],
  };
}

/** More open items are shown as `99+`. */
const MOST_COUNTED = 100;

async function openItems(db: Db, scope: Scope): Promise<Notice | undefined> {
  const { count: open } = await readOpenQuarantine(db, scope, MOST_COUNTED);
  if (open === 0) return undefined;
  const mark = open < MOST_COUNTED ? String(open) : `${MOST_COUNTED - 1}+`;
  return { kind: 'warn', mark, text: `Quarantine: ${mark} open` };
}

type QuarantineOptions = Omit<ReplayContext, 'scope' | 'giveUp'>;

const oneQuarantined = {
  path: z.object({ quarantine_id: z.uuid('must be the id of a quarantined item') }),
};

function quarantineRoutes(options: QuarantineOptions): readonly ApiRoute[] {
  const { db } = options;
  return [
    jsonRoute({
      route: 'GET /quarantine',
      summary: 'list quarantined items, newest first',
      ...VIEW,
      input: { query: quarantineQuery },
      answer: pageSchema(quarantinedSchema).extend({ total: z.number().int() }),
      async work({ query }, { scope }) {
        const page = await readQuarantine(db, scope, query);
        return { ...page, items: page.items.map(toQuarantinedAnswer) };
      },
    }),
    jsonRoute({
      route: 'GET /quarantine/{quarantine_id}',
      summary: 'get one quarantined item and the result of its replay',
      ...VIEW,
      input: oneQuarantined,
      answer: quarantinedSchema.extend({
        replay_of: z.string().nullable().describe('id of the item whose replay quarantined this one'),
        again: againSchema.describe('records that its replay quarantined again'),
      }),
      async work({ path }, { scope }) {
        const { item, replayOf, account } = await describeQuarantined(db, scope, path.quarantine_id);
        const again = account?.again.map(toAnswer) ?? [];
        return { ...toQuarantinedAnswer(item), replay_of: replayOf ?? null, again };
      },
    }),
    streamRoute({
      route: 'GET /quarantine/{quarantine_id}/content',
      summary: 'download the original content of one item',
      ...SEE_CONTENT,
      input: oneQuarantined,
      mediaTypes: { 'application/octet-stream': 'the content; empty if the item was discarded' },
      async work({ path: { quarantine_id: id } }, { scope }, response) {
        await describeQuarantined(db, scope, id);
        const content = await readContent(db, scope, id);
        response.attachment(`quarantine-${id}.bin`).type('application/octet-stream').send(content);
      },
    }),
    jsonRoute({
      route: 'POST /quarantine/replay',
      summary: 'replay the chosen items',
      description: IN_PARTS,
      ...CHANGE_QUARANTINE,
      input: { body: chosenBody },
      answer: z.object({ results: z.array(replaySchema), next_cursor: next }),
      async work({ body }, { operator, scope, signal: giveUp }) {
        const part = await choosePart(db, scope, body);
        const replays = await recordAction(
          db,
          { operator, action: 'quarantine.replay', ...describeChoice(body) },
          () => replayAll({ ...options, scope, giveUp }, part.items),
          (all) => ({ ...all.reduce(addReplay, NO_REPLAYS) }),
        );
        const unknown = part.missing.map((quarantineId): Replay => ({ kind: 'unknown', quarantineId }));
        return { results: [...replays, ...unknown].map(toReplayAnswer), next_cursor: part.next_cursor };
      },
    }),
    jsonRoute({
      route: 'POST /quarantine/discard',
      summary: 'delete the content of the chosen open items; the record of each item stays',
      description: IN_PARTS,
      ...CHANGE_QUARANTINE,
      input: { body: chosenBody },
      answer: z.object({ discarded: z.number().int(), next_cursor: next }),
      async work({ body }, { operator, scope }) {
        const part = await choosePart(db, scope, body);
        const ids = part.items.map((item) => item.quarantine_id);
        const discarded = await recordAction(
          db,
          { operator, action: 'quarantine.discard', ...describeChoice(body) },
          () => discardQuarantined(db, scope, ids),
          (count) => ({ discarded: count }),
        );
        return { discarded, next_cursor: part.next_cursor };
      },
    }),
  ];
}

const next = z.string().nullable().describe('cursor of the next part; null after the last part');

/** Replays items in transactions of limited size, as the command does. Stops between two when the signal fires. */
async function replayAll(context: ReplayContext, items: readonly Quarantined[]): Promise<readonly Replay[]> {
  const replays: Replay[] = [];
  for (const ids of groupByBytes(items, context.maxBodyBytes)) {
    if (context.giveUp.aborted)
      throw new Error(`stopped after ${replays.length}; the other items are unchanged`);
    replays.push(...(await replayQuarantined(context, ids)));
  }
  return replays;
}
