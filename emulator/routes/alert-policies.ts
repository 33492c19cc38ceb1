import { z } from 'zod';
import { badRequest, found } from '../http/errors.ts';
import { digitsOf, int64, int64Path } from '../http/int64.ts';
import type { Int64 } from '../http/int64.ts';
import { array, noInput, object, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { newAlertPolicy, SEVERITIES, sitesIn } from '../world/alert-policies.ts';
import type { AlertPolicy, AlertRule } from '../world/alert-policies.ts';
import type { World } from '../world/world.ts';

const policySchema = z.looseObject({ id: int64, name: z.string() });
const ruleSchema = z.looseObject({ id: int64, is_enabled: z.boolean() });
const siteSchema = z.object({ site_id: int64, site_name: z.string() });
const byId = z.object({ policyId: int64Path });
const byRule = byId.extend({ ruleId: int64Path });
const listQuery = z.object({
  keyword: z.string().default(''),
  policyType: z.enum(['GLOBAL', 'SITE']).optional(),
});
const severity = z.union([z.literal(1), z.literal(2), z.literal(3)]);

/** Body of a change of a rule. Members that the emulator does not use are ignored. */
const ruleChange = z.object({
  description: z.string().optional(),
  severity_id: severity.optional(),
  trigger_type: z.string().optional(),
  duration: z.int().optional(),
  threshold: z.number().optional(),
});

/** Alert policies and their rules (vendor's description; the specification names their permissions only). */
export function alertPolicyRoutes({ world }: { world: World }): Route[] {
  const { account, alertPolicies: policies } = world;
  const path = '/alert-policies';
  const read = ['alert-policies:r'];
  const write = ['alert-policies'];
  const get = (id: string) => found(policies.get(id), 'alert policy', id);

  function sitesOf(ids: readonly Int64[]): number[] {
    const known = new Map(sitesIn(world.locations).map(({ id }) => [String(id), id]));
    return ids.map((id) => {
      const site = known.get(digitsOf(id));
      if (site === undefined) throw badRequest(`body.site_ids: no site ${digitsOf(id)}`);
      return site;
    });
  }

  function sitePolicy(id: string): AlertPolicy {
    const policy = get(id);
    if (policy.siteIds.length === 0) throw badRequest('The global policy cannot be changed or deleted');
    return policy;
  }

  function ruleOf({ policyId, ruleId }: z.output<typeof byRule>): AlertRule {
    return found(
      get(policyId).rules.find(({ id }) => String(id) === ruleId),
      'alert rule',
      ruleId,
    );
  }

  function record({ id, name, siteIds, rules }: AlertPolicy) {
    const sites = siteIds.map((site_id) => ({
      site_id,
      site_name: world.locations.get(String(site_id))?.name ?? '',
    }));
    return {
      id,
      owner_id: account.ownerId,
      org_id: account.creatingOrgId,
      name,
      sites,
      event_rules_overview: overview(rules, 'EVENT').map(([category_id, category_name, rules]) => ({
        category_id,
        category_name,
        rules,
      })),
      metric_rules_overview: overview(rules, 'METRIC').map(([metricset_id, metricset_name, rules]) => ({
        metricset_id,
        metricset_name,
        rules,
      })),
    };
  }

  return [
    route('GET', path, 'List alert policies', {
      access: read,
      input: z.object({ query: listQuery }),
      success: object(z.looseObject({ site_policies: z.array(policySchema) })),
      handle({ query: { keyword, policyType } }) {
        const records = [...policies.values()].map(record);
        const [global, ...others] = records;
        const named = others.filter(({ name }) => name.toLowerCase().includes(keyword.toLowerCase()));
        return {
          ...(policyType === 'SITE' ? {} : { global_policy: global }),
          site_policies: policyType === 'GLOBAL' ? [] : named,
        };
      },
    }),
    route('POST', path, 'Create an alert policy of some sites', {
      access: write,
      input: z.object({ body: z.object({ name: z.string().min(1), site_ids: z.array(int64).min(1) }) }),
      success: object(policySchema),
      creates: true,
      handle({ body: { name, site_ids } }) {
        const policy = newAlertPolicy(world.nextId, name, sitesOf(site_ids));
        policies.set(String(policy.id), policy);
        return record(policy);
      },
    }),
    route('GET', `${path}/available-sites`, 'List the sites that have no alert policy of their own', {
      access: read,
      input: noInput,
      success: array(siteSchema),
      handle() {
        const taken = new Set([...policies.values()].flatMap(({ siteIds }) => siteIds));
        return sitesIn(world.locations)
          .filter(({ id }) => !taken.has(id))
          .map(({ id, name }) => ({ site_id: id, site_name: name }));
      },
    }),
    route('GET', `${path}/{policyId}`, 'Get an alert policy', {
      access: read,
      input: byId,
      success: object(policySchema),
      handle: ({ policyId }) => record(get(policyId)),
    }),
    route('PUT', `${path}/{policyId}`, 'Change name and sites of an alert policy', {
      access: write,
      input: byId.extend({
        body: z.object({ name: z.string().min(1).optional(), site_ids: z.array(int64).min(1) }),
      }),
      success: object(policySchema),
      handle({ policyId, body: { name, site_ids } }) {
        const policy = sitePolicy(policyId);
        policy.siteIds = sitesOf(site_ids);
        policy.name = name ?? policy.name;
        return record(policy);
      },
    }),
    route('DELETE', `${path}/{policyId}`, 'Delete an alert policy with its rules', {
      access: write,
      input: byId,
      handle({ policyId }) {
        policies.delete(String(sitePolicy(policyId).id));
      },
    }),
    route('GET', `${path}/{policyId}/rules/{ruleId}`, 'Get an alert rule', {
      access: read,
      input: byRule,
      success: object(ruleSchema),
      handle: (ids) => ruleRecord(ruleOf(ids)),
    }),
    route('PUT', `${path}/{policyId}/rules/{ruleId}`, 'Change the given members of an alert rule', {
      access: write,
      input: byRule.extend({ body: ruleChange }),
      success: object(ruleSchema),
      handle({ body, ...ids }) {
        const rule = ruleOf(ids);
        rule.description = body.description ?? rule.description;
        rule.severityId = body.severity_id ?? rule.severityId;
        rule.triggerType = body.trigger_type ?? rule.triggerType;
        rule.duration = body.duration ?? rule.duration;
        rule.threshold = body.threshold ?? rule.threshold;
        return ruleRecord(rule);
      },
    }),
    ...(['enable', 'disable'] as const).map((verb) =>
      route('POST', `${path}/{policyId}/rules/{ruleId}/:${verb}`, `Set an alert rule ${verb}d`, {
        access: write,
        input: byRule,
        success: object(ruleSchema),
        handle(ids) {
          const rule = ruleOf(ids);
          rule.isEnabled = verb === 'enable';
          return ruleRecord(rule);
        },
      }),
    ),
  ];
}

/** The rules of one type by category: identifier and name of the category, and its rules. */
function overview(rules: readonly AlertRule[], type: AlertRule['kind']['type']) {
  const groups = Map.groupBy(
    rules.filter(({ kind }) => kind.type === type),
    ({ kind }) => kind.categoryId,
  );
  return [...groups].map(([id, members]) => {
    const overviews = members.map(({ id, kind, isEnabled }) => ({ id, name: kind.name, enabled: isEnabled }));
    return [id, members[0]?.kind.categoryName ?? '', overviews] as const;
  });
}

function ruleRecord({
  id,
  kind,
  description,
  severityId,
  triggerType,
  isEnabled,
  duration,
  threshold,
}: AlertRule) {
  return {
    id,
    message_metadata_id: kind.metadataId,
    message_metadata_name: kind.name,
    message_metadata_type: kind.type,
    description,
    severity_id: severityId,
    severity_name: SEVERITIES[severityId],
    trigger_type: triggerType,
    is_enabled: isEnabled,
    ...(triggerType === 'DEFERRED' ? { duration } : {}),
    ...(threshold === undefined ? {} : { threshold, unit: '%', operator: 'GT' }),
  };
}
