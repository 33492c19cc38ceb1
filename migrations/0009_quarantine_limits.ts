import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/**
 * Lets the service delete the content of quarantined items beyond a size or an age: of open items, which are then
 * discarded, and of replayed items, whose events are stored. The rows stay, so that all counts still add up.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table quarantine
      drop constraint quarantine_resolution,
      add constraint quarantine_resolution check (
        case resolution
          when 'replayed' then resolved_at is not null and replay_delivery_id is not null
            and (discarded_bytes is null or content = '')
          when 'discarded' then resolved_at is not null and replay_delivery_id is null
            and discarded_bytes is not null and content = ''
          else resolution is null and resolved_at is null and replay_delivery_id is null and discarded_bytes is null
        end)`.execute(db);
  await sql`
    comment on column quarantine.discarded_bytes is 'Size of the content that was deleted'`.execute(db);
  await sql`
    create index quarantine_content on quarantine (source, received_at) where discarded_bytes is null`.execute(
    db,
  );

  await sql`
    create or replace function resolve_only() returns trigger language plpgsql as $$
    begin
      if (new.quarantine_id, new.delivery_id, new.received_at, new.source, new.message_type, new.reason,
          new.encoding, new.twins_before)
        is not distinct from
          (old.quarantine_id, old.delivery_id, old.received_at, old.source, old.message_type, old.reason,
           old.encoding, old.twins_before)
        and (
          old.resolution is null and new.resolution is not null
            and (new.content = old.content or new.resolution = 'discarded')
          or old.resolution = 'replayed' and old.discarded_bytes is null and new.content = ''
            and (new.resolution, new.resolved_at, new.replay_delivery_id, new.discarded_bytes)
              is not distinct from
                (old.resolution, old.resolved_at, old.replay_delivery_id, octet_length(old.content))
        )
      then
        return new;
      end if;
      raise exception 'update on quarantine is refused: what is stored stays as it was written'
        using errcode = 'insufficient_privilege',
              hint = 'It is resolved once: xiq-sink quarantine replay, or discard.';
    end $$`.execute(db);

  await sql`
    alter table operator_log drop constraint operator_log_via_check,
      add constraint operator_log_via_check check (via in ('console', 'api', 'command', 'system'))`.execute(
    db,
  );
  await sql`
    comment on column operator_log.operator is
      'Who: the name given at log-in, or user and host of the command line, or xiq-sink itself'`.execute(db);
}
