import type { Permission } from '../../src/cloud/contract/auth.ts';
import type { Role } from '../accounts.ts';

/** Category, subject, names. The names are from the specification (Scope names), the rest is ours. */
// prettier-ignore
const TABLE: readonly (readonly [string, string, string])[] = [
  ['Authorization', 'log out', 'logout'],
  ['Authorization', 'tokens and permissions', 'auth auth:r'],
  ['Authorization', 'create API tokens', 'token:new'],
  ['Authorization', 'look up the permissions of a call', 'perm:check'],
  ['Operations', 'long-running operations', 'lro lro:r'],
  ['Account', 'settings of the account', 'account'],
  ['Account', 'switch to another account', 'account:switch'],
  ['Account', 'the home account', 'account:home'],
  ['Account', 'external accounts', 'account:external'],
  ['Account', 'third-party applications', 'account:third-party-applications'],
  ['Account', 'account settings and their status', 'vhm:get-setting vhm:update-setting vhm:get-status'],
  ['Account', 'the virtual instance', 'viq:get-account-info viq:backup viq:reset'],
  ['Account', 'the default password of devices', 'viq:get-default-device-password viq:update-default-device-password viq:update-default-device-password-v1'],
  ['Account', 'data files of the instance', 'viq:download viq:export viq:import'],
  ['Account', 'progress of export, import and backup', 'viq:get-export-import-status viq:get-backup-status'],
  ['Account', 'stored backups', 'backup:restore backup:delete backup:get-history-grid'],
  ['HIQ', 'the hierarchy', 'hiq hiq:r'],
  ['HIQ', 'organizations', 'org org:new org:del org:rename'],
  ['HIQ', 'organizations to read from and to create in', 'hiq.ctx hiq.ctx:r hiq.ctx:w'],
  ['Devices', 'devices', 'device device:r'],
  ['Devices', 'view devices', 'device:list device:view device:relaxed_read'],
  ['Devices', 'onboard and delete devices', 'device:new device:del'],
  ['Devices', 'commands and configuration to devices', 'device:cli device:deploy'],
  ['Devices', 'management of devices', 'device:manage device:unmanage'],
  ['Devices', 'restart and factory reset', 'device:reboot device:reset'],
  ['Devices', 'the thread commissioner', 'device:thread-commissioner'],
  ['Dashboards', 'device details and dashboards', 'd360:relaxed_read dashboard:relaxed_read'],
  ['Clients', 'clients', 'client client:r'],
  ['Applications', 'applications in use', 'applications-reports applications-usage'],
  ['Users', 'external administrators', 'rmuser-external-list rmuser-external-info'],
  ['Users', 'administrators', 'rmuser-me rmuser-reports rmuser-id rmuser-list rmuser'],
  ['Locations', 'locations and floor plans', 'locations locations:r locations:floor-map-labels'],
  ['Policies', 'network policies', 'network-policy network-policy:r policy:ssid'],
  ['Dashboards', 'the network scorecard', 'network-scorecard network-scorecard:r'],
  ['Configuration', 'SSIDs', 'ssid ssid:r'],
  ['Configuration', 'private client groups by key', 'pcg:key pcg:key:r'],
  ['Notifications', 'webhook subscriptions', 'subscriptions-webhook subscriptions-webhook:r'],
  ['Configuration', 'cloud config groups', 'ccg ccg:r'],
  ['Logs', 'logs', 'log log:r'],
  ['Configuration', 'captive web portals', 'cwp cwp:r'],
  ['Configuration', 'SMS templates', 'sms-tmpl sms-tmpl:r'],
  ['Configuration', 'classification rules', 'class-rule class-rule:r'],
  ['Configuration', 'user profiles', 'user-profile user-profile:r'],
  ['Configuration', 'MAC objects', 'mac-object-profiles mac-object-profiles:r'],
  ['Configuration', 'MAC firewalls', 'mac-firewall-policies mac-firewall-policies:r'],
  ['Configuration', 'IP firewalls', 'ip-firewall-policies ip-firewall-policies:r'],
  ['Configuration', 'tunnel concentrators', 'tunnel-concentrator tunnel-concentrator:r'],
  ['Configuration', 'network services', 'network-services network-services:r'],
  ['Configuration', 'RADIUS proxies', 'radius-proxy radius-proxy:r'],
  ['Configuration', 'RADIUS servers', 'radius-server radius-server:r'],
  ['Configuration', 'RADSEC proxies', 'radsec-proxies radsec-proxies:r'],
  ['Configuration', 'user groups', 'usergroup usergroup:r'],
  ['Configuration', 'credential distribution groups', 'credential-distribution-groups credential-distribution-groups:r'],
  ['Configuration', 'connections to third-party APIs', 'third-party-api-connection third-party-api-connection:r'],
  ['Configuration', 'deployment', 'deployment deployment:r'],
  ['Configuration', 'Active Directory servers', 'ad-server ad-server:r'],
  ['Alerts', 'alerts', 'alert alert:r'],
  ['Alerts', 'alert policies', 'alert-policies alert-policies:r'],
  ['Alerts', 'alert subscriptions', 'alert-subscriptions alert-subscriptions:r'],
  ['Applications', 'applications', 'app application:r'],
  ['Configuration', 'layer 3 addresses', 'l3-address-profile l3-address-profile:r'],
  ['Configuration', 'VLANs', 'vlan-profile vlan-profile:r'],
  ['Users', 'end users', 'enduser enduser:r'],
  ['Configuration', 'RADIUS clients', 'radius-client-object radius-client-object:r'],
  ['Configuration', 'LDAP servers', 'ldap-server ldap-server:r'],
  ['Configuration', 'e-mail templates', 'email-template email-template:r'],
  ['Configuration', 'certificates', 'certificate certificate:r certificate-bundles certificate-bundles:r'],
  ['Configuration', 'radio profiles', 'radio-profile radio-profile:r'],
  ['Configuration', 'IoT profiles', 'iot-profile iot-profile:r'],
  ['Configuration', 'monitoring of clients', 'client-monitor-profile client-monitor-profile:r'],
  ['Configuration', 'user profile assignments', 'user-profile-assignments user-profile-assignments:r'],
  ['Devices', 'diagnostics of switches', 'switch-inspector'],
  ['Assistant', 'connectivity of clients', 'assist-connectivity-wired:r assist-connectivity-wireless:r'],
  ['Assistant', 'anomalies and scans', 'assist-anomalies assist-anomalies:r assist-assurance-scans:r'],
  ['Account', 'licenses', 'licenses licenses:r'],
  ['Devices', 'packet captures', 'packet-capture packet-capture:r'],
  ['Configuration', 'countries and their codes', 'country country:r'],
  ['Alerts', 'the alert service', 'cas cas:r cas-policies cas-policies:r cas-metadata:r'],
  ['Alerts', 'subscriptions of the alert service', 'cns-subscriptions cns-subscriptions:r'],
  ['Configuration', 'hotspots', 'hotspot-profile hotspot-profile:r'],
  ['Configuration', 'hotspot service providers', 'hotspot-service-provider-profile hotspot-service-provider-profile:r'],
  ['AFC', 'AFC data', 'afc:relaxed_read afc-filter-metadata:relaxed_read afc-export:relaxed_read afc-reports:relaxed_read'],
  ['AFC', 'floor heights for AFC', 'floor-afc-details floor-afc-details:r'],
  ['Devices', 'the round-trip-time service', 'rtts rtts:r'],
  ['Reports', 'reports', 'ng-reports ng-reports:r'],
  ['Authorization', 'API tokens of the account', 'acct-api-token acct-api-token:r'],
  ['AFC', 'AFC schedules of sites', 'site-afc-schedule site-afc-schedule:r'],
  ['AFC', 'spectrum and candidates of access points', 'ap-spectrum ap-spectrum:r afc-candidates'],
  ['Reports', 'scheduled reports', 'ng-scheduled-reports:w ng-scheduled-get-reports:r'],
  ['Users', 'users of the account', 'account-user-external account-user-me account-user-id account-user-list account-user-create account-user-modify'],
  ['Clients', 'users of clients', 'client-user-reports client-user-data-usage client-user-filter-metadata client-user-grid client-user-grid-export client-user-type-distribution'],
  ['Clients', 'locations of clients', 'client-location'],
];

