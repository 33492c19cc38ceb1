import type { Request } from 'express';
import { z } from 'zod';
import { parseMacAddress } from '../../mac-address.ts';
import type { Db } from '../../store/database.ts';
import { summarizeClient, summarizeUser } from '../../store/timeline.ts';
import type { ClientSummary, UserSummary } from '../../store/timeline.ts';
import { clientAddress, userAddress } from '../addresses.ts';
import { queryOf, readQuery, textOf } from '../api/query.ts';
import { userName } from '../events/conditions.ts';
import { fieldOf } from '../html/form.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { numberOf } from '../html/number.ts';
import { timeOf } from '../html/values.ts';

/** How far back is looked. */
const DAYS = 30;

const search = z.object({ q: userName.transform((text) => text.trim()).optional() });

/** Looks for a user or a device. */
export async function renderPeople(db: Db, request: Request): Promise<Page> {
  const written = queryOf(request);
  const { asked, problems } = readQuery(search, written);
  const form = html`
    <form method="get" action="/people" role="search" aria-label="People and devices">
      <div class="fields">
        ${fieldOf({
          name: 'q',
          label: 'User name, or MAC address in any notation',
          value: textOf(written, 'q'),
          problem: problems?.get('q'),
        })}
      </div>
      <button>Look</button>
    </form>
  `;
  const content = asked?.q === undefined ? asked && FIRST_WORDS : await found(db, asked.q);
  return { title: 'People and devices', content: [form, content] };
}

const FIRST_WORDS = html`
  <p class="empty">
    Give the whole name of a user as events have it, or the MAC address of a client. You get what happened
    with it, with whom and where it was seen. An access point's events are under <a href="/events">Events</a>.
  </p>
`;

async function found(db: Db, q: string): Promise<Content> {
  const until = new Date();
  const since = new Date(until.getTime() - DAYS * 86_400_000);
  const mac = parseMacAddress(q);
  const [user, client] = await Promise.all([
    summarizeUser(db, q, since, until),
    mac === undefined ? undefined : summarizeClient(db, mac, since, until),
  ]);
  const range = { since: `${DAYS}d` };
  const panels = [
    client !== undefined &&
      mac !== undefined &&
      wasSeen(client) &&
      hit(`Client ${mac}`, client, clientAddress(mac, range)),
    wasSeen(user) && hit(`User ${q}`, user, userAddress(q, range)),
  ].filter((panel) => panel !== false);
  if (panels.length > 0) return html`<div class="panels found">${panels}</div>`;
  return html`
    <div class="empty">
      <p>
        In the last ${DAYS} days no event names ${mac === undefined ? `the user ${q}` : `the client ${mac}`}.
      </p>
      <p>
        Names are compared as they are, upper and lower case included. Look further back:${' '}
        <a
          href=${mac === undefined ? userAddress(q, { since: '3650d' }) : clientAddress(mac, { since: '3650d' })}
          >all that is stored</a
        >.
      </p>
    </div>
  `;
}

const wasSeen = ({ lastSeen, isComplete }: UserSummary | ClientSummary) =>
  lastSeen !== undefined || !isComplete;

function eventsOf(countsByType: UserSummary['countsByType']): string {
  const count = Object.values(countsByType).reduce((sum, one) => sum + one, 0);
  return `${numberOf(count)} ${count === 1 ? 'event' : 'events'}`;
}

const hit = (title: string, { lastSeen, countsByType }: UserSummary | ClientSummary, address: string) => html`
  <section class="panel">
    <h2><a href=${address}>${title}</a></h2>
    <p>
      ${`${eventsOf(countsByType)} in the last ${DAYS} days`}${
        lastSeen !== undefined && html`, the last ${timeOf(lastSeen)}`
      }
    </p>
  </section>
`;
