import { z } from 'zod';
import {
  createSubscriptionsRequestSchema,
  updateSubscriptionRequestSchema,
} from '../../emulator/contract/subscription.ts';
import { standIn, type Received, type Reply, type StandIn as Answering } from '../support/stand-in.ts';

/** A subscription as the stand-in holds it. */
export interface Held {
  id: number;
  application: string | null;
  url: string;
  secret: string;
  message_type: string;
  status: string;
}

/** How the stand-in behaves; tests change it as they go. */
interface Behaviour {
  /** Called before every answer; one that it gives goes out in the place of the stand-in's. */
  intercept: (call: Received) => Reply | undefined;
  /** The status that the create of this number, counted from 0, fails with, and whether it is done all the same. */
  failCreate: (index: number) => { status: number; isDone: boolean } | undefined;
  /** Whether there is a list of subscriptions. */
  lists: boolean;
  /** The body of one page of the list. */
  listBody: (page: ListPage) => unknown;
  /** The status of an update where there is no such call. */
  refusesUpdates: 404 | 405 | undefined;
  /** The route of deletions, and the status of their answers. */
  deletes: 'by path' | 'by query';
  deleteStatus: 200 | 202;
  /** What `GET /subscriptions/webhook` makes of a subscription. */
  show: (held: Held) => object;
  /** Whether creating tells the new subscriptions (200), or nothing (202). */
  tellsCreated: boolean;
  /** How often a list is asked for before it shows what was created. */
  listsUntilShown: number;
  scopes: string[];
  role: string;
  /** The permissions and roles that allow a call, as the check answers them. */
  checkBody: (permissions: { name: string }[]) => object;
  /** The status in the place of all alert subscriptions, where there are none. */
  refusesAlerts: 403 | 404 | 405 | undefined;
}

interface ListPage {
  page: number;
  limit: number;
  total: number;
  data: object[];
}

/** A page as the published description shapes it. */
const flatPage = ({ page, limit, total, data }: ListPage) => ({
  page,
  count: data.length,
  total_pages: Math.ceil(total / limit),
  total_count: total,
  data,
});

/** An alert subscription as the stand-in holds it. */
export interface HeldAlert {
  id: number;
  url: string;
  secret: string;
  is_enabled: boolean;
  is_subscribe_all: boolean;
  alert_policy_ids: number[];
}

const alertBody = z.strictObject({
  url: z.url(),
  secret: z.string(),
  is_enabled: z.boolean(),
  is_subscribe_all: z.boolean(),
  alert_policy_ids: z.array(z.int()),
});

const TIMES = { create_time: '2026-11-01T08:00:00.000+0000', update_time: '2026-11-01T08:00:00.000+0000' };

/**
 * The documented dialects. `mixed` has something of each, and refuses updates by the status that also means that there is
 * no such subscription.
 */
export const DIALECTS: Readonly<Record<string, Partial<Behaviour>>> = {
  specification: { lists: false, refusesAlerts: 404 },
  'specification with a list': {
    listBody: ({ total, data }) => ({ pagination: { total }, data }),
    refusesAlerts: 405,
  },
  'published description until 25.1': {
    listBody: ({ data }) => data,
    tellsCreated: false,
    deleteStatus: 202,
    refusesUpdates: 405,
    refusesAlerts: 404,
  },
  'published description 25.9': {
    listBody: (page) => [flatPage(page)],
    tellsCreated: false,
    deleteStatus: 202,
    role: 'ADMINISTRATOR',
    checkBody: (permissions) => ({
      permissions: permissions.map(({ name }) => ({ name, description: name, category: 'Notification' })),
      roles: ['ADMINISTRATOR', 'OPERATOR'],
    }),
  },
  SDK: { tellsCreated: false, deletes: 'by query', deleteStatus: 202, role: 'ADMINISTRATOR' },
  mixed: {
    listBody: (page) =>
      page.page === 1 ? [flatPage(page)] : { pagination: { total: page.total }, data: page.data },
    tellsCreated: false,
    listsUntilShown: 1,
    refusesUpdates: 404,
    deletes: 'by query',
    role: 'HELP_DESK',
    scopes: [],
    checkBody: (permissions) => ({ permissions: permissions.map(({ name }) => name), roles: ['Help Desk'] }),
  },
};

/** A cloud of nothing but subscriptions, whose state a test reads and writes. */
export interface StandIn extends Answering {
  held: Held[];
  heldAlerts: HeldAlert[];
  behaviour: Behaviour;
  /** The calls that wanted to change something, as method and path. */
  changes(): string[];
}

