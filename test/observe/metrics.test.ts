import { describe, expect, it } from 'vitest';
import { createForwardingMetrics } from '../../src/observe/forwarding-metrics.ts';
import { createIngestMetrics, registerQueueMetrics } from '../../src/observe/ingest-metrics.ts';
import { createMetrics, createSourceLabel } from '../../src/observe/metrics.ts';
import {
  createSubscriptionMetrics,
  registerArrivalMetrics,
  type Arrival,
} from '../../src/observe/worker-metrics.ts';
import { destinationStatus } from './destination-status.ts';

const open = () => createMetrics({ version: '1.2.3', role: 'all' });

/** The sample lines of our own metrics that begin so. */
async function samples(metrics: ReturnType<typeof open>, prefix: string): Promise<string[]> {
  const { text } = await metrics.render();
  return text.split('\n').filter((line) => line.startsWith(`xiq_sink_${prefix}`));
}

describe('metrics', () => {
  it('give series to the configured sources and to a hundred others, and no more', async () => {
    const metrics = open();
    const label = createSourceLabel(() => ['default']);
    const ingest = createIngestMetrics(metrics.registry, label);
    for (let n = 0; n < 1_000; n += 1) {
      ingest.accepted(
        { source: `made-up-${n}`, messageType: 'SMS_LOG_ALL', recordCount: 1, bodyBytes: 1 },
        0.001,
      );
    }
    ingest.accepted({ source: 'default', messageType: 'SMS_LOG_ALL', recordCount: 1, bodyBytes: 1 }, 0.001);
    const lines = await samples(metrics, 'deliveries_total');
    expect(lines).toHaveLength(102);
    expect(lines).toContain('xiq_sink_deliveries_total{source="other",message_type="SMS_LOG_ALL"} 900');
    expect(lines).toContain('xiq_sink_deliveries_total{source="default",message_type="SMS_LOG_ALL"} 1');
  });

  it('leave out the jobs of a queue that does not answer, and still show the spool', async () => {
    const metrics = open();
    let answers = false;
    const jobs = { waiting: 3, active: 1, delayed: 0, failed: 0, oldestWaitingSeconds: 7 };
    const queue = {
      measure: async () => {
        if (!answers) throw new Error('away');
        return jobs;
      },
      state: () => ({
        works: false,
        failure: 'away',
        spool: { bytes: 9, segments: 2, oldestAt: Date.now() - 60_000 },
      }),
    };
    registerQueueMetrics(metrics.registry, queue);
    expect(await samples(metrics, 'queue_jobs')).toEqual([]);
    expect(await samples(metrics, 'queue_oldest')).toEqual(['xiq_sink_queue_oldest_job_age_seconds Nan']);
    expect(await samples(metrics, 'queue_works')).toEqual(['xiq_sink_queue_works 0']);
    expect(await samples(metrics, 'spool_bytes')).toEqual(['xiq_sink_spool_bytes 9']);
    const [age = ''] = await samples(metrics, 'spool_oldest');
    expect(Number(age.split(' ')[1])).toBeGreaterThanOrEqual(60);

    answers = true;
    const second = open();
    registerQueueMetrics(second.registry, queue);
    expect(await samples(second, 'queue_')).toEqual(
      expect.arrayContaining([
        'xiq_sink_queue_jobs{state="waiting"} 3',
        'xiq_sink_queue_jobs{state="failed"} 0',
        'xiq_sink_queue_oldest_job_age_seconds 7',
      ]),
    );
  });

  it('show how each destination is', async () => {
    const metrics = open();
    const status = destinationStatus('siem', {
      state: 'refused',
      behind_since: new Date(Date.now() - 5_000),
      behind_count: 12,
      rejected_count: 3,
    });
    const forwarding = createForwardingMetrics(metrics.registry, async () => [status]);
    forwarding.sent('siem', 40);
    forwarding.failed('siem');
    const lines = await samples(metrics, 'forward_');
    expect(lines).toEqual(
      expect.arrayContaining([
        'xiq_sink_forward_behind_events{destination="siem"} 12',
        'xiq_sink_forward_rejected{destination="siem"} 3',
        'xiq_sink_forward_state{destination="siem",state="running"} 0',
        'xiq_sink_forward_state{destination="siem",state="refused"} 1',
        'xiq_sink_forward_sent_total{destination="siem"} 40',
        'xiq_sink_forward_failures_total{destination="siem"} 1',
      ]),
    );
    const behind = lines.find((line) => line.includes('behind_seconds')) ?? '';
    expect(Number(behind.split(' ')[1])).toBeCloseTo(5, 0);
  });

  it('show arrivals as the silence watch knows them now', async () => {
    const metrics = open();
    let arrivals: Arrival[] = [];
    registerArrivalMetrics(metrics.registry, () => arrivals);
    expect(await samples(metrics, 'silence')).toEqual([]);
    const lastReceivedAt = new Date('2026-01-31T08:00:00Z');
    arrivals = [
      { source: 'a', messageType: 'SMS_LOG_ALL', lastReceivedAt, state: 'unusual' },
      { source: 'a', messageType: 'EMAIL_LOG_ALL', lastReceivedAt: undefined, state: 'never' },
    ];
    expect(await samples(metrics, 'silence')).toEqual([
      'xiq_sink_silence_unusual{source="a",message_type="SMS_LOG_ALL"} 1',
      'xiq_sink_silence_unusual{source="a",message_type="EMAIL_LOG_ALL"} 0',
    ]);
    expect(await samples(metrics, 'last_event')).toEqual([
      `xiq_sink_last_event_timestamp_seconds{source="a",message_type="SMS_LOG_ALL"} ${lastReceivedAt.getTime() / 1000}`,
    ]);
  });

  it('show the drift of subscriptions as of the last look', async () => {
    const metrics = open();
    const onChecked = createSubscriptionMetrics(metrics.registry);
    onChecked('a', 3);
    onChecked('a', 0);
    expect(await samples(metrics, 'subscriptions')).toEqual(['xiq_sink_subscriptions_drift{source="a"} 0']);
  });
});
