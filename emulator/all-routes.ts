import { createDeviceActions } from './device-actions.ts';
import type { Clock } from './clock.ts';
import type { EndUsers } from './end-users.ts';
import type { FaultSwitch } from './faults.ts';
import type { Journal } from './journal.ts';
import type { Operations } from './operations.ts';
import type { Route } from './route.ts';
import { accountRoutes } from './routes-account.ts';
import { authRoutes } from './routes-auth.ts';
import { clientRoutes } from './routes-clients.ts';
import { controlRoutes } from './routes-control.ts';
import { deviceSettingRoutes } from './routes-device-settings.ts';
import { deviceRoutes } from './routes-device.ts';
import { deviceListRoutes } from './routes-devices.ts';
import { hiqRoutes } from './routes-hiq.ts';
import { logRoutes } from './routes-logs.ts';
import { operationRoutes } from './routes-operations.ts';
import { policyRoutes } from './routes-policies.ts';
import { resourceRoutes } from './routes-resources.ts';
import { ssidRoutes } from './routes-ssids.ts';
import { subscriptionRoutes } from './routes-subscriptions.ts';
import { userRoutes } from './routes-users.ts';
import type { EmulatorStatus } from './status.ts';
import type { SubscriptionStore } from './subscriptions.ts';
import type { Tokens } from './tokens.ts';
import type { World } from './world.ts';

interface Parts {
  world: World;
  clock: Clock;
  journal: Journal;
  tokens: Tokens;
  operations: Operations;
  subscriptions: SubscriptionStore;
  endUsers: EndUsers;
  faults: FaultSwitch;
  isHiq: boolean;
  status: () => EmulatorStatus;
}

/** Every operation of the emulator. */
export function createRoutes(parts: Parts): Route[] {
  const { world, isHiq } = parts;
  const actions = createDeviceActions(parts);
  const routes: Route[] = [
    ...authRoutes({ ...parts, allRoutes: () => routes }),
    ...operationRoutes(parts.operations),
    ...accountRoutes(parts),
    ...userRoutes(parts),
    ...hiqRoutes({ account: world.account, isHiq }),
    ...deviceListRoutes({ ...parts, actions }),
    ...deviceRoutes({ ...parts, actions }),
    ...deviceSettingRoutes({ ...parts, actions }),
    ...clientRoutes(world),
    ...policyRoutes(parts),
    ...resourceRoutes(),
    ...ssidRoutes(parts),
    ...subscriptionRoutes(parts),
    ...logRoutes(parts),
    ...controlRoutes(parts),
  ];
  return routes;
}