export async function startStandIn(dialect: Partial<Behaviour> = {}): Promise<StandIn> {
  const held: Held[] = [];
  const heldAlerts: HeldAlert[] = [];
  const queued: { subscription: Held; lists: number }[] = [];
  const behaviour: Behaviour = {
    intercept: () => undefined,
    failCreate: () => undefined,
    lists: true,
    listBody: flatPage,
    refusesUpdates: undefined,
    deletes: 'by path',
    deleteStatus: 200,
    show: (subscription) => subscription,
    tellsCreated: true,
    listsUntilShown: 0,
    scopes: ['subscriptions-webhook'],
    role: 'Administrator',
    checkBody: (permissions) => ({ permissions, roles: ['Administrator'] }),
    refusesAlerts: undefined,
    ...dialect,
  };
  let lastId = 100;
  let creates = 0;

  function create(body: string): Reply {
    const failure = behaviour.failCreate(creates);
    creates += 1;
    if (failure?.isDone === false) return { status: failure.status };
    const created = createSubscriptionsRequestSchema.parse(JSON.parse(body)).map((request): Held => {
      lastId += 1;
      return { ...request, id: lastId, status: request.status ?? 'ENABLED' };
    });
    for (const subscription of created) queued.push({ subscription, lists: behaviour.listsUntilShown });
    show();
    if (failure !== undefined) return { status: failure.status };
    return behaviour.tellsCreated ? { json: created } : { status: 202 };
  }

  /** Moves what was queued long enough among what is held. */
  function show(): void {
    const shown = queued.filter(({ lists }) => lists <= 0);
    queued.splice(0, queued.length, ...queued.filter(({ lists }) => lists > 0));
    held.push(...shown.map(({ subscription }) => subscription));
  }

  function list(query: URLSearchParams): Reply {
    if (!behaviour.lists) return { status: 404 };
    const [page, limit] = [Number(query.get('page')), Number(query.get('limit'))];
    const data = held
      .slice((page - 1) * limit, page * limit)
      .map((one) => ({ ...TIMES, data_type: one.message_type.replace(/_ALL$/, ''), ...behaviour.show(one) }));
    const json = behaviour.listBody({ page, limit, total: held.length, data });
    for (const one of queued) one.lists -= 1;
    show();
    return { json };
  }

  function remove(id: number): Reply {
    const index = held.findIndex((subscription) => subscription.id === id);
    if (index === -1) return { status: 404 };
    held.splice(index, 1);
    return { status: behaviour.deleteStatus };
  }

  function change({ method, body }: Received, id: number): Reply {
    if (method === 'DELETE') return behaviour.deletes === 'by path' ? remove(id) : { status: 405 };
    const subscription = held.find((one) => one.id === id);
    if (behaviour.refusesUpdates !== undefined) return { status: behaviour.refusesUpdates };
    if (subscription === undefined) return { status: 404 };
    Object.assign(subscription, updateSubscriptionRequestSchema.parse(JSON.parse(body)));
    return { json: subscription };
  }

  function changeAlert({ method, body }: Received, id: number): Reply {
    const index = heldAlerts.findIndex((one) => one.id === id);
    const alert = heldAlerts[index];
    if (alert === undefined) return { status: 404 };
    if (method === 'DELETE') heldAlerts.splice(index, 1);
    else Object.assign(alert, alertBody.parse(JSON.parse(body)));
    return { json: { ...TIMES, ...alert } };
  }

  function answerAlerts(call: Received, path: string): Reply {
    if (behaviour.refusesAlerts !== undefined) return { status: behaviour.refusesAlerts };
    const id = /\/webhooks\/(\d+)$/.exec(path)?.[1];
    if (id !== undefined) return changeAlert(call, Number(id));
    if (call.method === 'GET') return { json: heldAlerts.map((one) => ({ ...TIMES, ...one })) };
    // The cloud numbers the two kinds separately.
    const created = { id: 101 + heldAlerts.length, ...alertBody.parse(JSON.parse(call.body)) };
    heldAlerts.push(created);
    return { json: { ...TIMES, ...created } };
  }

  const cloud = await standIn((call) => {
    const intercepted = behaviour.intercept(call);
    if (intercepted !== undefined) return intercepted;
    const { pathname: path, searchParams } = new URL(call.url, 'http://cloud.test');
    if (path.startsWith('/alert-subscriptions/webhooks')) return answerAlerts(call, path);
    switch (`${call.method} ${path}`) {
      case 'POST /auth/permissions/:check':
        return { json: behaviour.checkBody(permissionsFor(call.body)) };
      case 'GET /auth/apitoken/info':
        return {
          json: { user_id: 1, user_name: 'me', role: behaviour.role, owner_id: 1, scopes: behaviour.scopes },
        };
      case 'GET /subscriptions/webhook':
        return list(searchParams);
      case 'POST /subscriptions/webhook':
        return create(call.body);
      case 'DELETE /subscriptions/webhook/:delete':
        return behaviour.deletes === 'by query' ? remove(Number(searchParams.get('ids'))) : { status: 404 };
      default: {
        const id = /^\/subscriptions\/webhook\/(\d+)$/.exec(path)?.[1];
        return id === undefined ? { status: 404 } : change(call, Number(id));
      }
    }
  });
  return {
    ...cloud,
    held,
    heldAlerts,
    behaviour,
    changes: () =>
      cloud.received
        .filter(({ method, url }) => method !== 'GET' && /^\/(?:alert-)?subscriptions/.test(url))
        .map(({ method, url }) => `${method} ${url}`),
  };
}

function permissionsFor(body: string): { name: string }[] {
  const write = { name: 'subscriptions-webhook' };
  return body.includes('"get"') ? [write, { name: 'subscriptions-webhook:r' }] : [write];
}
