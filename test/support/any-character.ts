import { integer, oneof } from 'fast-check';

/** Any code point but a lone surrogate, as a unit of texts. The unit "binary" lists all of them first, which takes 5 s. */
export const anyCharacter = oneof(
  integer({ min: 0, max: 0xd7_ff }),
  integer({ min: 0xe0_00, max: 0x10_ff_ff }),
).map((code) => String.fromCodePoint(code));
