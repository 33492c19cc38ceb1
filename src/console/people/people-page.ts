import type { Request } from 'express';
import { z } from 'zod';
import { parseMacAddress } from '../../mac-address.ts';
import type { Db } from '../../store/database.ts';
import { summarizeClient, summarizeUser } from '../../store/timeline.ts';
import type { ClientSummary, UserSummary } from '../../store/timeline.ts';
import type { Scope } from '../../store/scope.ts';
import { countOf } from '../../units.ts';
import { clientAddress, userAddress } from '../addresses.ts';
import { queryOf, readQuery } from '../api/query.ts';
import { userName } from '../events/conditions.ts';
import { fieldOf } from '../html/form.ts';
import { html, type Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { timeOf } from '../html/time-zone.ts';

/** The range of the search, in days. */
const DAYS = 30;

const search = z.object({ q: userName.transform((text) => text.trim()).optional() });

/** The search for a user or a client. */
export async function renderPeople(db: Db, scope: Scope, request: Request): Promise<Page> {
  const written = queryOf(request);
  const { asked, problems } = readQuery(search, written);
  const form = html`
    <form method="get" action="/people" role="search" aria-label="People and devices">
      <div class="fields">${fieldOf(written, 'q', 'User name or MAC address', undefined, problems)}</div>
      <button>Search</button>
    </form>
  `;
  const content = asked?.q === undefined ? asked && FIRST_WORDS : await found(db, scope, asked.q);
  return { title: 'People and devices', content: [form, content] };
}

const FIRST_WORDS = html`
  <p class="empty">
    Enter the full name of a user, as in the events, or the MAC address of a client. The result shows its
    activity, and the users, devices and access points it was seen with. For the events of an access point,
    search <a href="/events">Events</a>.
  </p>
`;

async function found(db: Db, scope: Scope, q: string): Promise<Content> {
  const until = new Date();
  const since = new Date(until.getTime() - DAYS * 86_400_000);
  const mac = parseMacAddress(q);
  const [user, client] = await Promise.all([
    summarizeUser(db, scope, q, since, until),
    mac === undefined ? undefined : summarizeClient(db, scope, mac, since, until),
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
      <p>No events of ${mac === undefined ? `user ${q}` : `client ${mac}`} in the last ${DAYS} days.</p>
      <p>
        User names are case-sensitive. To search a longer range:${' '}
        <a
          href=${mac === undefined ? userAddress(q, { since: '3650d' }) : clientAddress(mac, { since: '3650d' })}
          >all stored events</a
        >.
      </p>
    </div>
  `;
}

const wasSeen = ({ lastSeen, isComplete }: UserSummary | ClientSummary) =>
  lastSeen !== undefined || !isComplete;

const total = (countsByType: UserSummary['countsByType']) =>
  Object.values(countsByType).reduce((sum, one) => sum + one, 0);

const hit = (title: string, { lastSeen, countsByType }: UserSummary | ClientSummary, address: string) => html`
  <section class="panel">
    <h2><a href=${address}>${title}</a></h2>
    <p>
      ${`${countOf(total(countsByType), 'event')} in the last ${DAYS} days`}${
        lastSeen !== undefined && html`, last seen ${timeOf(lastSeen)}`
      }
    </p>
  </section>
`;
