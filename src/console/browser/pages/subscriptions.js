// Shows the plan of each source, and applies it.

import { html, render } from 'htm/preact';
import { agree } from '../shared/actions.js';
import { request } from '../shared/api.js';
import { countOf } from '../shared/numbers.js';
import { tableOf } from '../shared/table.js';

/**
 * @typedef {{ member: string, from?: string, to?: string }} Difference
 * @typedef {{ action: 'create' | 'update' | 'delete' | 'keep', message_type: string, url: string,
 *   subscription_id?: string | null, differences?: Difference[], reason?: string }} Step
 * @typedef {{ source: string, subscription_id: string | null, message_type: string, status: string,
 *   application: string, ours: boolean, url: string }} Held
 * @typedef {{ compared_with: 'cloud' | 'records', in_order: boolean, steps: Step[],
 *   not_offered: string[], held: Held[] }} Look
 * @typedef {{ outcomes: { step: Step, error: string | null }[], unfinished: { step: Step, reason: string }[] }} Applied
 * @typedef {{ look?: Look | undefined, applied?: Applied | undefined, problem?: string | undefined, doing?: string | undefined }} State
 */

const KIND = { create: 'good', update: 'warn', delete: 'bad', keep: 'plain' };

const SIGN = { create: '+ create', update: '~ update', delete: '− delete', keep: 'keep' };

for (const place of document.querySelectorAll('[data-source]')) {
  if (place instanceof HTMLElement) show(place, place.dataset['source'] ?? '');
}

/**
 * @param {HTMLElement} place
 * @param {string} source
 */
function show(place, source) {
  const path = `/subscriptions/${encodeURIComponent(source)}`;
  /** @type {State} */
  let state = { doing: 'Querying the cloud…' };

  /** @param {State} change */
  function set(change) {
    state = { ...state, ...change };
    render(html`<${Source} ...${state} />`, place);
  }

  /** @param {Promise<Look>} [asked] */
  async function look(asked = request(path)) {
    set({ doing: 'Querying the cloud…', problem: undefined });
    try {
      set({ look: await asked, doing: undefined });
    } catch (error) {
      set({ problem: error instanceof Error ? error.message : String(error), doing: undefined });
    }
  }

  async function apply() {
    const changes = (state.look?.steps ?? []).filter(({ action }) => action !== 'keep').length;
    const question = `Change ${countOf(changes, 'subscription')} of ${source} in the cloud?`;
    if (!(await agree(question, 'Apply'))) return;
    set({ doing: 'Applying the plan and waiting for the cloud to confirm…', applied: undefined });
    try {
      set({ applied: await request(`${path}/apply`, { method: 'POST', body: {} }) });
    } catch (error) {
      set({ problem: error instanceof Error ? error.message : String(error), doing: undefined });
      return;
    }
    await look();
  }

  /** @param {State} props */
  function Source({ look: looked, applied, problem, doing }) {
    return html`
      <div class="row apart">
        <h2>${source}</h2>
        <div class="row">
          <button type="button" class="quiet" disabled=${doing !== undefined} onClick=${() => look()}>
            Refresh
          </button>
          ${
            problem !== undefined &&
            place.dataset['mayApply'] === 'yes' &&
            html`<button
              type="button"
              class="quiet"
              disabled=${doing !== undefined}
              onClick=${() => look(request(`${path}/ask-again`, { method: 'POST', body: {} }))}
            >
              Log in again
            </button>`
          }
          ${
            looked !== undefined &&
            !looked.in_order &&
            place.dataset['mayApply'] === 'yes' &&
            html`<button type="button" disabled=${doing !== undefined} onClick=${apply}>Apply plan</button>`
          }
        </div>
      </div>
      <p role="status">${doing ?? (looked === undefined ? '' : sumUp(looked))}</p>
      ${problem !== undefined && html`<p class="note bad">${problem}</p>`}
      ${applied !== undefined && html`<${Result} ...${applied} />`}
      ${
        looked?.compared_with === 'records' &&
        html`<p class="note">
          The cloud does not list subscriptions, so the plan is based on local records.
        </p>`
      }
      ${
        looked !== undefined &&
        looked.not_offered.length > 0 &&
        html`<p class="note">Not offered by this cloud: ${looked.not_offered.join(', ')}.</p>`
      }
      ${looked !== undefined && html`<${Plan} steps=${looked.steps} /><${HeldList} held=${looked.held} />`}
    `;
  }

  set({});
  void look();
}

/** @param {Look} look */
function sumUp({ steps, in_order: isInOrder }) {
  if (isInOrder) return `All ${steps.length} match the settings.`;
  const count = (/** @type {Step['action']} */ action) =>
    steps.filter((step) => step.action === action).length;
  return `${count('create')} to create, ${count('update')} to update, ${count('delete')} to delete, ${count('keep')} unchanged.`;
}

/** @param {{ steps: Step[] }} props */
const Plan = ({ steps }) => html`
  <h3>Plan</h3>
  ${tableOf(
    'Planned change of each subscription',
    [
      { heading: 'Action', cell: ({ action }) => html`<${Action} action=${action} />` },
      { heading: 'Type', cell: ({ message_type: type }) => type },
      { heading: 'ID', kind: 'mono nowrap', cell: ({ subscription_id: id }) => id },
      { heading: 'Details', kind: 'wrap', cell: (step) => html`<${Detail} ...${step} />` },
    ],
    steps,
  )}
`;

/** @param {{ action: Step['action'] }} props */
const Action = ({ action }) => html`<span class=${`badge ${KIND[action]}`}>${SIGN[action]}</span>`;

/** @param {Step} step */
function Detail({ differences, reason, url }) {
  if (differences !== undefined) {
    return differences.map(
      ({ member, from, to }) => html`
        <div>
          ${member}${member === 'secret' ? ': differs' : html`: <del>${from === '' ? '(none)' : from}</del> → <ins>${to}</ins>`}
        </div>
      `,
    );
  }
  return reason === undefined ? url : `${reason}: ${url}`;
}

/** @param {Applied} applied */
function Result({ outcomes, unfinished }) {
  return html`
    <div class=${`note ${unfinished.length === 0 ? '' : 'bad'}`}>
      <p>
        ${unfinished.length === 0 ? `${outcomes.length} applied and confirmed by the cloud.` : `${unfinished.length} not applied. Apply the plan again to continue.`}
      </p>
      <ul>
        ${outcomes.map(
          ({ step, error }) =>
            html`<li>
              <${Action} action=${step.action} /> ${step.message_type}:${' '}
              ${error === null ? 'accepted' : `failed: ${error}`}
            </li>`,
        )}
        ${unfinished.map(({ step, reason }) => html`<li>${step.message_type} is left: ${reason}</li>`)}
      </ul>
    </div>
  `;
}

/** @param {{ held: Held[] }} props */
const HeldList = ({ held }) => html`
  <h3>Subscriptions in the cloud</h3>
  ${
    held.length === 0
      ? html`<p class="empty">No subscriptions. Apply the plan to create them.</p>`
      : tableOf(
          'Subscriptions in the cloud',
          [
            { heading: 'Type', cell: ({ message_type: type }) => type },
            { heading: 'Status', cell: ({ status }) => status },
            { heading: 'Application', cell: ({ application }) => application },
            { heading: 'Managed here', cell: ({ ours }) => (ours ? 'yes' : 'no') },
            { heading: 'ID', kind: 'mono nowrap', cell: ({ subscription_id: id }) => id },
            { heading: 'URL', kind: 'wrap', cell: ({ url }) => url },
          ],
          held,
        )
  }
`;
