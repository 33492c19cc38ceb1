import type { Request } from 'express';
import type { Db } from '../../store/database.ts';
import type { Scope } from '../../store/scope.ts';
import { only, queryOf, readQuery, textOf } from '../api/query.ts';
import { DirectoryList } from '../browser/directory-list.js';
import { fieldOf, selectOf } from '../html/form.ts';
import { html, type Page } from '../html/html.ts';
import {
  directoryQuery,
  directorySchema,
  KINDS_IN,
  readDirectory,
  type DirectoryName,
} from './directory-schemas.ts';

const TITLES: Readonly<Record<DirectoryName, string>> = { people: 'People', devices: 'Devices' };

const PARAMETERS = ['q', 'kind', 'order', 'cursor'];

/** The directory of people or of devices, which directory.js filters as one types. */
export async function renderDirectory(
  db: Db,
  scope: Scope,
  request: Request,
  name: DirectoryName,
): Promise<Page> {
  const path = `/${name}`;
  const written = only(queryOf(request), PARAMETERS);
  const { asked, problems } = readQuery(directoryQuery(name), written);
  const form = html`
    <form method="get" action=${path} role="search" aria-label=${TITLES[name]} data-filters>
      <div class="fields directory">
        ${fieldOf(
          written,
          'q',
          name === 'people' ? 'Name' : 'MAC address or host name',
          'first letters',
          problems,
        )}
        ${selectOf(
          written,
          'kind',
          'Kind',
          [['', 'all'], ...KINDS_IN[name].map((kind): [string, string] => [kind, `${kind}s`])],
          problems,
        )}
        <input type="hidden" name="order" value=${textOf(written, 'order') ?? ''} />
        <div class="field"><button>Search</button></div>
      </div>
    </form>
  `;
  const query = Object.fromEntries(
    PARAMETERS.flatMap((parameter) => {
      const text = textOf(written, parameter);
      return text === undefined ? [] : [[parameter, text]];
    }),
  );
  const list = asked && directorySchema.parse(await readDirectory(db, scope, name, asked));
  return {
    title: TITLES[name],
    modules: ['directory.js'],
    content: html`
      ${form}
      <div data-directory=${path}>
        ${
          list !== undefined &&
          html`<${DirectoryList} path=${path} query=${query} list=${list} now=${new Date().toISOString()} />`
        }
      </div>
    `,
  };
}
