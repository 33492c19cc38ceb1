import { z } from 'zod';

/** A source of the settings or of the database, without its secrets. */
export const sourceSchema = z
  .object({
    name: z.string(),
    origin: z.enum(['settings', 'database']),
    state: z.enum(['in use', 'disabled', 'conflict']).meta({
      description: 'conflict: the settings have a source of this name, which is used instead',
    }),
    secrets: z.number().meta({ description: 'number of accepted secrets' }),
    old_secrets_until: z
      .string()
      .nullable()
      .meta({ description: 'when all secrets but the first end; null: they stay' }),
    api_url: z.string().nullable(),
    message_types: z
      .array(z.string())
      .readonly()
      .nullable()
      .meta({ description: 'null: those of the setting MESSAGE_TYPES' }),
    deliveries_per_second: z
      .number()
      .nullable()
      .meta({ description: 'limit in each ingest process; null: none' }),
    bytes_per_second: z.number().nullable().meta({ description: 'the same of bytes of bodies as sent' }),
  })
  .meta({ id: 'Source' });

export type SourceLine = z.input<typeof sourceSchema>;
