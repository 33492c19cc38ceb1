import type { StoredEvent } from '../../events/stored-event.ts';
import { keysOf } from '../../lib/keys-of.ts';
import { escapeHiddenInJson } from '../../lib/text/hidden-characters.ts';
import { createRedaction } from '../redact.ts';
import type { RedactionRules } from '../redaction-rules.ts';
import type { Format } from '../sender.ts';
import { formatCef } from './cef.ts';
import { formatEcs } from './ecs.ts';
import { formatJson } from './json.ts';
import { formatLeef } from './leef.ts';
import { formatOcsf, type OcsfVersion } from './ocsf.ts';
import { formatOtlp } from './otlp.ts';
import { formatText } from './text.ts';

type Writer = (event: StoredEvent, ocsfVersion?: OcsfVersion) => string;

const WRITERS = {
  json: (event) => escapeHiddenInJson(formatJson(event)),
  ecs: (event) => escapeHiddenInJson(formatEcs(event)),
  ocsf: (event, version) => escapeHiddenInJson(formatOcsf(event, version)),
  otlp: (event) => escapeHiddenInJson(formatOtlp(event)),
  cef: formatCef,
  leef: formatLeef,
  text: formatText,
} as const satisfies Readonly<Record<string, Writer>>;

export type FormatName = keyof typeof WRITERS;

export const FORMAT_NAMES = keysOf(WRITERS);

/**
 * Returns the format with this name, OCSF of this release. It hides secrets before it writes, so every event is redacted by
 * these rules.
 */
export function createFormat(name: FormatName, rules: RedactionRules, ocsfVersion?: OcsfVersion): Format {
  const redact = createRedaction(rules);
  const write: Writer = WRITERS[name];
  return (event) => write(redact(event), ocsfVersion);
}
