import { z } from 'zod';
import { visibleTo } from '../access/visibility.ts';
import { found } from '../http/errors.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { int64, int64Path } from '../http/int64.ts';
import { pageOf, pageQuery } from '../http/query.ts';
import { object, page, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';

const byId = z.object({ id: int64Path });
const policyFields = z.looseObject({ name: z.string().min(1) });
const policySchema = policyFields.extend({ id: int64 });

/** Members of a network policy that the vendor's schema requires. */
const DEFAULTS = { predefined: false, type: 'WIRELESS_ACCESS' };

/** An SSID. The specification names the identifier and `broadcast_name` only. */
const ssidSchema = z.looseObject({ id: int64, broadcast_name: z.string() });

/** Specification, Network policy. */
export function policyRoutes({ world, clock }: { world: World; clock: Clock }): Route[] {
  const { networkPolicies, ssids } = world;

  return [
    route('POST', '/network-policies', 'Create a network policy', {
      access: ['network-policy'],
      input: z.object({ body: policyFields }),
      success: object(policySchema, 201),
      creates: true,
      handle({ body }) {
        const now = timestamp(clock.now());
        const id = world.nextId();
        const { creatingOrgId: org_id } = world.account;
        const record = { ...DEFAULTS, create_time: now, update_time: now, org_id, ...body, id };
        networkPolicies.set(String(id), { id, record, ssidIds: [] });
        return record;
      },
    }),
    route('GET', '/network-policies/{id}', 'Get a network policy', {
      access: ['network-policy:r'],
      input: byId,
      success: object(policySchema),
      handle: ({ id }) => found(networkPolicies.get(id), 'network policy', id).record,
    }),
    route('PUT', '/network-policies/{id}', 'Change a network policy', {
      access: ['network-policy'],
      input: byId.extend({ body: policyFields }),
      success: object(policySchema),
      handle({ id, body }) {
        const policy = found(networkPolicies.get(id), 'network policy', id);
        const { create_time, org_id } = policy.record;
        const update_time = timestamp(clock.now());
        const record = { ...DEFAULTS, create_time, update_time, org_id, ...body, id: policy.id };
        networkPolicies.set(id, { ...policy, record });
        return record;
      },
    }),
    route('DELETE', '/network-policies/{id}', 'Delete a network policy', {
      access: ['network-policy'],
      input: byId,
      handle({ id }) {
        found(networkPolicies.get(id), 'network policy', id);
        networkPolicies.delete(id);
      },
    }),
    route('GET', '/network-policies/{id}/ssids', 'List the SSIDs of a network policy', {
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
    route('GET', '/ssids', 'List SSIDs', {
      access: ['ssid:r'],
      input: z.object({ query: pageQuery() }),
      success: page(ssidSchema),
      handle({ query }, caller) {
        const isVisible = visibleTo(world, caller);
        return pageOf(
          [...ssids.values()].filter(({ org_id }) => isVisible(org_id)),
          query,
        );
      },
    }),
  ];
}

/** Modes of an SSID that have settings. */
const MODES = ['wep', 'psk', 'ppsk', 'dot1x'] as const;

/** Specification, Configuration resources: passwords and modes of SSIDs. Each call returns the SSID. */
export function ssidRoutes({ world: { ssids }, clock }: { world: World; clock: Clock }): Route[] {
  const common = { access: ['ssid'], success: object(ssidSchema) };
  const byId = z.object({ id: int64Path });

  function change(id: string, changes: Record<string, unknown>) {
    const ssid = { ...found(ssids.get(id), 'SSID', id), ...changes, update_time: timestamp(clock.now()) };
    ssids.set(id, ssid);
    return ssid;
  }

  return [
    route('PUT', '/ssids/{id}/psk/password', 'Set the pre-shared key of an SSID', {
      ...common,
      input: byId.extend({ body: z.string().min(8).max(63) }),
      // The key is not stored: no call returns it.
      handle: ({ id }) => change(id, {}),
    }),
    ...MODES.map((mode) =>
      route('PUT', `/ssids/{id}/mode/${mode}`, `Set an SSID to the mode ${mode}`, {
        ...common,
        input: byId.extend({ body: z.looseObject({}) }),
        handle: ({ id, body }) => change(id, { mode, mode_settings: body }),
      }),
    ),
    route('PUT', '/ssids/{id}/mode/open', 'Set an SSID to the mode open', {
      ...common,
      input: byId,
      handle: ({ id }) => change(id, { mode: 'open', mode_settings: undefined }),
    }),
  ];
}
