import { macDigits, writeMac } from '../events/mac-address.ts';
import type { Naming, PersonSearch } from '../store/seal/person-traces.ts';
import { containsName, foldName, macsIn, namesIn, phonesIn, textsOf } from './person-names.ts';
import { phoneDigits } from './phone-number.ts';
import type { Person } from './refusals.ts';

/** Texts of plain ASCII that name nobody in another way are not read: these are. */
const MAY_BE_WRITTEN_OTHERWISE = [String.raw`[^\x01-\x7f]`, String.raw`\\`, '%[0-9a-f]{2}'];

/** How to find a person in what is stored. Undefined for nobody. */
export function searchOf({ users, macs, phones }: Person): PersonSearch | undefined {
  if (users.length + macs.length + phones.length === 0) return undefined;
  const names = users.map(foldName);
  const lengths = new Set(names.map(({ words }) => words));
  const [wantedMacs, wantedPhones] = [new Set(macs.map(macDigits)), new Set(phones.map(phoneDigits))];

  function namesOne(text: string): boolean {
    const found = new Set(namesIn(text, lengths));
    return (
      names.some(
        ({ name, verbatim }) => found.has(name) && (verbatim === undefined || containsName(text, verbatim)),
      ) ||
      macsIn(text).some((mac) => wantedMacs.has(mac)) ||
      phonesIn(text).some((phone) => wantedPhones.has(phone))
    );
  }

  function judge(texts: readonly string[]): Naming | undefined {
    if (texts.some(namesOne)) return 'named';
    const isPossible = texts.some((text) =>
      names.some(({ name, verbatim }) => containsName(text, verbatim ?? name)),
    );
    return isPossible ? 'possible' : undefined;
  }

  const patterns = [
    ...MAY_BE_WRITTEN_OTHERWISE,
    ...names.map(namePattern),
    ...[...wantedMacs].map(macPattern),
    ...[...wantedPhones].map((phone) => phone.split('').join('[ ./()-]*')),
  ];
  return {
    pattern: patterns.join('|'),
    judgeJson: (text) => judge(textsOf(JSON.parse(text))),
    judgeBytes: (content) => judge(textsOfBytes(content)),
  };
}

/** A text that has the name has its longest word. */
function namePattern({ name }: { readonly name: string }): string {
  const [longest = ''] = name.split(' ').toSorted((a, b) => b.length - a.length);
  return longest.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

/** In any notation; of an address that was made of it, the part that is never abbreviated. */
const macPattern = (mac: string) => `${writeMac(mac, '[-:. ]?')}|ff[-:. ]?fe[-:. ]?${mac.slice(6, 8)}`;

/** What bytes say in the encodings that senders use: many declare none. */
function textsOfBytes(content: Buffer): readonly string[] {
  const encodings = ['utf-8', 'latin1', ...(content.includes(0) ? ['utf-16le', 'utf-16be'] : [])];
  return encodings.map((encoding) => new TextDecoder(encoding).decode(content));
}
