import type { Clock } from '../clock.ts';
import { deviceSchema, type Device, type DeviceField, type DeviceView } from './contract/device.ts';
import type { Call } from './exchange.ts';
import { readStartedOperation, type StartedOperation } from './operations.ts';
import { listAll } from './paging.ts';
import { path } from './addresses.ts';
import { readJson } from './json.ts';
import type { Request } from './request.ts';

/** The members of the device records: the union of fields and views, or the basic view if neither is set. */
interface Selection {
  fields?: readonly DeviceField[];
  views?: readonly DeviceView[];
  signal?: AbortSignal | undefined;
}

/** The devices of the account. */
export interface Devices {
  list(selection?: Selection): AsyncGenerator<Device, void, undefined>;
  get(id: string, selection?: Selection): Promise<Device>;
  /** Lists the devices in a long-running operation, whose `response` is the answer of the plain call. */
  startList(selection?: Selection): Promise<StartedOperation>;
}

const PAGE_LIMIT = 100;

export function createDevices(request: Request<Call>, baseUrl: string, clock: Clock): Devices {
  return {
    list: (selection = {}) =>
      listAll(request, {
        path: '/devices',
        query: queryOf(selection),
        limit: PAGE_LIMIT,
        item: deviceSchema,
        signal: selection.signal,
      }),
    async get(id, selection = {}) {
      const query = queryOf(selection);
      const at = path`/devices/${id}`;
      return readJson(
        deviceSchema,
        await request({ method: 'GET', path: at, query, signal: selection.signal }),
      );
    },
    async startList(selection = {}) {
      const query = { ...queryOf(selection), async: true };
      const answer = await request({ method: 'GET', path: '/devices', query, signal: selection.signal });
      return readStartedOperation(answer, baseUrl, clock.now());
    },
  };
}

function queryOf({ fields, views }: Selection): Record<string, string | undefined> {
  return { fields: fields?.join(','), views: views?.join(',') };
}
