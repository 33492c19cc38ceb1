import autocannon from 'autocannon';
import type { Client } from 'autocannon';
import { CONNECTIONS, LoadOptions } from './apply-load.ts';
import type { LoadResult } from './apply-load.ts';
import { createLatencies } from './latencies.ts';
import { authorizationOf, fill, WORKLOADS } from './workloads.ts';

/**
 * The load's process without wrk, and for a load of a limited rate: sends the workload that its argument describes and prints the LoadResult.
 *
 * When the time is over, each connection still waits for its last answer. It is unknown whether the delivery of a closed
 * connection was accepted, so rows could not be compared with answers.
 */
const { origin, secret, workload, seconds, rate } = LoadOptions.parse(JSON.parse(process.argv[2] ?? ''));
const { messageType, form, template } = WORKLOADS[workload];

/** Connections without an answer this long after the end are closed. */
const PATIENCE_SECONDS = 30;

const clients: Client[] = [];
const latencies = createLatencies();
let sent = 0;
let endedAt = 0;
const startedAt = Date.now();

const run = autocannon({
  url: `${origin}/ingest/default/${messageType}`,
  method: 'POST',
  headers: { authorization: authorizationOf(form, secret), 'content-type': 'application/json' },
  connections: CONNECTIONS,
  pipelining: 1,
  ...(rate === undefined ? {} : { overallRate: rate }),
  duration: seconds + PATIENCE_SECONDS,
  sampleInt: 100,
  setupClient: (client) => void clients.push(client),
  requests: [{ setupRequest: (request) => ({ ...request, body: fill(template, (sent += 1), Date.now()) }) }],
});
run.on('response', (_client, status, _bytes, milliseconds) => {
  if (status < 200 || status > 299) return;
  latencies.add(milliseconds);
  endedAt = Date.now();
});
setTimeout(() => {
  for (const client of clients) client.responseMax = 1;
}, seconds * 1_000);

const { errors, non2xx } = await run;
const result: LoadResult = {
  startedAt,
  endedAt,
  acknowledged: latencies.count(),
  refused: non2xx,
  unanswered: errors,
  p50: latencies.percentile(50),
  p99: latencies.percentile(99),
};
process.stdout.write(JSON.stringify(result));
