import { Queue, Worker } from 'bullmq';
import express from 'express';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { authorizationOf, FORMS } from './workloads.ts';

/**
 * The receiver that a developer would write first: Express parses the body, one BullMQ job contains one request, and a
 * worker inserts the records of the job one by one. It answers once the job is in Redis, so its answer promises as much
 * as that of xiq-sink. It does not recognize redeliveries, and does not keep unreadable bodies.
 */

interface AuditRecord {
  ownerId: number;
  orgId: number;
  timeStamp: number;
  id: string | null;
  userId: number;
  code: number;
  category: number;
  description: string;
  userName: string;
  vhmName: string;
  orgName: string | null;
  deviceCount: number | null;
  hostNames: string[] | null;
  config: unknown;
  deviceIds: number[] | null;
}

interface LocationRecord {
  clientMac: string;
  ipv4: string;
  seenEpoch: number;
  lat: number;
  lng: number;
  deviceObservers: { apMac: string; rssi: number; locationIdHierarchy: number[] }[];
}

type Delivery =
  | { type: 'AUDIT_LOG_ALL'; receivedAt: number; records: AuditRecord[] }
  | { type: 'LOCATION_CLIENT_CENTRIC'; receivedAt: number; records: LocationRecord[] };

const { DATABASE_URL = '', REDIS_URL = '', PORT = '', WEBHOOK_SECRET = '', CONCURRENCY = '' } = process.env;

/** What the header may contain. */
const AUTHORIZATIONS = new Set(FORMS.map((form) => authorizationOf(form, WEBHOOK_SECRET)));

/** Concurrent jobs. */
const concurrency = Number(CONCURRENCY);

const pool = new Pool({ connectionString: DATABASE_URL, max: concurrency });

await pool.query(`
  create table plain_events (
    id bigserial primary key,
    message_type text not null,
    occurred_at timestamptz not null,
    received_at timestamptz not null,
    owner_id bigint,
    org_id bigint,
    user_id bigint,
    code bigint,
    category bigint,
    device_count bigint,
    device_ids bigint[],
    host_names text[],
    record_id text,
    user_name text,
    vhm_name text,
    org_name text,
    description text,
    config jsonb,
    rssi double precision,
    lat double precision,
    lng double precision,
    client_mac macaddr,
    ap_mac macaddr,
    ipv4 inet,
    location_id_hierarchy bigint[],
    payload jsonb not null
  )`);
await pool.query('create index on plain_events (occurred_at)');
await pool.query('create index on plain_events (user_name, occurred_at)');
await pool.query('create index on plain_events (client_mac, occurred_at)');

const queue = new Queue<Delivery>('deliveries', { connection: new Redis(REDIS_URL) });

const worker = new Worker<Delivery>('deliveries', async ({ data }) => store(data), {
  connection: new Redis(REDIS_URL, { maxRetriesPerRequest: null }),
  concurrency,
});
worker.on('error', (error) => console.error(error));
worker.on('failed', (_job, error) => console.error(error));

async function store(delivery: Delivery): Promise<void> {
  const receivedAt = new Date(delivery.receivedAt);
  if (delivery.type === 'AUDIT_LOG_ALL') {
    for (const record of delivery.records) await insertAudit(record, receivedAt);
  } else {
    for (const record of delivery.records) await insertLocation(record, receivedAt);
  }
}

async function insertAudit(record: AuditRecord, receivedAt: Date): Promise<void> {
  await pool.query(
    `insert into plain_events (
       message_type, occurred_at, received_at, owner_id, org_id, record_id, user_id, code, category, description,
       user_name, vhm_name, org_name, device_count, host_names, config, device_ids, payload
     ) values ('AUDIT_LOG_ALL', $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
    [
      new Date(record.timeStamp),
      receivedAt,
      record.ownerId,
      record.orgId,
      record.id,
      record.userId,
      record.code,
      record.category,
      record.description,
      record.userName,
      record.vhmName,
      record.orgName,
      record.deviceCount,
      record.hostNames,
      record.config,
      record.deviceIds,
      JSON.stringify(record),
    ],
  );
}

async function insertLocation(record: LocationRecord, receivedAt: Date): Promise<void> {
  for (const observer of record.deviceObservers) {
    await pool.query(
      `insert into plain_events (
         message_type, occurred_at, received_at, client_mac, ipv4, lat, lng, ap_mac, rssi, location_id_hierarchy,
         payload
       ) values ('LOCATION_CLIENT_CENTRIC', $1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        new Date(record.seenEpoch),
        receivedAt,
        record.clientMac,
        record.ipv4,
        record.lat,
        record.lng,
        observer.apMac,
        observer.rssi,
        observer.locationIdHierarchy,
        JSON.stringify({ ...record, deviceObservers: [observer] }),
      ],
    );
  }
}

const app = express();
app.use(express.json({ limit: '10mb' }));
app.get('/readyz', (_request, response) => void response.send('ok'));
app.use((request, response, next) => {
  if (AUTHORIZATIONS.has(request.get('authorization') ?? '')) next();
  else response.status(401).json({ error: 'wrong secret' });
});
app.post<object, object, AuditRecord[]>('/ingest/default/AUDIT_LOG_ALL', async (request, response) => {
  await enqueue({ type: 'AUDIT_LOG_ALL', receivedAt: Date.now(), records: request.body });
  response.json({ status: 'ok' });
});
app.post<object, object, LocationRecord[]>(
  '/ingest/default/LOCATION_CLIENT_CENTRIC',
  async (request, response) => {
    await enqueue({ type: 'LOCATION_CLIENT_CENTRIC', receivedAt: Date.now(), records: request.body });
    response.json({ status: 'ok' });
  },
);

async function enqueue(delivery: Delivery): Promise<void> {
  await queue.add('delivery', delivery, { removeOnComplete: true });
}

app.listen(Number(PORT), '127.0.0.1');

process.once('SIGTERM', () => process.exit());
