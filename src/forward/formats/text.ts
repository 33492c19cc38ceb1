import { summarizeEvent } from '../../events/event-summary.ts';
import { revealOnLine } from '../../lib/text/hidden-characters.ts';
import { isRuleAlert, viewEvent, type StoredEvent } from '../../events/stored-event.ts';
import { readAlertRecord } from '../../events/rule-alert.ts';
import type { Format } from '../sender.ts';
import { titleOfEvent } from '../../events/event-words.ts';

/** One line for a person: when, what happened, and in brackets who, where and which event. */
export const formatText: Format = (event) => {
  const { user, clientMac, apMac } = viewEvent(event);
  const details = [
    ['user', user],
    ['client', clientMac],
    ['access point', apMac],
    ['source', event.source],
    ['event', event.eventId],
  ].flatMap(([name, value]) => (value ? [`${name} ${value}`] : []));
  const time = event.occurredAt.slice(0, 'YYYY-MM-DDTHH:mm:ss'.length).replace('T', ' ');
  return revealOnLine(`${time} UTC ${sentenceOf(event)} (${details.join(', ')})`);
};

function sentenceOf(event: StoredEvent): string {
  if (isRuleAlert(event)) {
    const { severity, summary } = readAlertRecord(event);
    return `Alert, severity ${severity}: ${summary}`;
  }
  const summary = summarizeEvent(event);
  return summary === '' ? titleOfEvent(event) : `${titleOfEvent(event)}: ${summary}`;
}
