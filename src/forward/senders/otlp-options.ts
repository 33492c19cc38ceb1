import { z } from 'zod';
import { baseUrl } from '../../config/setting-types.ts';
import { httpOptions } from './http-endpoint.ts';
import { headersOption } from './https.ts';

/** An OpenTelemetry collector, or another receiver of OTLP/HTTP. */
export const otlpOptions = z.strictObject({
  ...httpOptions,
  /** The address without `/v1/logs`, such as `https://collector.example:4318`. */
  url: baseUrl,
  headers: headersOption,
  /** The attribute `service.name` of the resource. */
  service_name: z.string().min(1, 'must be the name of a service').default('xiq-sink'),
});

export type OtlpOptions = z.output<typeof otlpOptions>;
