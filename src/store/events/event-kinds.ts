import { sql } from 'kysely';
import { OWN_TYPES, typesOfFamily, type Family } from '../../events/domain.ts';
import {
  GDPR_FILLERS,
  KIND_OF_CODE,
  KIND_OF_GDPR_WORD,
  KIND_OF_TYPE,
  MAX_WORDS_LENGTH,
  OUTCOME_OF_WORD,
  USAGE,
} from '../../events/record-kind.ts';
import type { Condition } from '../server/condition.ts';

// What record-kind.ts decides about one event, as SQL on the columns of a family's table.

/** The kind of each row of a family's table: a RecordKind as text. */
export function kindOfRow(family: Family): Condition {
  switch (family) {
    case 'audit':
      return sql`case ${sql.join(
        [...KIND_OF_CODE].map(
          ([code, kind]) => sql`when code = ${sql.lit(Number(code))} then ${sql.lit(kind)}`,
        ),
        sql` `,
      )}
        when config is not null or cardinality(host_names) > 0 or cardinality(device_ids) > 0 then 'configuration'
        else 'audit' end`;
    case 'location':
      return sql`'location'`;
    case 'log':
      return LOG_KIND;
    case 'alerts':
      return sql`'alert'`;
    case 'other':
      return sql`case when origin = 'xiq-sink' and sent_type = ${sql.lit(OWN_TYPES.alert)} then 'ruleAlert' else 'other' end`;
  }
}

const usage = sql.join(USAGE.map((column) => sql.ref(column)));

const ACCOUNTING_KIND = sql`case
  when acct_stop_time is not null or acct_terminate_cause <> '' then 'accountingStop'
  when greatest(${usage}) = 0 and least(${usage}) = 0 then 'accountingStart'
  else 'accountingInterim' end`;

const SEPARATOR = String.raw`[\s_-]+`;

/** A category of one of these words and of fillers. */
const onlyWords = (words: readonly string[]) => {
  const filler = [...GDPR_FILLERS].join('|');
  const pattern = `^(?:${SEPARATOR}|(?:${filler})${SEPARATOR})*(?:${words.join('|')})(?:${SEPARATOR}(?:${filler}))*(?:${SEPARATOR})?$`;
  return sql`lower(category) ~ ${sql.lit(pattern)}`;
};

const gdprWords = (kind: string) =>
  onlyWords([...KIND_OF_GDPR_WORD].filter(([, one]) => one === kind).map(([word]) => word));

const GDPR_KIND = sql`case
  when length(category) > ${sql.lit(MAX_WORDS_LENGTH)} then 'gdpr'
  when ${gdprWords('gdprDeletion')} then 'gdprDeletion'
  when ${gdprWords('gdprDownload')} then 'gdprDownload'
  else 'gdpr' end`;

const LOG_KIND = sql`case message_type
  ${sql.join(
    typesOfFamily('log').flatMap((type) => {
      const kind = KIND_OF_TYPE[type];
      return typeof kind === 'string' ? [sql`when ${sql.lit(type)} then ${sql.lit(kind)}`] : [];
    }),
    sql` `,
  )}
  when 'ACCOUNTING_LOG_ALL' then ${ACCOUNTING_KIND}
  when 'GDPR_LOG_ALL' then ${GDPR_KIND} end`;

/** The outcome of each row of a family's table, `success` or `failure`; null if the record does not contain it. */
export function outcomeOfRow(family: Family): Condition | undefined {
  switch (family) {
    case 'audit':
      return sql`case when code in (${sql.join([...KIND_OF_CODE.keys()].map((code) => sql.lit(Number(code))))}) then 'success' end`;
    case 'log':
      return sql`case
        when ${word} in (${wordsFor('success')}) then 'success'
        when ${word} in (${wordsFor('failure')}) or reject_reason <> '' then 'failure' end`;
    case 'location':
    case 'alerts':
    case 'other':
      return undefined;
  }
}

const word = sql`lower(btrim(coalesce(reply, status), e' \t\n\r\f\v'))`;

const wordsFor = (outcome: string) =>
  sql.join([...OUTCOME_OF_WORD].filter(([, one]) => one === outcome).map(([known]) => sql.lit(known)));
