import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CLIENT_VIEWS } from '../routes/client-views.ts';
import { createSelection } from '../http/query.ts';
import { idsOf, onlineDevice, startEmulator } from './harness.ts';
import { DEVICE_VIEWS } from '../contract/device-views.ts';

import * as fc from 'fast-check';

const listSchema = z.object({ data: z.array(z.record(z.string(), z.unknown())).min(1) });

type Views = Readonly<Record<string, readonly string[]>>;

const KINDS: readonly { list: string; one: string; views: Views }[] = [
  { list: '/devices', one: '/devices', views: DEVICE_VIEWS },
  { list: '/clients/active', one: '/clients', views: CLIENT_VIEWS },
];

const VIEWS = KINDS.flatMap(({ list, one, views }) =>
  Object.entries(views).map(([view, fields]) => ({ list, one, view, fields })),
);

function fieldsOf(record: Record<string, unknown> | undefined): string[] {
  return Object.keys(record ?? {}).toSorted();
}

describe('views', () => {
  it.each(VIEWS)(
    '$list: $view selects exactly the fields of its row',
    async ({ list, one, view, fields }) => {
      const { call } = await startEmulator();
      const listed = listSchema.parse((await call('GET', `${list}?views=${view}`)).body).data;
      for (const record of listed) expect(fieldsOf(record)).toEqual(fields.toSorted());
      const [id] = await idsOf(call, list);
      const single = await call('GET', `${one}/${id}?views=${view}`);
      expect(fieldsOf(z.record(z.string(), z.unknown()).parse(single.body))).toEqual(fields.toSorted());
    },
  );

  it.each(['', '?views=', '?fields=', '?fields=&views='])('%j selects the view basic', async (query) => {
    const { call } = await startEmulator();
    const [record] = listSchema.parse((await call('GET', `/devices${query}`)).body).data;
    expect(fieldsOf(record)).toEqual(DEVICE_VIEWS.basic.toSorted());
  });

  it.each([
    ['views=status,client', ['active_clients', 'connected', 'device_admin_state']],
    ['views=status&views=client', ['active_clients', 'connected', 'device_admin_state']],
    ['fields=hostname,connected', ['connected', 'hostname']],
    ['views=client&fields=hostname', ['active_clients', 'hostname']],
    ['fields=country_code', ['country_code']],
    ['fields=id', ['id']],
  ])('%s selects the union', async (query, fields) => {
    const { call } = await startEmulator();
    const id = await onlineDevice(call);
    const answer = await call('GET', `/devices/${id}?${query}`);
    expect(fieldsOf(z.record(z.string(), z.unknown()).parse(answer.body))).toEqual(fields);
  });

  it.each(['views=nothing', 'fields=nothing', 'views=basic,nothing'])('%s is refused', async (query) => {
    const { call } = await startEmulator();
    expect((await call('GET', `/devices?${query}`)).status).toBe(400);
  });
});

it('any fields and views select their union, and nothing else', () => {
  const selection = createSelection(DEVICE_VIEWS);
  const names = [...new Set(Object.values(DEVICE_VIEWS).flat())];
  const record = Object.fromEntries(['id', ...names].map((name) => [name, name]));
  const views: Views = DEVICE_VIEWS;
  fc.assert(
    fc.property(fc.subarray(names), fc.subarray(Object.keys(views)), (fields, chosen) => {
      const union = [...fields, ...chosen.flatMap((view) => views[view] ?? [])];
      const expected = union.length === 0 ? DEVICE_VIEWS.basic : union;
      const picked = Object.keys(selection.pick(record, { fields, views: chosen }));
      expect(new Set(picked)).toEqual(new Set(expected));
    }),
  );
});

describe('pages', () => {
  it('cover a list without gap or overlap', async () => {
    const { call } = await startEmulator({ scale: { devices: 23, clients: 0, users: 0 } });
    const all = await idsOf(call, '/devices');
    const paged: unknown[] = [];
    for (const page of [1, 2, 3, 4]) {
      const answer = await call('GET', `/devices?limit=7&page=${page}&fields=id`);
      expect(answer.body).toMatchObject({ pagination: { total: 23 } });
      paged.push(...listSchema.parse(answer.body).data.map(({ id }) => id));
    }
    expect(paged).toEqual(all);
    expect((await call('GET', '/devices?limit=7&page=5')).body).toMatchObject({ data: [] });
  });

  it.each(['page=0', 'limit=0', 'limit=101', 'limit=ten', 'page=-1'])('%s is refused', async (query) => {
    const { call } = await startEmulator();
    expect((await call('GET', `/devices?${query}`)).status).toBe(400);
  });
});
