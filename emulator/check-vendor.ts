import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Dialect } from './dialects.ts';
import { createEmulator } from './emulator.ts';
import { CLOUD_TYPES } from '../src/events/domain.ts';
import { createCall, logIn } from './test/call.ts';
import type { Answered, Call } from './test/call.ts';
import { addressOf } from './test/endpoint-row.ts';
import type { EndpointRow, Request } from './test/endpoint-row.ts';
import { FURTHER_ROWS, SPECIFIED_ROWS } from './test/endpoint-rows.ts';
import { findOperation, operationName, readDescription } from './vendor/description.ts';
import type { Description, Operation } from './vendor/description.ts';
import { createSchemas } from './vendor/json-schema.ts';
import type { Schemas } from './vendor/json-schema.ts';

// Holds the emulator against what the vendor describes: `npm run check:emulator` the dialect `sdk` against the members
// that the schemas of the vendor's SDK require, `npm run check:emulator -- PATH` the dialect `vendor` against the vendor's
// published OpenAPI description. Exits with 1 if an answer differs for a reason that is not listed here.

/** What the schemas of the SDK require, as an OpenAPI description. */
const REQUIRED_MEMBERS = join(import.meta.dirname, 'vendor', 'required-members.yaml');

const OPTIONAL_LIST = 'the SDK describes lists without required members, the published description no body';

/** Why some operations answer otherwise than described. */
const REASONS: Readonly<Record<string, string>> = {
  'GET /auth/permissions': 'the description has one text, here it is a list of names',
  'POST /devices/:manage': OPTIONAL_LIST,
  'POST /devices/{}/:manage': OPTIONAL_LIST,
  'POST /devices/:onboard': OPTIONAL_LIST,
};

const EVENTS = 50;

const members = z.record(z.string(), z.unknown());

/** What the description says, and its schemas. */
interface Described extends Description {
  schemas: Schemas;
}

/** The outcome of one operation: no differences if it answers as described. */
interface Outcome {
  name: string;
  differences: string[];
}

const [path] = process.argv.slice(2);
const description = readDescription(await readFile(path ?? REQUIRED_MEMBERS, 'utf8'));
await check(path === undefined ? 'sdk' : 'vendor', {
  ...description,
  schemas: createSchemas(description.namedSchemas),
});

/** Calls each operation that both know, and reports how it answers. */
async function check(dialect: Dialect, described: Described): Promise<void> {
  const scale = { devices: 60, clients: 60, users: 20 };
  const emulator = createEmulator({ dialect, rate: 0, scale, quota: 1_000_000 });
  const url = await emulator.listen(0);
  for (const type of CLOUD_TYPES) emulator.happen(type, EVENTS);
  const rows = [...SPECIFIED_ROWS, ...FURTHER_ROWS];
  const outcomes: Outcome[] = [];
  try {
    for (const row of rows) {
      const name = operationName(row.method, row.path);
      const operation = described.operations.get(name);
      if (operation === undefined) continue;
      const call = withSamples(createCall(url, await logIn(url, 'administrator')), described);
      outcomes.push({ name, differences: await differencesOf(call, row, operation, described.schemas) });
    }
  } finally {
    await emulator.close();
  }
  report(described, rows.length, outcomes);
}

/** Calls an operation and compares its answer with the description. */
async function differencesOf(
  call: Call,
  row: EndpointRow,
  { answers }: Operation,
  schemas: Schemas,
): Promise<string[]> {
  const request = published(await row.request(call));
  const answer = await call(row.method, addressOf(row, request), request);
  if (!answers.has(answer.status)) {
    return [`status ${answer.status}, described: ${[...answers.keys()].join(', ')} ${refusal(answer)}`];
  }
  const schema = answers.get(answer.status);
  if (schema === undefined) return answer.body === undefined ? [] : ['a body that is not described'];
  if (answer.body === undefined) return ['no body'];
  return [...new Set(schemas.differences(schema, answer.body))];
}

/** A request for all fields of a record, as the published interface names them. */
function published(request: Request): Request {
  const { query } = request;
  if (query?.includes('views=') !== true) return request;
  return { ...request, query: `${query.replaceAll(/(?:views|fields)=[^&]*&?/g, '')}&views=FULL` };
}

/** A call whose body has a sample of each further member that the description has. */
function withSamples(call: Call, { operations, schemas }: Described): Call {
  return (method, path, options = {}) => {
    const { requestBody } = findOperation(operations, method, path) ?? {};
    const own = members.safeParse(options.body).data;
    if (requestBody === undefined || own === undefined) return call(method, path, options);
    const further = members.safeParse(schemas.sample(requestBody)).data;
    return call(method, path, { ...options, body: { ...further, ...own } });
  };
}

function refusal({ status, text }: Answered): string {
  return status < 400 ? '' : text;
}

function report({ version, operations }: Described, emulated: number, outcomes: readonly Outcome[]): void {
  const differing = outcomes.filter(({ differences }) => differences.length > 0);
  const unexplained = differing.filter(({ name }) => REASONS[name] === undefined);
  const lines = [
    `The description ${version} has ${operations.size} operations, the emulator ${emulated}.`,
    `Both have ${outcomes.length}: ${outcomes.length - differing.length} answer as described, ` +
      `${differing.length - unexplained.length} differ for a known reason, ${unexplained.length} for none.`,
    ...differing.flatMap(({ name, differences }) => [
      '',
      `${name}: ${REASONS[name] ?? 'no known reason'}`,
      ...differences.map((difference) => `  ${difference}`),
    ]),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exitCode = unexplained.length === 0 ? 0 : 1;
}
