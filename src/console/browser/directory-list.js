// The list of people or devices. The server renders it too, so this module must not access the page.

import { html } from 'htm/preact';
import { agoText } from './local-time.js';
import { Sparkline } from './sparkline.js';

/** @typedef {'administrator' | 'user' | 'client' | 'access point'} Kind */

/**
 * An entry as the API answers it.
 *
 * @typedef {object} Entry
 * @property {Kind} kind
 * @property {string} key
 * @property {string} name
 * @property {string} last_seen
 * @property {readonly number[]} days
 * @property {number} events
 * @property {number} logins
 * @property {number} changes
 * @property {number} keys
 */

/**
 * A list as the API answers it.
 *
 * @typedef {object} List
 * @property {string} since start of the first day that is counted
 * @property {readonly Entry[]} items
 * @property {string | null} next_cursor
 */

const numbers = new Intl.NumberFormat('en');

/** @param {string} text */
const quoted = (text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

/** The search for the events of an entry, by its kind. @type {Record<Kind, (entry: Entry) => string>} */
const EVENTS = {
  administrator: ({ name }) => `user:${quoted(name)} type:AUDIT_LOG_ALL,GDPR_LOG_ALL`,
  user: ({ name }) =>
    `user:${quoted(name)} type:AUTHENTICATION_LOG_ALL,ACCOUNTING_LOG_ALL,CREDENTIAL_LOG_ALL`,
  client: ({ key }) => `client:${key} -type:GDPR_LOG_ALL`,
  'access point': ({ key }) => `ap:${key}`,
};

/** The actions that each number counts. */
const ACTIONS = {
  logins: 'action:login,network-login',
  changes: 'action:configuration-changed',
  keys: 'action:private-key-created,private-key-deleted',
};

/**
 * The page of a person or device.
 *
 * @param {Pick<Entry, 'kind' | 'key' | 'name'>} entry
 */
export function addressOfEntry({ kind, key, name }) {
  if (kind === 'client') return `/people/client?${new URLSearchParams({ mac: key })}`;
  if (kind === 'access point') return `/devices/access-point?${new URLSearchParams({ mac: key })}`;
  return `/people/user?${new URLSearchParams({ name })}`;
}

/**
 * The list, with links to sort it and to its next page.
 *
 * @param {{ path: '/people' | '/devices', query: Record<string, string>, list: List, now: string }} props
 */
export function DirectoryList({ path, query, list, now }) {
  const isPeople = path === '/people';
  if (list.items.length === 0) return html`<${Nothing} isPeople=${isPeople} query=${query} />`;
  const columns = isPeople ? /** @type {const} */ (['logins', 'changes', 'keys']) : [];
  /** @param {Record<string, string>} changes */
  const address = (changes) => {
    const { cursor: _cursor, ...others } = query;
    return `${path}?${new URLSearchParams({ ...others, ...changes })}`;
  };
  const isByName = query['order'] === 'name';
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${isPeople ? 'People' : 'Devices'}>
      <table class="directory">
        <caption class="visually-hidden">
          ${isPeople ? 'People' : 'Devices'}, ${isByName ? 'by name' : 'last seen first'}
        </caption>
        <thead>
          <tr>
            <th scope="col" aria-sort=${isByName ? 'ascending' : undefined}>
              <a href=${address({ order: 'name' })}
                >Name ${isByName && html`<span aria-hidden="true">↓</span>`}</a
              >
            </th>
            <th scope="col">Kind</th>
            <th scope="col" aria-sort=${isByName ? undefined : 'descending'}>
              <a href=${address({ order: 'seen' })}>
                Last seen ${!isByName && html`<span aria-hidden="true">↓</span>`}
              </a>
            </th>
            <th scope="col">30 days</th>
            <th scope="col" class="number">Events</th>
            ${columns.map((name) => html`<th key=${name} scope="col" class="number">${HEADINGS[name]}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${list.items.map(
            (entry) => html`
              <tr key=${`${entry.kind} ${entry.key}`}>
                <td class="wrap">
                  <a
                    href=${addressOfEntry(entry)}
                    class=${entry.name === entry.key && !isPeople ? 'mono' : undefined}
                  >
                    ${entry.name}
                  </a>
                  ${entry.kind === 'access point' && entry.name !== entry.key && html` <span class="dim mono">${entry.key}</span>`}
                </td>
                <td data-label="Kind">${entry.kind}</td>
                <td data-label="Last seen">
                  <time datetime=${entry.last_seen}>${agoText(entry.last_seen, now)}</time>
                </td>
                <td class="days">
                  <${Sparkline}
                    days=${entry.days}
                    label=${`${numbers.format(entry.events)} events in 30 days`}
                  />
                </td>
                <td class=${cellClass(entry.events)} data-label="Events">
                  <${Count} count=${entry.events} entry=${entry} since=${list.since} />
                </td>
                ${columns.map(
                  (name) => html`
                    <td key=${name} class=${cellClass(entry[name])} data-label=${HEADINGS[name]}>
                      <${Count}
                        count=${entry[name]}
                        entry=${entry}
                        since=${list.since}
                        further=${ACTIONS[name]}
                      />
                    </td>
                  `,
                )}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
    ${
      (list.next_cursor !== null || query['cursor'] !== undefined) &&
      html`
        <nav class="row paging" aria-label="Pages of the list">
          ${query['cursor'] !== undefined && html`<a class="button quiet" href=${address({})}>First page</a>`}
          ${
            list.next_cursor !== null &&
            html`<a class="button quiet" rel="next" href=${address({ cursor: list.next_cursor })}
              >Next page</a
            >`
          }
        </nav>
      `
    }
  `;
}

const HEADINGS = { logins: 'Logins', changes: 'Changes', keys: 'Keys' };

/** A phone does not show zeros. @param {number} count */
const cellClass = (count) => (count === 0 ? 'number zero' : 'number');

/**
 * A number that leads to its events.
 *
 * @param {{ count: number, entry: Entry, since: string, further?: string }} props
 */
function Count({ count, entry, since, further = '' }) {
  if (count === 0) return html`<span class="dim">–</span>`;
  const query = new URLSearchParams({ since, q: `${EVENTS[entry.kind](entry)} ${further}`.trimEnd() });
  return html`<a href=${`/events?${query}`}>${numbers.format(count)}</a>`;
}

/** @param {{ isPeople: boolean, query: Record<string, string> }} props */
function Nothing({ isPeople, query }) {
  const names = isPeople ? 'people' : 'devices';
  if (query['q'] === undefined) {
    return html`<p class="empty">
      No event has named any ${names} yet. They appear here some seconds after their first event.
    </p>`;
  }
  return html`
    <p class="empty">
      No ${names} whose ${isPeople ? 'name begins' : 'MAC address or host name begins'} with${' '}
      “${query['q']}”. Shorten the text, or${' '}
      <a href=${`/events?${new URLSearchParams({ q: quoted(query['q']) })}`}>search the events for it</a>.
    </p>
  `;
}
