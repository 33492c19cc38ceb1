import type { Clock } from '../../src/lib/clock.ts';
import type { Tokens } from '../access/tokens.ts';
import type { EndUsers } from '../events/end-users.ts';
import type { CloudType } from '../../src/events/domain.ts';
import type { Journal } from '../events/journal.ts';
import type { Operations } from '../http/operations.ts';
import { inDialect } from '../http/in-dialect.ts';
import type { Dialect } from '../dialects.ts';
import { tagged } from '../http/route.ts';
import type { TaggedRoute } from '../http/route.ts';
import type { FaultSwitch } from '../sending/faults.ts';
import type { AlertSubscriptionStore } from '../sending/alert-subscriptions.ts';
import type { SubscriptionStore } from '../sending/subscriptions.ts';
import type { World } from '../world/world.ts';
import { accountRoutes, hiqRoutes } from './account.ts';
import { alertPolicyRoutes } from './alert-policies.ts';
import { alertSubscriptionRoutes } from './alert-subscriptions.ts';
import { alertRoutes } from './alerts.ts';
import { authRoutes } from './auth.ts';
import { clientRoutes } from './clients.ts';
import { controlRoutes } from './control.ts';
import type { EmulatorStatus } from './control.ts';
import { createDeviceActions } from './device-actions.ts';
import { deviceSettingRoutes } from './device-settings.ts';
import { deviceListRoutes, deviceRoutes } from './devices.ts';
import { locationRoutes } from './locations.ts';
import { logRoutes } from './logs.ts';
import { operationRoutes } from './operations.ts';
import { policyRoutes, ssidRoutes } from './policies.ts';
import { resourceRoutes } from './resources.ts';
import { subscriptionRoutes } from './subscriptions.ts';
import { userRoutes } from './users.ts';

interface Parts {
  world: World;
  clock: Clock;
  journal: Journal;
  tokens: Tokens;
  operations: Operations;
  subscriptions: SubscriptionStore;
  alertSubscriptions: AlertSubscriptionStore;
  endUsers: EndUsers;
  faults: FaultSwitch;
  /** Whether the account has the HIQ feature. */
  isHiq: boolean;
  dialect: Dialect;
  status: () => EmulatorStatus;
  /** Causes an event. */
  happen: (type: CloudType) => void;
}

/** All operations of the emulator in its dialect, grouped as in the specification. */
export function createRoutes(parts: Parts): TaggedRoute[] {
  const actions = createDeviceActions(parts);
  const routes: TaggedRoute[] = inDialect(parts.dialect, [
    ...tagged('Authentication and authorization', authRoutes({ ...parts, allRoutes: () => routes })),
    ...tagged('Long-running operations', operationRoutes(parts.operations)),
    ...tagged('Account', accountRoutes(parts)),
    ...tagged('Users', userRoutes(parts)),
    ...tagged('HIQ context', hiqRoutes(parts)),
    ...tagged('Devices', [
      ...deviceListRoutes({ ...parts, actions }),
      ...deviceRoutes({ ...parts, actions }),
      ...deviceSettingRoutes({ ...parts, actions }),
    ]),
    ...tagged('Locations', locationRoutes(parts)),
    ...tagged('Clients', clientRoutes(parts)),
    ...tagged('Network policy', policyRoutes(parts)),
    ...tagged('Configuration resources', [
      ...resourceRoutes(parts),
      ...ssidRoutes(parts),
      ...subscriptionRoutes(parts),
    ]),
    ...tagged('Logs', logRoutes(parts)),
    ...tagged('Alerts', [
      ...alertRoutes(parts),
      ...alertSubscriptionRoutes(parts),
      ...alertPolicyRoutes(parts),
    ]),
    ...tagged('Emulator', controlRoutes(parts)),
  ]);
  return routes;
}
