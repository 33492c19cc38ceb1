import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { facetValues } from './facet-values.ts';
import { formatCount } from '../shared/numbers.ts';

// The line of a search. The server draws it too, and without scripts it is a field with chips. In the browser, values are
// suggested while they are typed, a pasted MAC address becomes a chip, and Backspace edits the last chip.

/** A condition that is set. */
export interface Chip {
  readonly text: string;
  readonly isExcluded: boolean;
  /** The search without it; undefined if it was set since the page was loaded. */
  readonly href?: string | undefined;
}

interface Suggestion {
  readonly line: string;
  readonly chip?: string;
  readonly label: string;
  readonly count: number | undefined;
}

/** The keys whose values are suggested. */
const KEYS = ['type', 'action', 'outcome', 'user', 'client', 'ap', 'ssid', 'source', 'origin', 'code'];

const DELAY_MS = 150;

const MOST = 10;

interface Props {
  readonly chips: readonly Chip[];
  readonly text?: string | undefined;
  readonly isWrong: boolean;
  /** Where values are counted. */
  readonly facets?: string | undefined;
}

export function SearchLine({ chips: given, text: written = '', isWrong, facets }: Props) {
  const [chips, setChips] = useState(given);
  const [text, setText] = useState(written);
  const [suggestions, setSuggestions] = useState<readonly Suggestion[]>([]);
  const [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement | null>(null);

  useEffect(() => {
    setAt(-1);
    setSuggestions([]);
    if (facets === undefined || text === written) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      // What cannot be suggested can still be searched.
      void suggest(text, facets, stop.signal).then(setSuggestions, () => undefined);
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);

  const addChip = (term: string) => setChips([...chips, { text: term, isExcluded: term.startsWith('-') }]);
  const choose = ({ line, chip }: Suggestion) => {
    if (chip !== undefined) addChip(chip);
    setText(line);
    input.current?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    const last = chips.at(-1);
    const suggestion = suggestions[at];
    if (event.key === 'Backspace' && text === '' && last !== undefined) {
      setChips(chips.slice(0, -1));
      setText(last.text);
    } else if (event.key === 'ArrowDown' && suggestions.length > 0) setAt((at + 1) % suggestions.length);
    else if (event.key === 'ArrowUp' && suggestions.length > 0) setAt(Math.max(-1, at - 1));
    else if (event.key === 'Enter' && suggestion !== undefined) choose(suggestion);
    else if (event.key === 'Escape' && suggestions.length > 0) setSuggestions([]);
    else return;
    event.preventDefault();
  };
  const onPaste = (event: ClipboardEvent) => {
    const digits =
      event.clipboardData
        ?.getData('text')
        .trim()
        .replaceAll(/[-:. ]/g, '')
        .toLowerCase() ?? '';
    if (!/^[0-9a-f]{12}$/.test(digits)) return;
    event.preventDefault();
    addChip(`${text.endsWith('-') ? '-' : ''}mac:${digits.match(/../g)?.join(':')}`);
    setText(text.replace(/-$/, ''));
  };
  return html`
    ${chips.map(
      (chip) => html`
        <span key=${chip.text} class=${chip.isExcluded ? 'chip excluded' : 'chip'}>
          <input type="hidden" name="q" value=${chip.text} />${chip.text}
          ${
            chip.href === undefined
              ? html`<button
                  type="button"
                  aria-label=${`Remove ${chip.text}`}
                  onClick=${() => setChips(chips.filter((one) => one !== chip))}
                >
                  ×
                </button>`
              : html`<a href=${chip.href} aria-label=${`Remove ${chip.text}`}>×</a>`
          }
        </span>
      `,
    )}
    <input
      id="search-line"
      ref=${input}
      name="q"
      type="search"
      role="combobox"
      value=${text}
      placeholder=${chips.length === 0 ? 'user:dina* code:10001 -type:location "any text"' : 'add a condition'}
      aria-label="Search events"
      aria-autocomplete="list"
      aria-expanded=${suggestions.length > 0}
      aria-controls="suggestions"
      aria-activedescendant=${at === -1 ? undefined : `suggestion-${at}`}
      aria-describedby=${isWrong ? 'search-problem' : undefined}
      aria-invalid=${isWrong ? 'true' : undefined}
      autocomplete="off"
      spellcheck="false"
      onInput=${({ target }: InputEvent) => {
        if (target instanceof HTMLInputElement) setText(target.value);
      }}
      onKeyDown=${onKey}
      onPaste=${onPaste}
      onBlur=${() => setSuggestions([])}
    />
    <ul
      id="suggestions"
      class="plain"
      role="listbox"
      aria-label="Suggestions"
      hidden=${suggestions.length === 0}
    >
      ${suggestions.map(
        (suggestion, index) => html`
          <li
            key=${suggestion.label}
            id=${`suggestion-${index}`}
            role="option"
            aria-selected=${index === at}
            onMouseDown=${(event: MouseEvent) => {
              event.preventDefault();
              choose(suggestion);
            }}
          >
            <span>${suggestion.label}</span>
            <span class="dim">${suggestion.count !== undefined && formatCount(suggestion.count)}</span>
          </li>
        `,
      )}
    </ul>
  `;
}

/** Keys, and values with their counts, for the last word of a line. */
async function suggest(line: string, facets: string, signal: AbortSignal): Promise<readonly Suggestion[]> {
  // oxlint-disable-next-line regexp/no-super-linear-move -- what one types oneself
  const [word = '', minus = '', key, begun = ''] = /(-?)(?:([a-z]+):)?"?([^\s":,*]*)$/i.exec(line) ?? [];
  if (key === undefined && begun.length < 2) return [];
  const before = line.slice(0, line.length - word.length);
  const isAddress = /^[0-9a-f]+$/i.test(begun);
  const asked =
    key === undefined ? ['user', 'ssid', ...(isAddress ? ['client', 'ap'] : [])] : [key.toLowerCase()];
  const found = await Promise.all(
    asked
      .filter((name) => KEYS.includes(name))
      .map(async (name) => {
        // A value that is incomplete may be invalid: there is nothing to suggest yet.
        const { values } = await facetValues(facets, name, begun, MOST, signal).catch(() => ({ values: [] }));
        return values.map((one) => ({ ...one, name }));
      }),
  );
  const keys = KEYS.filter((name) => key === undefined && name.startsWith(begun.toLowerCase()));
  const values = found.flat().toSorted((a, b) => b.count - a.count);
  return [
    ...keys.map((name) => ({
      line: `${before}${minus}${name}:`,
      label: `${minus}${name}:`,
      count: undefined,
    })),
    ...values.slice(0, MOST).map(({ name, value, count }) => {
      const chip = `${minus}${name}:${/^[\p{L}\p{N}._@/:+-]+$/u.test(value) ? value : JSON.stringify(value)}`;
      return { line: before, chip, label: chip, count };
    }),
  ];
}
