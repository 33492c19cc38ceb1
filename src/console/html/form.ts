import { enteredOf, NOTHING_ENTERED, textOf, type Entered } from '../api/parameters.ts';
import { timeHeading } from './elements.ts';
import { html, type Content } from './html.ts';

/** A labelled text field with the entered value, valid or not, and its problem below. `name` is the query parameter. */
export function fieldOf(
  { written, problems }: Entered,
  name: string,
  label: Content,
  placeholder?: string,
  attributes: Readonly<Record<string, string>> = {},
): Content {
  const problem = problems.get(name);
  return labelled(
    name,
    label,
    problem,
    html`
      <input
        id=${`field-${name}`}
        name=${name}
        value=${textOf(written, name) ?? ''}
        placeholder=${placeholder}
        autocomplete="off"
        spellcheck="false"
        aria-invalid=${problem && 'true'}
        aria-describedby=${problem && `field-${name}-problem`}
        ...${attributes}
      />
    `,
  );
}

/** A field for a time in the zone of the reader, which browser/shared/actions.ts sends as an instant. */
export const timeField = (
  name: string,
  label: string,
  placeholder: string,
  attributes: Readonly<Record<string, string>> = {},
): Content =>
  fieldOf(NOTHING_ENTERED, name, timeHeading(label), placeholder, { ...attributes, 'data-time': '' });

/** A field for a month, which has to be filled in. */
export const monthField = (month: string): Content =>
  fieldOf(enteredOf({ month }), 'month', 'Month', undefined, { type: 'month', required: '' });

/** A labelled text of several lines. */
export const textAreaOf = (
  { written }: Entered,
  name: string,
  label: string,
  placeholder?: string,
): Content =>
  labelled(
    name,
    label,
    undefined,
    html`<textarea id=${`field-${name}`} name=${name} rows="3" placeholder=${placeholder} spellcheck="false">
${textOf(written, name) ?? ''}</textarea>`,
  );

const labelled = (
  name: string,
  label: Content,
  problem: string | undefined,
  control: Content,
): Content => html`
  <div class="field">
    <label for=${`field-${name}`}>${label}</label>
    ${control}
    ${problem !== undefined && html`<p class="problem" id=${`field-${name}-problem`}>${label} ${problem}.</p>`}
  </div>
`;

/** A labelled choice of values, with their labels if these differ; the first one if none was chosen. */
export function selectOf(
  { written, problems }: Entered,
  name: string,
  label: string,
  options: readonly (string | readonly [value: string, text: string])[],
): Content {
  const chosen = textOf(written, name);
  return labelled(
    name,
    label,
    problems.get(name),
    html`
      <select id=${`field-${name}`} name=${name}>
        ${options.map((option) => {
          const [value, text] = typeof option === 'string' ? [option, option] : option;
          return html`<option value=${value} selected=${value === chosen}>${text}</option>`;
        })}
      </select>
    `,
  );
}

interface ActionOptions {
  /** The name for screen readers, if the label does not say what it is about. */
  readonly name?: string;
  readonly kind?: 'quiet' | 'danger';
  /** The question that is asked first. */
  readonly confirm?: string;
  readonly done?: string;
  /** What the answer has, and the page shows once. */
  readonly secret?: string;
  /** The fields that are sent. */
  readonly values?: Readonly<Record<string, string>>;
}

/** A button that sends a change to the API by browser/shared/actions.ts. */
export const actionButton = (
  action: string,
  label: string,
  { name, kind, confirm, done, secret, values = {} }: ActionOptions,
): Content => html`
  <form data-action=${action} data-confirm=${confirm} data-done=${done} data-secret=${secret}>
    ${Object.entries(values).map(([field, value]) => html`<input type="hidden" name=${field} value=${value} />`)}
    <button class=${kind} aria-label=${name}>${label}</button>
  </form>
`;

export const typeSelect = (entered: Entered, types: readonly string[]): Content =>
  selectOf(entered, 'type', 'Type', [['', 'all types'], ...types]);
