import type { Location } from './locations.ts';
import { byId } from './seeding.ts';
import type { Seeding } from './seeding.ts';

/** The severities by their published identifiers. */
export const SEVERITIES = { 1: 'Critical', 2: 'Warning', 3: 'Info' } as const;

type SeverityId = keyof typeof SEVERITIES;

/** What an alert rule watches. Severities are published, all other identifiers and texts are invented. */
export interface AlertRuleKind {
  metadataId: number;
  name: string;
  type: 'EVENT' | 'METRIC';
  categoryId: number;
  categoryName: string;
  severityId: SeverityId;
  /** The metadata of the alert that ends this one. */
  clearedBy?: number;
  threshold?: number;
}

const DEVICES = { categoryId: 10, categoryName: 'Device' } as const;
const CLIENTS = { categoryId: 20, categoryName: 'Client' } as const;

/** The kinds of rule that every policy has. */
export const RULE_KINDS: readonly AlertRuleKind[] = [
  {
    metadataId: 101,
    name: 'CPU usage high',
    type: 'METRIC',
    ...DEVICES,
    severityId: 1,
    clearedBy: 102,
    threshold: 90,
  },
  { metadataId: 102, name: 'CPU usage normal', type: 'METRIC', ...DEVICES, severityId: 3, threshold: 90 },
  {
    metadataId: 111,
    name: 'Rogue access point detected',
    type: 'EVENT',
    ...DEVICES,
    severityId: 2,
    clearedBy: 112,
  },
  { metadataId: 112, name: 'Rogue access point gone', type: 'EVENT', ...DEVICES, severityId: 3 },
  {
    metadataId: 201,
    name: 'Client authentication failures',
    type: 'EVENT',
    ...CLIENTS,
    severityId: 2,
    clearedBy: 202,
  },
  { metadataId: 202, name: 'Client authentication works again', type: 'EVENT', ...CLIENTS, severityId: 3 },
];

/** A rule of a policy. Triggers as published; `duration` in seconds, for deferred ones. */
export interface AlertRule {
  id: number;
  kind: AlertRuleKind;
  description: string;
  severityId: SeverityId;
  isEnabled: boolean;
  triggerType: string;
  duration: number;
  threshold: number | undefined;
}

/** An alert policy: the global one, which has no sites, or that of some sites. */
export interface AlertPolicy {
  id: number;
  name: string;
  siteIds: number[];
  rules: AlertRule[];
}

/** A policy with all rules enabled. */
export function newAlertPolicy(nextId: () => number, name: string, siteIds: number[]): AlertPolicy {
  const rules = RULE_KINDS.map((kind): AlertRule => ({
    id: nextId(),
    kind,
    description: kind.name,
    severityId: kind.severityId,
    isEnabled: true,
    triggerType: kind.type === 'METRIC' ? 'DEFERRED' : 'IMMEDIATE',
    duration: 300,
    threshold: kind.threshold,
  }));
  return { id: nextId(), name, siteIds, rules };
}

/** The sites that a policy can have: the buildings. */
export function sitesIn(locations: ReadonlyMap<string, Location>): Location[] {
  return [...locations.values()].filter(({ type }) => type === 'Building');
}

/** The global policy, and one for the first building. The global policy is the first. */
export function seedAlertPolicies(
  { nextId }: Seeding,
  locations: ReadonlyMap<string, Location>,
): Map<string, AlertPolicy> {
  const [site] = sitesIn(locations);
  const global = newAlertPolicy(nextId, 'Global policy', []);
  return byId(site === undefined ? [global] : [global, newAlertPolicy(nextId, site.name, [site.id])]);
}

/** The policy of a site: its own, else the global one. */
export function policyOfSite(
  policies: ReadonlyMap<string, AlertPolicy>,
  siteId: number,
): AlertPolicy | undefined {
  const all = [...policies.values()];
  return all.find(({ siteIds }) => siteIds.includes(siteId)) ?? all[0];
}
