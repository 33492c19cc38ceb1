/** What a person or a program may do in the console and the API. Each page and each route needs exactly one. */
export const PERMISSIONS = [
  'view',
  'metrics.read',
  'events.export',
  'searches.manage',
  'quarantine.content',
  'quarantine.change',
  'destinations.change',
  'destinations.forget',
  'outputs.change',
  'subscriptions.apply',
  'integrity.verify',
  'operator-log.read',
  'settings.read',
  'settings.reload',
  'sources.change',
  'access.change',
] as const;

export type Permission = (typeof PERMISSIONS)[number];

export const ACCOUNT_ROLES = ['viewer', 'auditor', 'operator', 'admin'] as const;

export type AccountRole = (typeof ACCOUNT_ROLES)[number];

const VIEWER: readonly Permission[] = ['view', 'metrics.read'];

/** The permissions of each role. An auditor reads everything and changes nothing; an operator cannot read the trail. */
export const ROLE_PERMISSIONS: Readonly<Record<AccountRole, ReadonlySet<Permission>>> = {
  viewer: new Set(VIEWER),
  auditor: new Set([
    ...VIEWER,
    'events.export',
    'quarantine.content',
    'integrity.verify',
    'operator-log.read',
    'settings.read',
  ]),
  operator: new Set([
    ...VIEWER,
    'quarantine.content',
    'quarantine.change',
    'destinations.change',
    'subscriptions.apply',
    'integrity.verify',
  ]),
  admin: new Set(PERMISSIONS),
};
