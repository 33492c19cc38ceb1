import type { Resource, Seeding } from './world.ts';
import { byId } from './world.ts';
import { timestamp } from './timestamp.ts';

/** A network policy: the record that is answered, and the SSIDs in it by the digits of their identifiers. */
export interface NetworkPolicy {
  id: number;
  record: Resource;
  ssidIds: readonly string[];
}

/** An SSID as the interface shows it. */
export interface Ssid extends Resource {
  name: string;
  broadcast_name: string;
}

/** Two network policies over three SSIDs; each SSID tells the identifier of its advanced settings. */
export function seedPolicies({ account, now, nextId }: Seeding) {
  const entity = () => ({
    id: nextId(),
    create_time: timestamp(now),
    update_time: timestamp(now),
    org_id: account.creatingOrgId,
    predefined: false,
  });
  const ssids = ['corporate', 'devices', 'visitors'].map((name): Ssid => ({
    ...entity(),
    name: `ssid-${name}`,
    broadcast_name: name,
    mode: name === 'corporate' ? 'dot1x' : 'ppsk',
    advanced_settings_id: nextId(),
  }));
  const ids = ssids.map(({ id }) => String(id));
  const policies = [
    { name: 'Offices', ssidIds: ids },
    { name: 'Warehouses', ssidIds: ids.slice(1) },
  ].map(({ name, ssidIds }): NetworkPolicy => {
    const record = { ...entity(), name, type: 'WIRELESS_ACCESS' };
    return { id: record.id, record, ssidIds };
  });
  return { ssids: byId(ssids), networkPolicies: byId(policies) };
}
