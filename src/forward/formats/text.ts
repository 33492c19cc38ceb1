import { summarizeEvent } from '../../event-summary.ts';
import { revealOnLine } from '../../hidden-characters.ts';
import { isRuleAlert, viewEvent, type StoredEvent } from '../../store/stored-event.ts';
import { readAlertRecord } from '../rules/own-alerts.ts';
import type { Format } from '../sender.ts';
import { outcomeOf, recordKind, titleOf } from '../../record-kind.ts';

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

/** The title of the event, its summary, and the description if the summary lacks it. */
function sentenceOf(event: StoredEvent): string {
  if (isRuleAlert(event)) {
    const { severity, summary } = readAlertRecord(event);
    return `Alert, severity ${severity}: ${summary}`;
  }
  const kind = recordKind(event);
  const { name } = titleOf(kind, outcomeOf(kind, event), event);
  const summary = summarizeEvent(event);
  const { description } = viewEvent(event);
  const parts = [name, summary, description === null || summary.includes(description) ? '' : description];
  return parts.filter((part) => part !== '').join(': ');
}
