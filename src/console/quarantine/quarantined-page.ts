import { asText, showBytes } from '../../show-bytes.ts';
import { deliveryAddress } from '../addresses.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { bytesOf, numberOf } from '../html/number.ts';
import { timeOf } from '../html/time.ts';
import type { DescribedQuarantined } from './describe-quarantined.ts';
import { quarantinedAddress, stateBadge } from './quarantine-table.ts';

/** More characters of a text are no help on a page. */
const MAX_SHOWN = 64 * 1024;

/** The page of one in quarantine: all about it, its bytes, what to do and what became of it. */
export function quarantinedPage(described: DescribedQuarantined, content: Buffer): Page {
  const { item } = described;
  return {
    title: 'In quarantine',
    modules: ['quarantine.js'],
    content: html`
      ${factsOf(described)} ${item.resolution === null && actions(item.quarantine_id)}
      ${bytes(described, content)}
    `,
  };
}

function factsOf({ item, replayOf, account }: DescribedQuarantined): Content {
  const { replay_delivery_id: replayId, resolved_at: resolvedAt } = item;
  return html`
    <dl class="facts panel">
      <dt>State</dt>
      <dd>${stateBadge(item)} ${resolvedAt !== null && timeOf(resolvedAt)}</dd>
      <dt>Reason</dt>
      <dd>${item.reason}</dd>
      <dt>Received (UTC)</dt>
      <dd>${timeOf(item.received_at)}</dd>
      <dt>Source</dt>
      <dd>${item.source}</dd>
      <dt>Type</dt>
      <dd>${item.message_type}</dd>
      <dt>Size</dt>
      <dd>${bytesOf(item.bytes)}${item.encoding === null ? '' : `, in ${item.encoding}`}</dd>
      <dt>Delivery</dt>
      <dd><a class="mono" href=${deliveryAddress(item.delivery_id)}>${item.delivery_id}</a></dd>
      <dt>Id</dt>
      <dd class="mono">${item.quarantine_id}</dd>
      ${
        replayOf !== undefined &&
        html`
          <dt>Came from the replay of</dt>
          <dd><a class="mono" href=${quarantinedAddress(replayOf)}>${replayOf}</a></dd>
        `
      }
      ${
        replayId !== null &&
        html`
          <dt>Replayed as delivery</dt>
          <dd>
            <a class="mono" href=${deliveryAddress(replayId)}>${replayId}</a>${' '}
            ${
              account !== undefined &&
              `with ${numberOf(account.events)} events and ${numberOf(account.duplicates)} duplicates`
            }
          </dd>
        `
      }
      ${(account?.again ?? []).map(
        ({ quarantineId, reason }) => html`
          <dt>In quarantine again</dt>
          <dd><a class="mono" href=${quarantinedAddress(quarantineId)}>${quarantineId}</a>: ${reason}</dd>
        `,
      )}
    </dl>
  `;
}

/** What is done is told by the page when it is loaded anew. */
const actions = (id: string): Content => html`
  <h2>What to do</h2>
  <div class="row">
    <form data-action="/quarantine/replay" data-done="Replayed: this page says what came of it.">
      <input type="hidden" name="ids[]" value=${id} />
      <button>Replay</button>
    </form>
    <form
      data-action="/quarantine/discard"
      data-confirm="Discard it? Its bytes are emptied for good; its reason, size and source stay."
      data-done="Discarded."
    >
      <input type="hidden" name="ids[]" value=${id} />
      <button class="danger">Discard</button>
    </form>
  </div>
`;

function bytes({ item }: DescribedQuarantined, content: Buffer): Content {
  if (item.resolution === 'discarded') return html`<p class="empty">Its bytes were discarded.</p>`;
  const download = `/api/v1/quarantine/${item.quarantine_id}/content`;
  const text = showBytes(content, 'the download has all');
  return html`
    <h2>Its bytes</h2>
    <div class="row apart">
      <p>
        ${asText(content) === undefined ? 'No UTF-8 text: offset, bytes in hexadecimal, ASCII.' : 'As text.'}
      </p>
      <a class="button quiet" href=${download} download>Download as they came</a>
    </div>
    <pre tabindex="0" aria-label="Its bytes">${text.slice(0, MAX_SHOWN)}</pre>
    ${text.length > MAX_SHOWN && html`<p>${numberOf(text.length - MAX_SHOWN)} more characters: the download has all.</p>`}
  `;
}
