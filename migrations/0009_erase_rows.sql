-- Deletes rows with all that could confirm a guess of them. Returns the id of the erasure
create or replace function erase_rows(
  erased_by text, because text, ids uuid[], times timestamptz[], items uuid[], operations bigint[]
) returns bigint language plpgsql security definer set search_path = public, pg_temp as $$
declare
  erased_positions bigint[];
  erased_leaves bigint[];
  counts jsonb;
  erasure bigint;
  family name;
begin
  perform from log_seal_state for update;
  perform from log_state for update;
  with wanted as (
    select stored.* from unnest(ids, times) as one (id, occurred)
      join (
      select occurred_at, event_id, received_at, delivery_id from audit_events
      union all select occurred_at, event_id, received_at, delivery_id from location_observations
      union all select occurred_at, event_id, received_at, delivery_id from log_entries
      union all select occurred_at, event_id, received_at, delivery_id from alerts_received
      union all select occurred_at, event_id, received_at, delivery_id from other_events
    ) as stored on stored.occurred_at = one.occurred and stored.event_id = one.id
  ), placed as (
    select delivery_id, position, first_leaf + position - first_position as leaf
    from wanted cross join lateral (
      select first + number - 1 as position
      from log_tiles, unnest(event_ids, log_tiles.occurred_at) with ordinality as entry (id, occurred, number)
      where received_to >= wanted.received_at and received_from <= wanted.received_at
        and entry.id = wanted.event_id and entry.occurred = wanted.occurred_at
      order by received_to limit 1
    ) as place join log_seals on first_position <= position and first_position + leaves > position
  )
  select coalesce(array_agg(position), '{}'), coalesce(array_agg(leaf), '{}'),
      coalesce((select jsonb_object_agg(delivery_id::text, events) from (
        select delivery_id, count(*) as events from placed group by delivery_id) as counted), '{}')
    into erased_positions, erased_leaves, counts from placed;
  if cardinality(erased_positions) <> cardinality(ids) then
    raise exception 'only % of % events are stored and sealed', cardinality(erased_positions), cardinality(ids)
      using errcode = 'object_not_in_prerequisite_state';
  end if;

  grant delete on audit_events, location_observations, log_entries, alerts_received, other_events, superseded_events,
    log_statements to current_user;
  grant update (subject, details) on operator_log to current_user;
  grant update (reason, encoding) on quarantine to current_user;
  foreach family in array array['audit_events', 'location_observations', 'log_entries', 'alerts_received', 'other_events'] loop
    execute format('delete from %I as event using unnest($1, $2) as one (id, occurred)
      where event.occurred_at = one.occurred and event.event_id = one.id', family) using ids, times;
  end loop;
  delete from superseded_events where event_id = any(ids) or superseded_by = any(ids);
  with gone as (
    delete from log_statements where kind = 'quarantined item' and key = any(items::text[])
      or kind = 'operation' and key = any(operations::text[]) returning leaf
  )
  select erased_leaves || coalesce(array_agg(leaf), '{}') into erased_leaves from gone;
  update quarantine set content = '', encoding = null, reason = 'erased',
    resolution = coalesce(resolution, 'discarded'), resolved_at = coalesce(resolved_at, now()),
    discarded_bytes = coalesce(discarded_bytes, octet_length(content))
    where quarantine_id = any(items);
  update operator_log set subject = 'erased', details = '{}', result = case when result is not null then '{}'::jsonb end
    where id = any(operations);
  revoke delete on audit_events, location_observations, log_entries, alerts_received, other_events, superseded_events,
    log_statements from current_user;
  revoke update (subject, details) on operator_log from current_user;
  revoke update (reason, encoding) on quarantine from current_user;

  update log_tiles set (occurred_at, event_ids) = (
    select array_agg(case when position is null then occurred end order by number),
      array_agg(case when position is null then id end order by number)
    from unnest(log_tiles.occurred_at, log_tiles.event_ids) with ordinality as entry (occurred, id, number)
      left join unnest(erased_positions) as position on position = first + number - 1)
  where first in (
    select first from unnest(erased_positions) as position join log_tiles as tile
      on first between position / 256 * 256 and position and first + cardinality(kinds) > position);
  update log_salts set salts = (
    select array_agg(case when leaf is null then salt end order by place)
    from unnest(log_salts.salts) with ordinality as one (salt, place)
      left join unnest(erased_leaves) as leaf on leaf = number * 256 + place - 1)
  where number in (select leaf / 256 from unnest(erased_leaves) as leaf);

  delete from history_records where event_id = any(ids);
  delete from rejected_events where event_id = any(ids);
  delete from alerts where exists (
    select from jsonb_array_elements(causes) as cause where (cause ->> 'event_id')::uuid = any(ids));
  delete from rule_states where exists (
    select from unnest(ids) as id where position(id::text in state::text) > 0);
  update rule_progress set changes = changes + 1;

  insert into erasures (operator, reason, event_count, item_count, operation_count, leaves, deliveries)
    select erased_by, because, cardinality(ids), cardinality(items), cardinality(operations),
      coalesce(range_agg(int8range(leaf, leaf + 1)), '{}'), counts
    from unnest(erased_leaves) as leaf
    returning id into erasure;
  return erasure;
end $$;
revoke execute on function erase_rows from public;
