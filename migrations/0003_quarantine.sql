-- What could not be read or stored as events. A row never goes. It is resolved once, replayed or discarded, and only the
-- columns of the resolution change; the content of a resolved item may be emptied.
-- Authenticated bytes or records that could not be read as events, as they came
create table quarantine (
  quarantine_id uuid primary key, delivery_id uuid not null, received_at timestamptz not null, source text not null,
  message_type text not null, reason text not null, content bytea not null,
  encoding text, -- Content-Encoding of a whole body, which is kept as it came over the wire
  twins_before integer not null default 0, -- How many identical ones of the same delivery stand before it: a replay numbers them alike
  resolution text, -- replayed or discarded; null while it is open
  resolved_at timestamptz,
  replay_delivery_id uuid, -- The delivery that its replay made
  discarded_bytes integer, -- Size of the content that was deleted
  sent_type text, -- Of the message type OTHER: its name as sent
  constraint quarantine_resolution check (
    case resolution
      when 'replayed' then resolved_at is not null and replay_delivery_id is not null
        and (discarded_bytes is null or content = '')
      when 'discarded' then resolved_at is not null and replay_delivery_id is null
        and discarded_bytes is not null and content = ''
      else resolution is null and resolved_at is null and replay_delivery_id is null and discarded_bytes is null
    end)
);
create index quarantine_received_at on quarantine (received_at);
create index quarantine_open on quarantine (received_at, quarantine_id) where resolution is null;
create index quarantine_delivery_id on quarantine (delivery_id);
create index quarantine_content on quarantine (source, received_at) where discarded_bytes is null;

create function resolve_only() returns trigger language plpgsql as $$
declare
  stack text;
begin
  get diagnostics stack = pg_context;
  if stack ~ '(?n)^PL/pgSQL function erase_rows[(]'
    or (new.quarantine_id, new.delivery_id, new.received_at, new.source, new.message_type, new.reason,
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
end $$;
create trigger resolve_only before update on quarantine for each row execute function resolve_only();
create trigger keep_sent_type before update on quarantine
  for each row when (new.sent_type is distinct from old.sent_type) execute function refuse_change();
create trigger refuse_change before delete on quarantine for each row execute function refuse_change();
create trigger queue_statement_insert after insert on quarantine referencing new table as changed
  for each statement execute function queue_statement('quarantined item', 'quarantine_id');
create trigger queue_statement_update after update on quarantine referencing new table as changed
  for each statement execute function queue_statement('quarantined item', 'quarantine_id');
select guard_table('quarantine');
grant update (content, resolution, resolved_at, replay_delivery_id, discarded_bytes)
  on quarantine to current_user;
