import { z } from 'zod';
import { CloudApiError, HTML_ADVICE, isMissing } from './cloud-api-error.ts';
import { homeAccountSchema, viqInfoSchema } from './contract/account.ts';
import { permissionCheckResponseSchema, permissionSchema, tokenInfoSchema } from './contract/auth.ts';
import { listedDeviceSchema, LISTED_DEVICE_MEMBERS } from './contract/device.ts';
import { locationSchema } from './contract/location.ts';
import { ALERT_MEMBERS, alertSchema, LOG_KINDS, LOG_MEMBERS, logRecordSchema } from './contract/logs.ts';
import { hiqContextSchema, organizationSchema } from './contract/organization.ts';
import { LIST_FORMS } from './contract/shared.ts';
import { subscriptionSchema, alertSubscriptionSchema } from './contract/subscription.ts';
import { userSchema } from './contract/user.ts';
import type { Answer, Call } from './exchange.ts';
import { NOT_UNDERSTOOD, VIEW_FORMS } from './inventory.ts';
import { jsonOrNothing } from './json.ts';
import { readList } from './paging.ts';
import type { Request } from './request.ts';
import { membersOf, shapeOf } from './shape.ts';
import { countOf } from '../lib/text/units.ts';
import { DAY_MS } from '../lib/clock.ts';

/** A read-only call whose answer is compared with the documented forms. */
export interface Probe {
  readonly name: string;
  readonly call: Call;
  readonly isList: boolean;
  /** The object, or an item of the list. */
  readonly item: z.ZodType;
  /** The documented members of an item; undefined for a call beyond a documented limit, of which only the status counts. */
  readonly members: readonly string[] | undefined;
  /** The same call in another documented form, for a cloud that does not understand this one. */
  readonly otherwise?: Probe;
}

/** The result of a probe. The report contains no identifiers and no data: member names, types and counts only. */
export interface Observation {
  readonly result:
    'as documented' | 'new members' | 'undocumented' | 'not permitted' | 'not offered' | 'failed';
  readonly report: string;
}

/** The probes of every resource that this program reads. The first one succeeds with any valid token. */
export function probesAt(now: number): Probe[] {
  const firstPage = { page: 1, limit: 100 };
  const devices = (form: (typeof VIEW_FORMS)[number]) =>
    list('/devices', { ...firstPage, ...form }, listedDeviceSchema, LISTED_DEVICE_MEMBERS);
  const lastDay = { ...firstPage, startTime: now - DAY_MS, endTime: now };
  return [
    object('/auth/apitoken/info', tokenInfoSchema),
    object('/account/home', homeAccountSchema),
    object('/account/viq', viqInfoSchema),
    list('/auth/permissions', {}, permissionSchema, ['name', 'description', 'category']),
    {
      ...object('/auth/permissions/:check', permissionCheckResponseSchema),
      name: 'POST /auth/permissions/:check',
      call: {
        method: 'POST',
        path: '/auth/permissions/:check',
        json: { uri: '/subscriptions/webhook', method: 'get' },
        repeatable: true,
      },
    },
    list('/subscriptions/webhook', firstPage, subscriptionSchema, Object.keys(subscriptionSchema.shape)),
    list(
      '/alert-subscriptions/webhooks',
      {},
      alertSubscriptionSchema,
      Object.keys(alertSubscriptionSchema.shape),
    ),
    ...LOG_KINDS.map((kind) => list(`/logs/${kind}`, lastDay, logRecordSchema, LOG_MEMBERS[kind])),
    list('/alerts', lastDay, alertSchema, ALERT_MEMBERS),
    { ...devices(VIEW_FORMS[0]), otherwise: devices(VIEW_FORMS[1]) },
    list('/locations/tree', {}, locationSchema, Object.keys(locationSchema.shape)),
    list('/users', firstPage, userSchema, Object.keys(userSchema.shape)),
    object('/hiq/context', hiqContextSchema),
    list('/hiq/organizations', {}, organizationSchema, Object.keys(organizationSchema.shape)),
    beyondLimit('/logs/audit', 'limit 500', { ...lastDay, limit: 500 }),
    beyondLimit('/logs/audit', '31 days', { ...lastDay, startTime: now - 31 * DAY_MS }),
    beyondLimit('/logs/auth', 'limit 101', { ...lastDay, limit: 101 }),
  ];
}

