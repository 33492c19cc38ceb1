-- The view reads the sums that are kept of all deliveries, and rows only of those that are not counted there yet. That the
-- rows are still what was counted is the result of the last recount of each partition, and of the last verification of each
-- event.

create or replace view conservation as
  select source, message_type, delivery_count, record_count, expected_count, event_count, duplicate_count,
    quarantined_count, unbalanced_deliveries,
    expected_count - event_count - duplicate_count - quarantined_count as unaccounted_count,
    expected_count = event_count + duplicate_count + quarantined_count and unbalanced_deliveries = 0
      and gaps.quarantine_gaps is null and not coalesce(recounted.differs, false)
      and coalesce(altered_events + missing_events, 0) = 0 as adds_up,
    coalesce(kept.open_count, 0) as open_count, coalesce(kept.replayed_count, 0) as replayed_count,
    coalesce(kept.discarded_count, 0) as discarded_count, coalesce(gaps.quarantine_gaps, 0) as quarantine_gaps,
    coalesce(recounted.missing, 0)::bigint as missing_deliveries,
    coalesce(recounted.differing, 0) as differing_partitions,
    coalesce(verified_events, 0) as verified_events, coalesce(expired_events, 0) as expired_events,
    coalesce(erased_events, 0) as erased_events, coalesce(altered_events, 0) as altered_events,
    coalesce(missing_events, 0) as missing_events, verified_since
  from (
    select source, message_type, sum(deliveries)::bigint as delivery_count, sum(records)::bigint as record_count,
      sum(expected)::bigint as expected_count, sum(events)::bigint as event_count,
      sum(duplicates)::bigint as duplicate_count, sum(quarantined)::bigint as quarantined_count,
      sum(unbalanced)::bigint as unbalanced_deliveries
    from (
      select source, message_type, deliveries, records, expected, events, duplicates, quarantined, unbalanced
      from arrival_totals
      union all
      select source, message_type, count(*), sum(record_count), sum(expected_count), sum(event_count),
        sum(duplicate_count), sum(quarantined_count),
        count(*) filter (where expected_count <> event_count + duplicate_count + quarantined_count)
      from deliveries
      where xid >= (select next_xid from arrivals_progress) and xid < pg_snapshot_xmax(pg_current_snapshot())
        and era = (select era from arrivals_progress)
      group by 1, 2
    ) as counted group by source, message_type
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
      select delivery_id, source, message_type, quarantined_count, received_at
      from deliveries where quarantined_count > 0
    ) as stated
    full join (
      select delivery_id, source, message_type, count(*) as quarantined_count, min(received_at) as received_at
      from quarantine group by delivery_id, source, message_type
    ) as found using (delivery_id, source, message_type)
    where stated.quarantined_count is distinct from found.quarantined_count
      and coalesce(stated.received_at, found.received_at) >= (
        select coalesce(max(until), '-infinity') from delivery_recounts where dropped_at is not null)
    group by source, message_type
  ) as gaps using (source, message_type)
  left join (
    select source, message_type, sum(missing) as missing, bool_or(differs) as differs,
      count(*) filter (where differs) as differing
    from delivery_sums group by source, message_type
  ) as recounted using (source, message_type)
  left join (
    select source, message_type, sum(intact)::bigint as verified_events, sum(expired)::bigint as expired_events,
      sum(erased)::bigint as erased_events, sum(found.altered)::bigint as altered_events,
      sum(found.missing)::bigint as missing_events, min(verified_at) as verified_since
    from log_verified_events as found join log_verifications using (chunk)
    group by source, message_type
  ) as verified using (source, message_type)
  order by source, message_type;
comment on column conservation.quarantine_gaps is 'Deliveries with more or fewer rows in quarantine than their quarantined_count';
comment on column conservation.missing_deliveries is 'Deliveries that the last recount of their partition did not find any more (negative: that it found too many)';
comment on column conservation.differing_partitions is 'Partitions of deliveries whose rows are not what was counted when they were stored: see delivery_sums';
comment on column conservation.verified_events is 'Events whose rows were found and were as sealed when they were last compared';
comment on column conservation.expired_events is 'Events whose month retention has dropped';
comment on column conservation.erased_events is 'Events that were erased lawfully';
comment on column conservation.altered_events is 'Events whose rows differ from what was sealed: run verify';
comment on column conservation.missing_events is 'Events whose rows are gone without a reason on record: run verify';
comment on column conservation.verified_since is 'All of these were compared after this time';
grant select on conservation to xiq_reader;
