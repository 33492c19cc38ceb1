import { Client } from 'pg';
import { z } from 'zod';

/** What is in Postgres. */
export interface Found {
  /** How many events each delivery must account for, by its id. */
  readonly deliveries: ReadonlyMap<string, number>;
  /** How many rows each number has. */
  readonly rows: ReadonlyMap<number, number>;
  /** What each delivery has in quarantine, by its id. */
  readonly quarantine: ReadonlyMap<string, readonly string[]>;
  /** Whether each line of the view `conservation` adds up, and the rows are as many as it says. */
  readonly addsUp: boolean;
}

const Delivery = z.object({ delivery_id: z.string(), expected_count: z.number() });
const Numbered = z.object({ source: z.string(), number: z.string() });
const Quarantined = z.object({ delivery_id: z.string(), content: z.instanceof(Buffer) });
const Line = z.object({ adds_up: z.boolean(), event_count: z.coerce.number() });

/** Reads all of it; the rows of `source` alone, if given. Rejects when the database does not answer. */
export async function readFound(databaseUrl: string, source?: string): Promise<Found> {
  return asking(databaseUrl, async (ask) => {
    const deliveries = await ask(Delivery, 'select delivery_id, expected_count from deliveries');
    const audit = await ask(Numbered, 'select source, user_id::text as number from audit_events');
    const macs = await ask(Numbered, 'select source, client_mac::text as number from location_observations');
    const quarantine = await ask(Quarantined, 'select delivery_id, content from quarantine');
    const lines = await ask(Line, 'select adds_up, event_count from conservation');

    const rows = new Map<number, number>();
    const isAsked = (row: z.output<typeof Numbered>) => source === undefined || row.source === source;
    const numbers = [
      ...audit.filter(isAsked).map(({ number }) => Number(number)),
      ...macs.filter(isAsked).map(({ number }) => Number.parseInt(number.replaceAll(':', ''), 16)),
    ];
    for (const number of numbers) rows.set(number, (rows.get(number) ?? 0) + 1);
    const kept = Map.groupBy(quarantine, ({ delivery_id }) => delivery_id);
    return {
      deliveries: new Map(deliveries.map((row) => [row.delivery_id, row.expected_count])),
      rows,
      quarantine: new Map(
        kept.entries().map(([id, parts]) => [id, parts.map(({ content }) => content.toString())]),
      ),
      addsUp:
        lines.every((line) => line.adds_up) &&
        lines.reduce((sum, line) => sum + line.event_count, 0) === audit.length + macs.length,
    };
  });
}

const Count = z.tuple([z.object({ count: z.coerce.number() })]);

/** How many deliveries are stored. */
export async function countDeliveries(databaseUrl: string): Promise<number> {
  return asking(databaseUrl, async (ask) => {
    const rows = await ask(z.unknown(), 'select count(*) from deliveries');
    return Count.parse(rows)[0].count;
  });
}

type Ask = <T>(row: z.ZodType<T>, statement: string) => Promise<T[]>;

/** All questions of one call see the same moment: workers may still be storing. */
async function asking<T>(databaseUrl: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('begin isolation level repeatable read, read only');
    return await work(async (row, statement) =>
      z.array(row).parse((await client.query({ text: statement })).rows),
    );
  } finally {
    await client.end();
  }
}