/** All permissions that the emulator knows. */
export const PERMISSIONS: readonly Permission[] = TABLE.flatMap(([category, subject, names]) =>
  names.split(' ').map((name) => ({ name, description: describe(name, subject), category })),
);

/** The names of all permissions. */
export const PERMISSION_NAMES: readonly string[] = PERMISSIONS.map(({ name }) => name);

function describe(name: string, subject: string): string {
  const [, action] = name.split(/:(?=[^:]*$)/);
  if (action === undefined) return subject;
  return action === 'r' || action === 'relaxed_read' ? `${subject}, read-only` : `${subject}: ${action}`;
}

/** Permissions that change nothing although their names do not end in `:r`. */
const READING: ReadonlySet<string> = new Set(
  [
    'logout perm:check device:list device:view account:home account:external vhm:get-setting vhm:get-status',
    'viq:get-account-info viq:get-export-import-status viq:get-backup-status backup:get-history-grid',
    'rmuser-me rmuser-reports account-user-me client-user-reports client-user-data-usage',
    'client-user-filter-metadata client-user-grid client-user-type-distribution client-location',
    'applications-reports applications-usage',
  ].flatMap((names) => names.split(' ')),
);

/**
 * The permissions of a role. The specification does not list them: here an administrator has all of them, every other
 * role those that change nothing.
 */
export function permissionsOf(role: Role): readonly string[] {
  return role === 'Administrator' ? PERMISSION_NAMES : READING_NAMES;
}

const READING_NAMES = PERMISSION_NAMES.filter(isReading);

/**
 * Whether these permissions include any one of `wanted`. A name without suffix is full control of its kind
 * (specification, Authentication), so it covers the same name with any suffix.
 */
export function grants(held: readonly string[], wanted: readonly string[]): boolean {
  return wanted.some((name) => held.some((own) => name === own || name.startsWith(`${own}:`)));
}

/**
 * The known permissions that a pattern matches. The specification does not show the rule. Here `*` stands for any
 * characters, `read*:SCOPE` for every reading permission of SCOPE, `write*:SCOPE` for all permissions of SCOPE.
 */
export function expandPattern(pattern: string): string[] {
  const [, access, scope = ''] = /^(read|write)\*:(.+)$/.exec(pattern) ?? [];
  if (access === undefined) return PERMISSION_NAMES.filter((name) => glob(pattern).test(name));
  const matches = PERMISSION_NAMES.filter((name) => glob(scope).test(name) || glob(`${scope}:*`).test(name));
  return access === 'read' ? matches.filter(isReading) : matches;
}

function isReading(name: string): boolean {
  return name.endsWith(':r') || name.endsWith(':relaxed_read') || READING.has(name);
}

function glob(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`);
}
