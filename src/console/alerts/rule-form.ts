import type { Request } from 'express';
import { z } from 'zod';
import { BUILT_IN_RULES } from '../../alerts/built-in-rules.ts';
import type { RuleChanges } from '../../alerts/change-rules.ts';
import { destinationsOf } from '../../alerts/parse-rules.ts';
import { SEVERITIES } from '../../events/rule-alert.ts';
import type { DestinationChanges } from '../../forward/change-destinations.ts';
import { HttpError } from '../../lib/errors.ts';
import { countOf } from '../../lib/text/units.ts';
import type { Scope } from '../../store/server/scope.ts';
import { CHANGE_OUTPUTS, type Visitor } from '../access/access.ts';
import { addressOf } from '../addresses.ts';
import { enteredOf, queryOf, several, text, textOf, wholeNumber } from '../api/parameters.ts';
import {
  changeRoute,
  jsonRoute,
  nameAnswer,
  orBadGateway,
  type ApiRoute,
  type RouteContext,
} from '../api/route.ts';
import { searchLine } from '../events/saved-searches.ts';
import { freeNameOf } from '../destinations/destination-form.ts';
import { fieldOf, selectOf } from '../html/form.ts';
import { withTimes } from '../html/elements.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { loadParts, partOf } from '../page-parts.ts';

/** What changes alert rules, and the destinations that their alerts can go to. */
export interface AlertOutputs {
  readonly rules: RuleChanges;
  readonly destinations: DestinationChanges;
  /** The names of all destinations. */
  readonly names: () => readonly string[];
}

const body = z.strictObject({
  use: text.optional().describe('a built-in rule'),
  name: text.max(63).optional().describe('of your own rule'),
  title: text.max(200).optional(),
  severity: z.enum(SEVERITIES).optional(),
  search: searchLine.optional(),
  count: wholeNumber(1, 10_000).optional(),
  within: text.optional(),
  silent_for: text.optional(),
  destinations: several(text).optional().describe('default: every destination whose filter matches'),
  slack_url: text
    .max(2_000)
    .optional()
    .describe('a Slack webhook, which is added as a destination for alerts'),
});

type Given = z.output<typeof body>;

const entryOf = ({ slack_url: _url, search, ...given }: Given) => ({
  ...given,
  ...(search !== undefined && { filter: { search } }),
});

const slackOptions = (url: string) => ({
  type: 'chat',
  service: 'slack',
  url,
  filter: { rule_alerts: 'only' },
});

/** Switching rules on and off, and testing them. */
export function ruleRoutes({ rules, destinations, names }: AlertOutputs): readonly ApiRoute[] {
  /** Adds the destination of a Slack webhook. Resolves with the names of the destinations that alerts go to then. */
  async function addSlack({ slack_url: url, destinations: others }: Given, { operator }: RouteContext) {
    if (url === undefined) return others;
    const name = freeNameOf('slack', names());
    await destinations.add(operator, name, slackOptions(url));
    return [...(others ?? []), name];
  }

  /** Sends a test event to a Slack webhook. Resolves with the result as a sentence; undefined without a webhook. */
  async function testSlack({ slack_url: url }: Given, { operator }: RouteContext) {
    if (url === undefined) return undefined;
    const name = freeNameOf('slack', names());
    const { refusal } = await orBadGateway('DESTINATION_FAILED', "can't send to Slack", () =>
      destinations.test(operator, name, slackOptions(url)),
    );
    return refusal === undefined ? 'Slack accepted a test event.' : `Slack rejected a test event: ${refusal}`;
  }

  return [
    jsonRoute({
      route: 'POST /alert-rules',
      summary: 'switch on or change an alert rule, a built-in one or your own',
      ...CHANGE_OUTPUTS,
      input: { body },
      answer: nameAnswer,
      async work({ body: given }, context) {
        const { name } = rules.check(entryOf(given));
        const chosen = await addSlack(given, context);
        await rules.save(context.operator, entryOf({ ...given, destinations: chosen }));
        return { name };
      },
    }),
    jsonRoute({
      route: 'POST /alert-rules/test',
      summary: 'list the alerts that a rule would have raised in the last 90 days',
      description: 'With slack_url, a test event is sent there.',
      ...CHANGE_OUTPUTS,
      input: { body },
      answer: z.object({ summary: z.string(), newest: z.array(z.string()) }),
      async work({ body: given }, context) {
        const { summary, newest } = await backtest(rules, context.scope, entryOf(given), context.signal);
        const sent = await testSlack(given, context);
        return { summary: sent === undefined ? summary : `${summary} ${sent}`, newest };
      },
    }),
    changeRoute(
      'POST /alert-rules/{name}/delete',
      'switch off an alert rule that was switched on here',
      CHANGE_OUTPUTS,
      (name, { operator }) => rules.remove(operator, name),
    ),
  ];
}

