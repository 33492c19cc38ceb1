import { policyOfSite, RULE_KINDS, SEVERITIES } from '../world/alert-policies.ts';
import type { AlertRuleKind } from '../world/alert-policies.ts';
import type { AccessPoint } from '../world/devices.ts';
import { accessPoints } from '../world/devices.ts';
import { pathTo } from '../world/locations.ts';
import { timestamp } from '../world/seeding.ts';
import type { Entry } from './journal.ts';
import type { NetworkParts } from './records.ts';

/** An alert that has not been cleared. */
interface OpenAlert {
  deviceId: string;
  clearing: AlertRuleKind;
}

const CLEAR_SHARE = 0.5;
const RAISING = RULE_KINDS.filter(({ clearedBy }) => clearedBy !== undefined);

/** The source of alerts: each call raises one at an access point, or clears an earlier one by an alert that says so. */
export function createAlerts({ world, journal, clock, random }: NetworkParts): () => void {
  const open: OpenAlert[] = [];

  function raise(): void {
    const device = random.pickAny(accessPoints(world.devices));
    const kind = random.pickAny(RAISING);
    if (device === undefined || kind === undefined) return;
    const clearing = RULE_KINDS.find(({ metadataId }) => metadataId === kind.clearedBy);
    if (clearing !== undefined) open.push({ deviceId: String(device.id), clearing });
    report(device, kind);
  }

  function clear({ deviceId, clearing }: OpenAlert): void {
    const device = accessPoints(world.devices).find(({ id }) => String(id) === deviceId);
    if (device !== undefined) report(device, clearing);
  }

  /** Writes an alert, unless the rule of its policy is disabled. */
  function report(device: AccessPoint, { metadataId }: AlertRuleKind): void {
    const entry = alertEntry({ world, at: clock.now() }, device, metadataId);
    if (entry !== undefined) journal.append(entry);
  }

  return () => {
    const oldest = random.chance(CLEAR_SHARE) ? open.shift() : undefined;
    if (oldest === undefined) raise();
    else clear(oldest);
  };
}

interface Occasion {
  world: NetworkParts['world'];
  /** Epoch milliseconds. */
  at: number;
}

/** An alert with the members of the vendor's description. Its webhook is not published and has the same members here. */
function alertEntry({ world, at }: Occasion, device: AccessPoint, metadataId: number): Entry | undefined {
  const site = pathTo(world.locations, device.placement.locationId).find(({ type }) => type === 'Building');
  const policy = policyOfSite(world.alertPolicies, site?.id ?? 0);
  const rule = policy?.rules.find(({ kind }) => kind.metadataId === metadataId);
  if (site === undefined || policy === undefined || rule?.isEnabled !== true) return undefined;
  const { kind, severityId } = rule;
  const alert = {
    id: String(world.nextId()),
    owner_id: world.account.ownerId,
    org_id: device.orgId,
    message_metadata_id: kind.metadataId,
    message_metadata_type: kind.type,
    summary: `${kind.name} at ${device.hostname}`,
    severity_id: severityId,
    severity_name: SEVERITIES[severityId],
    category_id: kind.categoryId,
    category_name: kind.categoryName,
    source: {
      source_type_id: 1,
      source_type: 'DEVICE',
      source_id: String(device.id),
      source_name: device.hostname,
    },
    acknowledged: false,
    site_id: site.id,
    site_name: site.name,
    alert_policy_id: policy.id,
    alert_policy_name: policy.name,
    alert_rule_id: rule.id,
    tags: [{ id: 1, name: 'MAC address', value: device.macAddress, is_hidden: false }],
  };
  return {
    messageType: 'ALERT',
    sent: { ...alert, timestamp: timestamp(at) },
    listed: { ...alert, timestamp: at },
  };
}
