import { existsSync } from 'node:fs';
import { mkdir, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { literal } from '../src/archive/engine.ts';
import { nullAs, sortedBy, writeParquet } from '../src/archive/file-format.ts';
import type { MessageType } from '../src/events/domain.ts';
import type { ArchivedColumn } from '../src/store/archive/archive-tables.ts';
import type { NewFile } from '../src/store/archive/archived-files.ts';

/** The number of each among the written events. A client or user is there on every fifth day. */
export const PRESENT = { clients: 100_000, users: 20_000, ssids: 40, accessPoints: 2_000 } as const;

const DAYS_BETWEEN = 5;

/** Later days repeat these, with other times: to draw a day takes four times as long. A multiple of the days between. */
const DRAWN_DAYS = 60;
const DAY_MS = 86_400_000;

/** What DuckDB writes of a type: its columns, of a drawn event with `t`, `client`, `ap` and `number`. */
interface WrittenType {
  readonly table: string;
  readonly columns: Readonly<Record<string, string>>;
}

const macOf = (vendor: string, number: string) =>
  `regexp_replace(lpad(lower(to_hex((${number} * 7919) % 16777216)), 6, '0'), '(..)(..)(..)', '${vendor}:\\1:\\2:\\3')`;

const ENVELOPE = {
  id: 'number',
  xid: '(1000 + number // 50)::ubigint',
  occurred_at: 't',
  received_at: "t + interval '1 second'",
  owner_id: '1234567::bigint',
  event_id: 'uuid()',
  delivery_id: 'md5((number // 50)::varchar)::uuid',
  source: "'main'",
  origin: "'webhook'",
  place: '(number % 50)::integer',
};

export const WRITTEN_TYPES = {
  LOCATION_AP_CENTRIC: {
    table: 'location_observations',
    columns: {
      ...ENVELOPE,
      message_type: "'LOCATION_AP_CENTRIC'",
      client_mac: 'client_mac',
      ap_mac: 'ap_mac',
      ipv4: 'ipv4',
      rssi: 'rssi::double',
      lat: '47.37 + y / 111000',
      lng: '8.54 + x / 75000',
      unc: '5::double',
      x: 'x',
      y: 'y',
      ssid: 'ssid',
      manufacturer: 'vendor',
      os: 'os',
      payload: `('{"apMac": "' || ap_mac || '", "ownerId": "1234567", "observations": [{"x": ' || x || ', "y": ' || y || ', "os": "' || os
        || '", "lat": ' || (47.37 + y / 111000) || ', "lng": ' || (8.54 + x / 75000) || ', "unc": 5, "ipv4": "' || ipv4
        || '", "ipv6": null, "rssi": ' || rssi || ', "ssid": "' || ssid || '", "clientMac": "' || client_mac
        || '", "seenTime": "' || strftime(t, '%Y-%m-%dT%H:%M:%S.%g+0000') || '", "seenEpoch": ' || epoch_ms(t) || ', "manufacturer": "' || vendor || '"}]}')::json`,
    },
  },
  AUTHENTICATION_LOG_ALL: {
    table: 'log_entries',
    columns: {
      ...ENVELOPE,
      message_type: "'AUTHENTICATION_LOG_ALL'",
      record_id: 'number::varchar',
      username: 'username',
      client_mac: 'client_mac',
      ap_mac: 'ap_mac',
      ssid: 'ssid',
      identity: 'username',
      device_serial_number: "'SN' || ap",
      auth_type: "'PEAP'",
      reply: "case when number % 9 = 0 then 'Access-Reject' else 'Access-Accept' end",
      reject_reason: "case when number % 9 = 0 then 'wrong password' end",
      payload: `('{"id": ' || number || ', "ssid": "' || ssid || '", "reply": "' || case when number % 9 = 0 then 'Access-Reject' else 'Access-Accept' end
        || '", "ownerId": 1234567, "authDate": ' || epoch_ms(t) || ', "authType": "PEAP", "identity": "' || username || '", "username": "' || username
        || '", "timeStamp": ' || epoch_ms(t) || ', "callingStationId": "' || client_mac || '", "calledStationId": "' || ap_mac || ':' || ssid || '"}')::json`,
    },
  },
} as const satisfies Partial<Record<MessageType, WrittenType>>;

export type WrittenTypeName = keyof typeof WRITTEN_TYPES;

/** Draws the events of a day: few clients and access points are busy, and most are not. */
const drawn = (rows: number, day: Date) => {
  const number = Math.round(day.getTime() / DAY_MS);
  const oneOf = (count: number, power: number) => `floor(power(random(), ${power}) * ${count})::bigint`;
  return `
  select *, ${macOf('f0:d1:a9', 'client')} as client_mac, ${macOf('00:19:77', 'ap')} as ap_mac,
    '10.' || client // 62500 || '.' || client // 250 % 250 || '.' || client % 250 as ipv4,
    'user' || client % ${PRESENT.users} || '@example.com' as username, 'net' || client % ${PRESENT.ssids} as ssid,
    ['Apple', 'Samsung', 'Intel', 'Raspberry Pi'][1 + client % 4] as vendor, ['iOS', 'Android', 'Windows', 'Linux'][1 + client % 4] as os
  from (
    select ${number} * ${rows}::bigint + i as number, ${literal(day.toISOString())}::timestamptz + to_milliseconds((${DAY_MS} * (i / ${rows}))::bigint) as t,
      ${oneOf(PRESENT.clients / DAYS_BETWEEN, 2)} * ${DAYS_BETWEEN} + ${number % DAYS_BETWEEN} as client,
      ${oneOf(PRESENT.accessPoints, 1.5)} as ap, -40 - floor(random() * 50)::integer as rssi,
      round(random() * 80, 1) as x, round(random() * 50, 1) as y
    from range(${rows}) as numbers (i)
  ) as one`;
};

/** Writes the files of the archive as `archive` would, with so many events a day. Those that an earlier run wrote are kept. */
export async function* writeDays(
  directory: string,
  type: WrittenTypeName,
  columns: readonly ArchivedColumn[],
  { first, days, rows }: { readonly first: Date; readonly days: number; readonly rows: number },
): AsyncGenerator<NewFile> {
  const instance = await DuckDBInstance.create(':memory:', { preserve_insertion_order: 'true' });
  const connection = await instance.connect();
  await connection.run(`set timezone = 'UTC'`);
  for (let number = 0; number < days; number += 1) {
    const day = new Date(first.getTime() + number * DAY_MS);
    yield await writeDay(connection, directory, type, columns, day, rows);
  }
  connection.closeSync();
}

async function writeDay(
  connection: DuckDBConnection,
  directory: string,
  type: WrittenTypeName,
  columns: readonly ArchivedColumn[],
  day: Date,
  rows: number,
): Promise<NewFile> {
  const { table, columns: values } = WRITTEN_TYPES[type];
  const { file, relative } = fileOf(directory, type, day);
  await mkdir(path.dirname(file), { recursive: true });
  if (!existsSync(file)) {
    const selected = Object.entries(values).map(([column, value]) => `${value} as ${column}`);
    const nulls = columns.map(nullAs).join(', ');
    const events = `(select ${selected.join(', ')} from (${drawn(rows, day)}) union all by name select ${nulls} where false)`;
    const earlier = fileOf(directory, type, new Date(day.getTime() - DRAWN_DAYS * DAY_MS));
    const later = ['occurred_at', 'received_at'].map(
      (time) => `${time} + interval '${DRAWN_DAYS} days' as ${time}`,
    );
    const statement = existsSync(earlier.file)
      ? `select * replace (${later.join(', ')}) from ${literal(earlier.file)}`
      : `select * from ${events} order by ${sortedBy(table)}`;
    await connection.run(writeParquet(statement, `${file}.part`));
    await rename(`${file}.part`, file);
  }
  const end = new Date(day.getTime() + Math.floor((DAY_MS * (rows - 1)) / rows));
  const [firstAt, lastAt] = [day.toISOString(), end.toISOString()];
  const { size } = await stat(file);
  return {
    path: relative,
    family_table: table,
    source: 'main',
    message_type: type,
    first_at: firstAt,
    last_at: lastAt,
    first_received_at: firstAt,
    last_received_at: lastAt,
    row_count: rows,
    bytes: size,
    sha256: '',
    table_bytes: 0,
  };
}

function fileOf(directory: string, type: WrittenTypeName, day: Date) {
  const name = day.toISOString().slice(0, 10);
  const relative = path.join(WRITTEN_TYPES[type].table, name.slice(0, 7), `${name}-main-${type}.parquet`);
  return { relative, file: path.join(directory, relative) };
}
