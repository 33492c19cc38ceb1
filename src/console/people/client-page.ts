import type { Request } from 'express';
import type { Db } from '../../store/database.ts';
import { accessPointNames } from '../../store/positions.ts';
import { summarizeClient } from '../../store/timeline.ts';
import type { ClientSummary } from '../../store/timeline.ts';
import { searchAddress, userAddress } from '../addresses.ts';
import { queryOf } from '../api/query.ts';
import { readQuery, textOf, withBeginning } from '../events/asked-query.ts';
import type { Written } from '../events/asked-query.ts';
import { readPage } from '../events/page-of-events.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { readPlaces } from './client-places.ts';
import { clientQuery, USUAL_DAYS, wholeRange } from './person-query.ts';
import { seenPanel, seenWithPanel } from './summary-panels.ts';
import { timelineForm, timelineOf } from './timeline.ts';
import { accessPointName, whereaboutsOf } from './whereabouts.ts';

const PATH = '/people/client';
const EVENTS_A_PAGE = 50;

/** More dots than these are no map any more. */
const OBSERVATIONS = 500;

/** A client: with whom it was seen, where it was, and what happened with it, newest first. */
export async function renderClient(db: Db, request: Request): Promise<Page> {
  const written = withBeginning(queryOf(request), USUAL_DAYS);
  const { asked, problems } = readQuery(clientQuery, written);
  if (problems !== undefined) return refuse(written, problems);
  const { mac, type, cursor } = asked;
  const range = wholeRange(asked);
  const [summary, page, places] = await Promise.all([
    summarizeClient(db, mac, range.since, range.until),
    readPage(
      db,
      { mac, messageTypes: type, since: asked.since, until: asked.until },
      { limit: EVENTS_A_PAGE, after: cursor },
    ),
    readPlaces(db, mac, range, OBSERVATIONS),
  ]);
  const names = await accessPointNames(
    db,
    summary.accessPoints.map(({ name }) => name),
  );
  const inRange = { since: textOf(written, 'since'), until: textOf(written, 'until') };
  return {
    title: `Client ${mac}`,
    content: [
      timelineForm(PATH, 'mac', written, new Map()),
      html`
        <div class="panels four">${panels(summary, names, written)}</div>
        <h2>Where it was</h2>
        ${whereaboutsOf(mac, places, OBSERVATIONS)}
        <h2>Timeline</h2>
        <p><a href=${searchAddress({ ...inRange, mac })}>The same as a search</a>, to export it.</p>
      `,
      timelineOf(PATH, written, page),
    ],
  };
}

function panels(
  summary: ClientSummary,
  names: ReadonlyMap<string, string>,
  written: Written,
): readonly Content[] {
  const inRange = { since: textOf(written, 'since'), until: textOf(written, 'until') };
  return [
    seenPanel(summary, PATH, written),
    seenWithPanel('Users', summary.users, (name) => html`<a href=${userAddress(name, inRange)}>${name}</a>`),
    seenWithPanel('Access points', summary.accessPoints, (mac) => accessPointName(mac, names)),
    seenWithPanel('SSIDs', summary.ssids, (name) => name),
  ];
}

function refuse(written: Written, problems: ReadonlyMap<string, string>): Page {
  const problem = problems.get('mac');
  return {
    title: `Client ${textOf(written, 'mac') ?? ''}`,
    content:
      problem === undefined
        ? timelineForm(PATH, 'mac', written, problems)
        : html`<p class="note bad">The MAC address ${problem}. <a href="/people">Look for a device</a></p>`,
  };
}
