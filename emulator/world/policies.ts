import { byId, timestamp } from './seeding.ts';
import type { Resource, Seeding } from './seeding.ts';

/** A network policy: the record that the API returns, and the identifiers of its SSIDs as digits. */
export interface NetworkPolicy {
  id: number;
  record: Resource;
  ssidIds: readonly string[];
}

/** An SSID as the API returns it. */
export interface Ssid extends Resource {
  id: number;
  name: string;
  broadcast_name: string;
  advanced_settings_id: number;
}

/** Two network policies over three SSIDs. Each SSID names the identifier of its advanced settings. */
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
