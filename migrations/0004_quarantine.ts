import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/**
 * Quarantine as a place one works with: what lies there is replayed or discarded, once, and the row remembers it.
 * A row never goes; of its columns only those of the resolution change, and the bytes of a discarded one are emptied.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table quarantine
      add column encoding text,
      add column twins_before integer not null default 0,
      add column resolution text,
      add column resolved_at timestamptz,
      add column replay_delivery_id uuid,
      add column discarded_bytes integer,
      add constraint quarantine_resolution check (
        case resolution
          when 'replayed' then resolved_at is not null and replay_delivery_id is not null and discarded_bytes is null
          when 'discarded' then resolved_at is not null and replay_delivery_id is null
            and discarded_bytes is not null and content = ''
          else resolution is null and resolved_at is null and replay_delivery_id is null and discarded_bytes is null
        end)`.execute(db);
  const comments = {
    encoding: 'Content-Encoding of a whole body, which is kept as it came over the wire',
    twins_before: 'How many identical ones of the same delivery stand before it: a replay numbers them alike',
    resolution: 'replayed or discarded; null while it is open',
    replay_delivery_id: 'The delivery that its replay made',
    discarded_bytes: 'Size of the content that was emptied when it was discarded',
  };
  for (const [column, text] of Object.entries(comments)) {
    await sql`comment on column ${sql.ref(`quarantine.${column}`)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`
    create index quarantine_open on quarantine (received_at, quarantine_id) where resolution is null`.execute(
    db,
  );
  await sql`create index quarantine_delivery_id on quarantine (delivery_id)`.execute(db);
  // The few deliveries that the view below compares with quarantine one by one.
  await sql`
    create index deliveries_quarantined on deliveries (delivery_id) where quarantined_count > 0`.execute(db);

  await guardQuarantine(db);
  await countQuarantine(db);
}

async function guardQuarantine(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function resolve_only() returns trigger language plpgsql as $$
    begin
      if old.resolution is null and new.resolution is not null
        and (new.content = old.content or new.resolution = 'discarded')
        and (new.quarantine_id, new.delivery_id, new.received_at, new.source, new.message_type, new.reason,
             new.encoding, new.twins_before)
          is not distinct from
            (old.quarantine_id, old.delivery_id, old.received_at, old.source, old.message_type, old.reason,
             old.encoding, old.twins_before)
      then
        return new;
      end if;
      raise exception 'update on quarantine is refused: what is stored stays as it was written'
        using errcode = 'insufficient_privilege',
              hint = 'It is resolved once: xiq-sink quarantine replay, or discard.';
    end $$`.execute(db);
  await sql`
    create trigger resolve_only before update on quarantine
      for each row execute function resolve_only()`.execute(db);
  await sql`
    create trigger refuse_change before delete on quarantine
      for each row execute function refuse_change()`.execute(db);
  await sql`select guard_table('quarantine')`.execute(db);
  await sql`
    grant update (content, resolution, resolved_at, replay_delivery_id, discarded_bytes)
      on quarantine to current_user`.execute(db);
}

/** Adds to the view what became of the quarantined, and that nothing vanished from there. */
async function countQuarantine(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace view conservation as
      select sums.*, expected_count - event_count - duplicate_count - quarantined_count as unaccounted_count,
             expected_count = event_count + duplicate_count + quarantined_count and unbalanced_deliveries = 0
               and gaps.quarantine_gaps is null as adds_up,
             coalesce(kept.open_count, 0) as open_count, coalesce(kept.replayed_count, 0) as replayed_count,
             coalesce(kept.discarded_count, 0) as discarded_count,
             coalesce(gaps.quarantine_gaps, 0) as quarantine_gaps
      from (
        select source, message_type, count(*) as delivery_count, sum(record_count) as record_count,
               sum(expected_count) as expected_count, sum(event_count) as event_count,
               sum(duplicate_count) as duplicate_count, sum(quarantined_count) as quarantined_count,
               count(*) filter (
                 where expected_count <> event_count + duplicate_count + quarantined_count
               ) as unbalanced_deliveries
        from deliveries group by source, message_type
      ) as sums
      left join (
        select source, message_type, count(*) filter (where resolution is null) as open_count,
               count(*) filter (where resolution = 'replayed') as replayed_count,
               count(*) filter (where resolution = 'discarded') as discarded_count
        from quarantine group by source, message_type
      ) as kept using (source, message_type)
      left join (
        select source, message_type, count(*) as quarantine_gaps
        from (
          select delivery_id, source, message_type, quarantined_count
          from deliveries where quarantined_count > 0
        ) as said
        full join (
          select delivery_id, source, message_type, count(*) as quarantined_count
          from quarantine group by delivery_id, source, message_type
        ) as found using (delivery_id, source, message_type)
        where said.quarantined_count is distinct from found.quarantined_count
        group by source, message_type
      ) as gaps using (source, message_type)
      order by source, message_type`.execute(db);
  await sql`
    comment on column conservation.quarantine_gaps is
      'Deliveries with more or fewer rows in quarantine than their quarantined_count'`.execute(db);
}
