import {
  createSubscriptionsRequestSchema,
  updateSubscriptionRequestSchema,
} from '../../src/cloud/contract/subscription.ts';
import { startScriptedCloud } from '../cloud/scripted-cloud.ts';
import type { Received, Reply, ScriptedCloud } from '../cloud/scripted-cloud.ts';

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
  /** What `GET /subscriptions/webhook` makes of a subscription. */
  show: (held: Held) => object;
  /** Whether creating tells the new subscriptions (200), or nothing (202). */
  tellsCreated: boolean;
  /** How often a list is asked for before it shows what was created. */
  listsUntilShown: number;
  scopes: string[];
  role: string;
}

/** A cloud of nothing but subscriptions, whose state a test reads and writes. */
export interface StandIn extends ScriptedCloud {
  held: Held[];
  behaviour: Behaviour;
  /** The calls that wanted to change something, as method and path. */
  changes(): string[];
}

export async function startStandIn(): Promise<StandIn> {
  const held: Held[] = [];
  const queued: { subscription: Held; lists: number }[] = [];
  const behaviour: Behaviour = {
    intercept: () => undefined,
    failCreate: () => undefined,
    lists: true,
    show: (subscription) => subscription,
    tellsCreated: true,
    listsUntilShown: 0,
    scopes: ['subscriptions-webhook'],
    role: 'Administrator',
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

  function list(): Reply {
    if (!behaviour.lists) return { status: 404 };
    const answer = { json: { page: 1, total_pages: 1, data: held.map(behaviour.show) } };
    for (const one of queued) one.lists -= 1;
    show();
    return answer;
  }

  function change({ method, url, body }: Received): Reply {
    const id = Number(url.split('/').at(-1));
    const index = held.findIndex((subscription) => subscription.id === id);
    const subscription = held[index];
    if (subscription === undefined) return { status: 404 };
    if (method === 'DELETE') {
      held.splice(index, 1);
      return {};
    }
    Object.assign(subscription, updateSubscriptionRequestSchema.parse(JSON.parse(body)));
    return { json: subscription };
  }

  const cloud = await startScriptedCloud((call) => {
    const intercepted = behaviour.intercept(call);
    if (intercepted !== undefined) return intercepted;
    const path = call.url.replace(/\?.*/, '');
    switch (`${call.method} ${path}`) {
      case 'POST /auth/permissions/:check':
        return { json: { permissions: permissionsFor(call.body), roles: ['Administrator'] } };
      case 'GET /auth/apitoken/info':
        return {
          json: { user_id: 1, user_name: 'me', role: behaviour.role, owner_id: 1, scopes: behaviour.scopes },
        };
      case 'GET /subscriptions/webhook':
        return list();
      case 'POST /subscriptions/webhook':
        return create(call.body);
      default:
        return /^\/subscriptions\/webhook\/\d+$/.test(path) ? change(call) : { status: 404 };
    }
  });
  return {
    ...cloud,
    held,
    behaviour,
    changes: () =>
      cloud.received
        .filter(({ method, url }) => method !== 'GET' && url.startsWith('/subscriptions'))
        .map(({ method, url }) => `${method} ${url}`),
  };
}

function permissionsFor(body: string): object[] {
  const write = { name: 'subscriptions-webhook' };
  return body.includes('"get"') ? [write, { name: 'subscriptions-webhook:r' }] : [write];
}
