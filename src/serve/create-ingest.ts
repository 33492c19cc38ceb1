import type { SourceConfig } from '../config.ts';
import { createFailedSecrets } from '../failed-secrets.ts';
import { createAdmission } from '../ingest/admission.ts';
import type { HttpListener } from '../ingest/http-listener.ts';
import { createIngestServer, type HealthOptions } from '../ingest/ingest-server.ts';
import { createSourceRates } from '../ingest/source-rates.ts';
import { createSecretVerifier } from '../ingest/verify-secret.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Observation } from './observation.ts';

const limitsOf = (sources: readonly SourceConfig[]) =>
  new Map(sources.map(({ name, limits }) => [name, limits]));

interface IngestNeeds {
  readonly live: LiveSettings;
  readonly queue: DeliveryQueue;
  readonly observation: Observation;
  readonly health: HealthOptions;
}

/** Creates the server that accepts deliveries. Secrets and limits of sources follow the settings. */
export function createIngest({ live, queue, observation, health }: IngestNeeds): HttpListener {
  const { config } = live;
  const { traces } = observation;
  const verifier = createSecretVerifier(config.sources);
  let limits = limitsOf(config.sources);
  live.follow('ingest', () => {
    verifier.use(config.sources);
    limits = limitsOf(config.sources);
  });
  return createIngestServer({
    ...health,
    verifier,
    knowsSources: live.knowsStored,
    failedSecrets: createFailedSecrets(),
    admission: createAdmission({
      ...config,
      rates: createSourceRates((source) => limits.get(source), health.logger),
      logger: health.logger,
    }),
    trustedProxies: config.trustedProxies,
    storesOthers: config.storesOthers,
    enqueue:
      traces === undefined
        ? (delivery) => queue.enqueue(delivery)
        : (delivery) => traces.receive(delivery, () => queue.enqueue(delivery)),
    maxBodyBytes: config.maxBodyBytes,
  });
}
