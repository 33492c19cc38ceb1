import { z } from 'zod';
import { found } from './api-error.ts';
import type { Clock } from './clock.ts';
import { int64Path } from './int64.ts';
import { object, route } from './route.ts';
import type { Route } from './route.ts';
import { ssidSchema } from './routes-policies.ts';
import { timestamp } from './timestamp.ts';
import type { World } from './world.ts';

/** Modes of an SSID that take settings. */
const MODES = ['wep', 'psk', 'ppsk', 'dot1x'] as const;

/** Specification, Configuration resources: passwords and modes of SSIDs. Each call answers the SSID. */
export function ssidRoutes({ world: { ssids }, clock }: { world: World; clock: Clock }): Route[] {
  const common = {
    method: 'PUT',
    tag: 'Configuration resources',
    access: ['ssid'],
    success: object(ssidSchema),
  } as const;
  const byId = z.object({ id: int64Path });

  function change(id: string, changes: Record<string, unknown>) {
    const ssid = { ...found(ssids.get(id), 'SSID', id), ...changes, update_time: timestamp(clock.now()) };
    ssids.set(id, ssid);
    return ssid;
  }

  return [
    route({
      ...common,
      path: '/ssids/{id}/psk/password',
      summary: 'Set the pre-shared key of an SSID',
      input: byId.extend({ body: z.string().min(8).max(63) }),
      // The key itself is not kept: no call answers it.
      handle: ({ id }) => change(id, {}),
    }),
    ...MODES.map((mode) =>
      route({
        ...common,
        path: `/ssids/{id}/mode/${mode}`,
        summary: `Set an SSID to the mode ${mode}`,
        input: byId.extend({ body: z.looseObject({}) }),
        handle: ({ id, body }) => change(id, { mode, mode_settings: body }),
      }),
    ),
    route({
      ...common,
      path: '/ssids/{id}/mode/open',
      summary: 'Set an SSID to the mode open',
      input: byId,
      handle: ({ id }) => change(id, { mode: 'open', mode_settings: undefined }),
    }),
  ];
}