async function backtest(
  rules: RuleChanges,
  scope: Scope,
  entry: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) {
  const { days, raised, newest } = await rules.backtest(scope, entry, signal);
  const shown = raised > newest.length ? ` The newest ${newest.length}:` : '';
  return {
    summary: `This rule would have raised ${countOf(raised, 'alert')} in the last ${days} days.${shown}`,
    newest,
  };
}

export const ruleAddress = (rule?: string) => addressOf('/alerts/edit', { rule });

/** Time for the first test, without which the page is shown, too. */
const PATIENCE_MS = 3_000;

const shownEntry = z.object({
  title: z.string().optional(),
  severity: z.string().default('medium'),
  count: z.number().optional(),
  within: z.string().optional(),
  silent_for: z.string().optional(),
  filter: z.object({ search: z.string().optional() }).optional().catch(undefined),
});

/** The form that switches a rule on, or changes one that is on, with the alerts that it would have raised. */
export async function ruleForm(
  { rules, names }: AlertOutputs,
  request: Request,
  { scope }: Visitor,
): Promise<Page> {
  const name = textOf(queryOf(request), 'rule');
  const entry = name === undefined ? undefined : (await rules.entries()).get(name);
  const builtIn = BUILT_IN_RULES.find((rule) => rule.name === name);
  if (name !== undefined && entry === undefined && builtIn === undefined) {
    throw new HttpError(404, 'UNKNOWN_RULE', `there is no rule "${name}" that can be changed here`);
  }
  const { filter, ...shown } = shownEntry.parse({ ...builtIn, ...entry });
  const entered = enteredOf({ ...shown, search: filter?.search });
  const { read, problems } = loadParts();
  const tested = entry ?? (builtIn && { use: builtIn.name });
  const result =
    tested === undefined
      ? null
      : await read('test', () => backtest(rules, scope, tested, AbortSignal.timeout(PATIENCE_MS)));
  const isOn = entry !== undefined;
  return {
    title: name === undefined ? 'Add a rule' : (shown.title ?? name),
    modules: ['pages/sources.ts'],
    content: html`
      <form
        class="panel fields"
        data-action="/alert-rules"
        data-then="/alerts"
        data-done=${isOn ? 'The rule was changed and starts over.' : 'The rule is on for events stored from now on.'}
      >
        ${
          builtIn === undefined
            ? html`
                ${
                  name === undefined
                    ? fieldOf(entered, 'name', 'Name', 'night-changes')
                    : html`<input type="hidden" name="name" value=${name} />`
                }
                ${fieldOf(entered, 'title', 'Title (optional)', 'Configuration changed')}
                ${fieldOf(entered, 'search', 'Events that match', 'action:private-key-created user:guest*')}
              `
            : html`<input type="hidden" name="use" value=${builtIn.name} />`
        }
        ${selectOf(entered, 'severity', 'Severity', SEVERITIES)}
        ${(builtIn === undefined || shown.count !== undefined) && fieldOf(entered, 'count', 'Number of events', '1', { type: 'number' })}
        ${(builtIn === undefined || shown.within !== undefined) && fieldOf(entered, 'within', 'Within', '10m')}
        ${shown.silent_for !== undefined && fieldOf(entered, 'silent_for', 'Silent for', '1h')}
        ${destinationBoxes(names(), entry === undefined ? [] : destinationsOf(entry))}
        ${fieldOf(entered, 'slack_url', 'Slack webhook (adds a destination)', 'https://hooks.slack.com/services/…', { autocomplete: 'off' })}
        <div class="row">
          <button>${isOn ? 'Save' : 'Switch on'}</button>
          <button class="quiet" data-action="/alert-rules/test">Test</button>
          <a class="button quiet" href="/alerts">Cancel</a>
        </div>
      </form>
      <div class="shown" role="status">
        ${partOf(
          problems,
          'test',
          result,
          ({ summary, newest }) => html`
            <p>${summary}</p>
            ${
              newest.length > 0 &&
              html`<ul>
                ${newest.map((one) => html`<li>${withTimes(one)}</li>`)}
              </ul>`
            }
          `,
          '',
        )}
      </div>
    `,
  };
}

const destinationBoxes = (names: readonly string[], chosen: readonly string[]): Content =>
  names.length > 0 &&
  html`
    <fieldset>
      <legend>Send alerts to</legend>
      ${names.map(
        (name) => html`
          <label>
            <input type="checkbox" name="destinations[]" value=${name} checked=${chosen.includes(name)} />
            ${name}
          </label>
        `,
      )}
      <p class="dim">If you choose none, alerts go to each destination whose filter matches.</p>
    </fieldset>
  `;
