import { CLOUD_TYPES, type CloudType } from '../../events/domain.ts';
import { NOTHING_ENTERED } from '../api/parameters.ts';
import { fieldOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';

/** The form of a new source. `usual` are the message types of the setting MESSAGE_TYPES. */
export const addSourcePage = (usual: readonly string[]): Page => ({
  title: 'Add a source',
  modules: ['pages/sources.ts'],
  content: html`
    <div class="shown" role="status"></div>
    <form data-action="/sources" data-secret="secret">
      ${step('1. Name', 'Stands in every event, list and export, and in the address of its webhooks.', [
        optional('name', 'Name', 'customer-a', { required: '' }),
      ])}
      ${step(
        '2. Cloud account (optional)',
        'An API token, or a user name and password, to create the subscriptions and to compare with the history of the cloud. Stored encrypted.',
        [
          optional('api_url', 'API address', 'https://api.extremecloudiq.com'),
          optional('api_token', 'API token', '', PASSWORD),
          optional('username', 'User name', ''),
          optional('password', 'Password', '', PASSWORD),
        ],
      )}
      ${step('3. Message types', 'If none is selected, the source has those of the setting MESSAGE_TYPES.', [
        html`<div class="row">${CLOUD_TYPES.map((type) => choiceOf(type, usual.includes(type)))}</div>`,
      ])}
      ${step(
        '4. Secret and limits (optional)',
        'The cloud sends the secret with each delivery. Without one here, it is generated, and shown once.',
        [
          optional('secret', 'Webhook secret', '', PASSWORD),
          optional('deliveries_per_second', 'Deliveries/s', ''),
          optional('bytes_per_second', 'Bytes/s', ''),
        ],
      )}
      <div class="row">
        <button>Add</button>
        <a class="button quiet" href="/sources">Cancel</a>
        <span class="dim">All processes with this database accept the source within a second.</span>
      </div>
    </form>
  `,
});

const choiceOf = (type: CloudType, isUsual: boolean) => html`
  <label><input type="checkbox" name="message_types[]" value=${type} checked=${isUsual} /> ${type}</label>
`;

const PASSWORD = { type: 'password', autocomplete: 'new-password' };

const optional = (
  name: string,
  label: string,
  placeholder: string,
  attributes: Readonly<Record<string, string>> = {},
) => fieldOf(NOTHING_ENTERED, name, label, placeholder, attributes);

const step = (title: string, purpose: string, fields: readonly Content[]): Content => html`
  <section class="panel">
    <h2>${title}</h2>
    <p class="dim">${purpose}</p>
    <div class="fields">${fields}</div>
  </section>
`;
