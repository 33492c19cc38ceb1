import { z } from 'zod';
import { nothing, plus, rows } from './endpoint-row.ts';
import type { EndpointRow, Prepare } from './endpoint-row.ts';
import type { Call } from './call.ts';

const POLICIES = '/alert-policies';
const SUBSCRIPTIONS = '/alert-subscriptions/webhooks';

/** A span of time that contains the present. */
export const SPAN = `startTime=${Date.now() - 3_600_000}&endTime=${Date.now() + 3_600_000}`;

/** An alert subscription that nothing is sent to. */
export const alertSubscription = {
  url: 'http://127.0.0.1:9/',
  secret: 's',
  is_enabled: false,
  is_subscribe_all: true,
  alert_policy_ids: [],
};

const entity = z.object({ id: z.int() });
const policyList = z.object({
  global_policy: entity,
  site_policies: z.array(z.object({ sites: z.array(z.object({ site_id: z.int() })).min(1) })).min(1),
});
const policy = entity.extend({
  event_rules_overview: z.array(z.object({ rules: z.array(entity) })).min(1),
});

/** The global alert policy. */
const globalPolicy = async (call: Call) =>
  policyList.parse((await call('GET', POLICIES)).body).global_policy.id;

/** A site that has a policy of its own. */
async function someSite(call: Call): Promise<number> {
  const { site_policies: policies } = policyList.parse((await call('GET', POLICIES)).body);
  return policies[0]?.sites[0]?.site_id ?? 0;
}

const newPolicy = async (call: Call) => ({ name: 'new', site_ids: [await someSite(call)] });

/** On an alert policy of its own. */
const sitePolicy: Prepare = async (call) => {
  const answer = await call('POST', POLICIES, { body: await newPolicy(call) });
  return { id: entity.parse(answer.body).id };
};

/** On the first rule of the global policy. */
const rule: Prepare = async (call) => {
  const id = await globalPolicy(call);
  const { event_rules_overview: groups } = policy.parse((await call('GET', `${POLICIES}/${id}`)).body);
  return { id: [id, groups[0]?.rules[0]?.id ?? 0] };
};

/** On an alert subscription of its own. */
const subscription: Prepare = async (call) => ({
  id: entity.parse((await call('POST', SUBSCRIPTIONS, { body: alertSubscription })).body).id,
});

/** Alerts: published calls, of which the specification has the permissions only. */
export const alertRows: readonly EndpointRow[] = rows('alerts', [
  ['GET /alerts', 200, () => ({ query: SPAN })],
  ['POST /alerts/:acknowledge', 200, () => ({ body: { alert_ids: ['1'] } })],
  ['GET /alerts/count-by-{group}', 200, () => ({ id: 'SEVERITY', query: SPAN })],
  [`GET ${SUBSCRIPTIONS}`, 200, nothing],
  [`POST ${SUBSCRIPTIONS}`, 200, () => ({ body: alertSubscription })],
  [
    `POST ${SUBSCRIPTIONS}/:delete`,
    200,
    async (call) => ({ body: { ids: [(await subscription(call)).id] } }),
  ],
  [`GET ${SUBSCRIPTIONS}/{id}`, 200, subscription],
  [`PUT ${SUBSCRIPTIONS}/{id}`, 200, plus(subscription, () => ({ body: alertSubscription }))],
  [`DELETE ${SUBSCRIPTIONS}/{id}`, 200, subscription],
  [`GET ${POLICIES}`, 200, nothing],
  [`POST ${POLICIES}`, 200, async (call) => ({ body: await newPolicy(call) })],
  [`GET ${POLICIES}/available-sites`, 200, nothing],
  [`GET ${POLICIES}/{policyId}`, 200, async (call) => ({ id: await globalPolicy(call) })],
  [`PUT ${POLICIES}/{policyId}`, 200, plus(sitePolicy, async (call) => ({ body: await newPolicy(call) }))],
  [`DELETE ${POLICIES}/{policyId}`, 200, sitePolicy],
  [`GET ${POLICIES}/{policyId}/rules/{ruleId}`, 200, rule],
  [`PUT ${POLICIES}/{policyId}/rules/{ruleId}`, 200, plus(rule, () => ({ body: { severity_id: 2 } }))],
  [`POST ${POLICIES}/{policyId}/rules/{ruleId}/:enable`, 200, rule],
  [`POST ${POLICIES}/{policyId}/rules/{ruleId}/:disable`, 200, rule],
]);
