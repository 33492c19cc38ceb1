import { z } from 'zod';
import { idSchema } from './shared.ts';

/**
 * An alert subscription in the cloud (published description 25.9.0-36, `/alert-subscriptions/webhooks`; the specification
 * names only their permissions). `GET` answers a bare array, `POST`, `GET` and `PUT` of one answer the subscription.
 */
export const alertSubscriptionSchema = z.looseObject({
  id: idSchema,
  url: z.string().nullish(),
  secret: z.string().nullish(),
  is_enabled: z.boolean().nullish(),
  is_subscribe_all: z.boolean().nullish(),
  alert_policy_ids: z.array(idSchema).nullish(),
  create_time: z.string().nullish(),
  update_time: z.string().nullish(),
});

export type AlertSubscription = z.output<typeof alertSubscriptionSchema>;
