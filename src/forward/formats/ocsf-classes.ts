import type { Mapping } from './document.ts';

/** The event class of a kind of record in the Open Cybersecurity Schema Framework 1.5.0. */
export interface OcsfRow {
  /** The thousands are the category; the type is class * 100 + activity. */
  readonly classUid: number;
  readonly activityId: number;
  /** 0 unknown, 1 informational, 2 low; a failure is always low, and an alert can have another one. */
  readonly severityId: 0 | 1 | 2;
  /** The activity in words; type and class are named after it. */
  readonly activity: string;
  /** Members that the class requires and the record may lack, and those that are the same in all records of the kind. */
  readonly constants: Readonly<Record<string, unknown>>;
  readonly mappings: readonly Mapping[];
  /** A member that the class requires if the event has none of the others. */
  readonly fallback?: { readonly unless: readonly string[]; readonly member: string };
}

/** The name of anything that a class requires and the record does not name. */
export const UNKNOWN = 'Unknown';

/** The id of what the schema has no id for. */
export const OTHER = 99;

const CATEGORY_NAMES: Readonly<Record<number, string>> = {
  0: 'Uncategorized',
  2: 'Findings',
  3: 'Identity & Access Management',
  4: 'Network Activity',
  5: 'Discovery',
};

const CLASS_NAMES: Readonly<Record<number, string>> = {
  0: 'Base Event',
  2004: 'Detection Finding',
  3001: 'Account Change',
  3002: 'Authentication',
  3004: 'Entity Management',
  4001: 'Network Activity',
  4009: 'Email Activity',
  5001: 'Device Inventory Info',
};

export const SEVERITIES = ['Unknown', 'Informational', 'Low', 'Medium', 'High', 'Critical'];

/** The members that follow from a row: class, category, activity, type and severity, each with its caption. */
export const classConstants = ({ classUid, activityId, activity, severityId }: OcsfRow) => ({
  category_uid: Math.floor(classUid / 1000),
  category_name: CATEGORY_NAMES[Math.floor(classUid / 1000)],
  class_uid: classUid,
  class_name: CLASS_NAMES[classUid],
  activity_id: activityId,
  activity_name: activity,
  type_uid: classUid * 100 + activityId,
  type_name: `${CLASS_NAMES[classUid]}: ${activityId === OTHER ? 'Other' : activity}`,
  severity_id: severityId,
  severity: SEVERITIES[severityId],
});
