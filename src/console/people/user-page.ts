import type { Request } from 'express';
import type { Db } from '../../store/database.ts';
import { accessPointNames } from '../../store/positions.ts';
import { summarizeUser } from '../../store/timeline.ts';
import { clientAddress, searchAddress } from '../addresses.ts';
import { queryOf } from '../api/query.ts';
import { readQuery, textOf, withBeginning } from '../events/asked-query.ts';
import { readPage } from '../events/page-of-events.ts';
import { html } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { USUAL_DAYS, userQuery, wholeRange } from './person-query.ts';
import { seenPanel, seenWithPanel } from './summary-panels.ts';
import { timelineForm, timelineOf } from './timeline.ts';
import { accessPointName } from './whereabouts.ts';

const PATH = '/people/user';
const EVENTS_A_PAGE = 50;

/** A user: with what and where he was seen, and what he did, newest first. */
export async function renderUser(db: Db, request: Request): Promise<Page> {
  const written = withBeginning(queryOf(request), USUAL_DAYS);
  const { asked, problems } = readQuery(userQuery, written);
  const title = `User ${textOf(written, 'name') ?? ''}`;
  if (problems !== undefined) {
    return { title, content: timelineForm(PATH, 'name', written, problems) };
  }
  const { name, type, cursor } = asked;
  const range = wholeRange(asked);
  const [summary, page] = await Promise.all([
    summarizeUser(db, name, range.since, range.until),
    readPage(
      db,
      { user: name, messageTypes: type, since: asked.since, until: asked.until },
      { limit: EVENTS_A_PAGE, after: cursor },
    ),
  ]);
  const names = await accessPointNames(
    db,
    summary.accessPoints.map(({ name: mac }) => mac),
  );
  const inRange = { since: textOf(written, 'since'), until: textOf(written, 'until') };
  return {
    title,
    content: [
      timelineForm(PATH, 'name', written, new Map()),
      html`
        <div class="panels">
          ${seenPanel(summary, PATH, written)}
          ${seenWithPanel(
            'Devices',
            summary.devices,
            (mac) => html`<a class="mono" href=${clientAddress(mac, inRange)}>${mac}</a>`,
          )}
          ${seenWithPanel('Access points', summary.accessPoints, (mac) => accessPointName(mac, names))}
        </div>
        <h2>Timeline</h2>
        <p><a href=${searchAddress({ ...inRange, user: name })}>The same as a search</a>, to export it.</p>
      `,
      timelineOf(PATH, written, page),
    ],
  };
}
