import { escapeHiddenInJson } from '../../lib/text/hidden-characters.ts';
import { createRedaction } from '../redact.ts';
import type { RedactionRules } from '../redaction-rules.ts';
import type { Format } from '../sender.ts';
import { formatCef } from './cef.ts';
import { formatEcs } from './ecs.ts';
import { formatJson } from './json.ts';
import { formatLeef } from './leef.ts';
import { formatOcsf } from './ocsf.ts';
import { formatText } from './text.ts';

export const FORMAT_NAMES = ['json', 'ecs', 'ocsf', 'cef', 'leef', 'text'] as const;

export type FormatName = (typeof FORMAT_NAMES)[number];

const WRITERS: Readonly<Record<FormatName, Format>> = {
  json: (event) => escapeHiddenInJson(formatJson(event)),
  ecs: (event) => escapeHiddenInJson(formatEcs(event)),
  ocsf: (event) => escapeHiddenInJson(formatOcsf(event)),
  cef: formatCef,
  leef: formatLeef,
  text: formatText,
};

/** Returns the format with this name. It hides secrets before it writes, so every event is redacted by these rules. */
export function createFormat(name: FormatName, rules: RedactionRules): Format {
  const redact = createRedaction(rules);
  const write = WRITERS[name];
  return (event) => write(redact(event));
}
