import { z } from 'zod';
import { found } from './api-error.ts';
import type { Clock } from './clock.ts';
import { int64, int64Path } from './int64.ts';
import { pageOf, pageQuery } from './paging.ts';
import { empty, object, page, route } from './route.ts';
import type { Route } from './route.ts';
import { timestamp } from './timestamp.ts';
import type { World } from './world.ts';

const byId = z.object({ id: int64Path });
const policyFields = z.looseObject({ name: z.string().min(1) });
const policySchema = policyFields.extend({ id: int64 });

/** An SSID; the specification names `broadcast_name` and the identifier. */
export const ssidSchema = z.looseObject({ id: int64, broadcast_name: z.string() });

/** Specification, Network policy. */
export function policyRoutes({ world, clock }: { world: World; clock: Clock }): Route[] {
  const tag = 'Network policy';
  const { networkPolicies, ssids } = world;

  return [
    route({
      method: 'POST',
      path: '/network-policies',
      tag,
      summary: 'Create a network policy',
      access: ['network-policy'],
      input: z.object({ body: policyFields }),
      success: object(policySchema, 201),
      creates: true,
      handle({ body }) {
        const now = timestamp(clock.now());
        const id = world.nextId();
        const record = { create_time: now, update_time: now, predefined: false, ...body, id };
        networkPolicies.set(String(id), { id, record, ssidIds: [] });
        return record;
      },
    }),
    route({
      method: 'GET',
      path: '/network-policies/{id}',
      tag,
      summary: 'One network policy',
      access: ['network-policy:r'],
      input: byId,
      success: object(policySchema),
      handle: ({ id }) => found(networkPolicies.get(id), 'network policy', id).record,
    }),
    route({
      method: 'PUT',
      path: '/network-policies/{id}',
      tag,
      summary: 'Change a network policy',
      access: ['network-policy'],
      input: byId.extend({ body: policyFields }),
      success: object(policySchema),
      handle({ id, body }) {
        const policy = found(networkPolicies.get(id), 'network policy', id);
        const { create_time } = policy.record;
        const record = { create_time, update_time: timestamp(clock.now()), ...body, id: policy.id };
        networkPolicies.set(id, { ...policy, record });
        return record;
      },
    }),
    route({
      method: 'DELETE',
      path: '/network-policies/{id}',
      tag,
      summary: 'Delete a network policy',
      access: ['network-policy'],
      input: byId,
      success: empty(),
      handle({ id }) {
        found(networkPolicies.get(id), 'network policy', id);
        networkPolicies.delete(id);
      },
    }),
    route({
      method: 'GET',
      path: '/network-policies/{id}/ssids',
      tag,
      summary: 'SSIDs of a network policy',
      access: ['network-policy:r', 'policy:ssid'],
      input: byId.extend({ query: pageQuery() }),
      success: page(ssidSchema),
      handle({ id, query }) {
        const { ssidIds } = found(networkPolicies.get(id), 'network policy', id);
        return pageOf(
          ssidIds.flatMap((ssidId) => ssids.get(ssidId) ?? []),
          query,
        );
      },
    }),
    route({
      method: 'GET',
      path: '/ssids',
      tag,
      summary: 'List SSIDs',
      access: ['ssid:r'],
      input: z.object({ query: pageQuery() }),
      success: page(ssidSchema),
      handle: ({ query }) => pageOf([...ssids.values()], query),
    }),
  ];
}
