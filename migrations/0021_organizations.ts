import { sql, type Kysely } from 'kysely';

/** A program without it reads no organizations, and needs none. */
export const olderProgramsMayRun = true;

export const statements = [
  `create function organization_at(of_source text, of_id bigint, at timestamptz) returns text
language sql stable parallel safe begin atomic
  select name from organizations
  where source = of_source and organization_id = of_id and valid_from <= at and (valid_to is null or valid_to > at) limit 1;
end;`,
  `create or replace view named_events as
  select events.*, names.*, organization_at(source, org_id, occurred_at) as organization from events
    cross join lateral names_at(source, ap_mac, null, user_name, occurred_at) as names;`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table organizations (
      id bigint generated always as identity primary key, source text not null,
      organization_id bigint not null, name text not null,
      valid_from timestamptz not null, valid_to timestamptz check (valid_to > valid_from),
      unique (source, organization_id, valid_from),
      exclude using gist (
        numrange(hashtextextended(source, 0), hashtextextended(source, 0), '[]') with &&,
        numrange(organization_id, organization_id, '[]') with &&, tstzrange(valid_from, valid_to) with &&)
    )`.execute(db);
  await sql`comment on table organizations is 'Organizations of an account with the feature HIQ, one row for each version'`.execute(
    db,
  );
  await sql`comment on column organizations.organization_id is 'As in the column org_id of events'`.execute(
    db,
  );
  for (const statement of statements) await sql.raw(statement).execute(db);
  await sql`grant select on organizations to xiq_reader`.execute(db);
}