function object(path: string, item: z.ZodType & { readonly shape: object }): Probe {
  const members = Object.keys(item.shape);
  return { name: `GET ${path}`, call: { method: 'GET', path }, isList: false, item, members };
}

function list(
  path: string,
  query: NonNullable<Call['query']>,
  item: z.ZodType,
  members: readonly string[],
): Probe {
  return { name: `GET ${path}`, call: { method: 'GET', path, query }, isList: true, item, members };
}

function beyondLimit(path: string, limit: string, query: NonNullable<Call['query']>): Probe {
  const call: Call = { method: 'GET', path, query };
  return { name: `GET ${path}, ${limit}`, call, isList: true, item: z.unknown(), members: undefined };
}

/** Makes the call of a probe. Rejects only if the signal is aborted. */
export async function observe(
  request: Request<Call>,
  probe: Probe,
  signal?: AbortSignal,
): Promise<Observation> {
  try {
    return compare(probe, await request({ ...probe.call, signal }));
  } catch (error) {
    signal?.throwIfAborted();
    if (probe.otherwise === undefined || !isMissing(error, NOT_UNDERSTOOD)) return observeError(probe, error);
    return observe(request, probe.otherwise, signal);
  }
}

function compare(probe: Probe, { status, text }: Answer): Observation {
  const { isList, item, members } = probe;
  if (members === undefined) return { result: 'as documented', report: `accepted with ${status}` };
  const body = jsonOrNothing(text);
  const listed = isList ? readList(body) : undefined;
  const items = listed?.items ?? [body];
  if (!z.array(item).safeParse(items).success) {
    return { result: 'undocumented', report: `${status}, no documented form: ${shapeOf(body)}` };
  }
  const found = membersOf(items);
  const unknown = [...found.keys()].filter((name) => !members.includes(name));
  const absent = found.size === 0 ? [] : members.filter((name) => !found.has(name));
  const named = (names: Iterable<string>) =>
    [...names].map((name) => `${name} ${[...(found.get(name) ?? [])].join(' or ')}`.trimEnd()).join(', ');
  const parts = [
    `${status}, ${listed === undefined ? typeof body : `${listed.form} (${LIST_FORMS[listed.form]}), ${countOf(items.length, 'item')}`}`,
    found.size === 0 ? '' : `members: ${named(found.keys())}`,
    unknown.length === 0 ? '' : `not documented: ${named(unknown)}`,
    absent.length === 0 ? '' : `absent: ${absent.join(', ')}`,
  ];
  const report = parts.filter((part) => part !== '').join('; ');
  return { result: unknown.length === 0 ? 'as documented' : 'new members', report };
}

/** The message of the cloud may contain names, so only its status and code are reported. */
function observeError({ members }: Probe, error: unknown): Observation {
  const status = error instanceof CloudApiError ? error.status : undefined;
  if (!(error instanceof CloudApiError) || status === undefined)
    return { result: 'failed', report: 'no answer' };
  if (error.isHtml) return { result: 'failed', report: `${status}, ${HTML_ADVICE}` };
  const code = /^[A-Z_]{1,40}$/.exec(error.errorCode ?? '')?.[0];
  const report = `refused with ${status}${code === undefined ? '' : ` ${code}`}`;
  if (status === 403) return { result: 'not permitted', report };
  if (members === undefined && (status === 400 || status === 422)) return { result: 'as documented', report };
  return { result: status === 404 || status === 405 ? 'not offered' : 'failed', report };
}
