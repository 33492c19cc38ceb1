import { z } from 'zod';
import { idSchema } from './shared.ts';

/**
 * A subscription in the cloud, with its secret as clear text (published description and SDK; the specification shows only
 * the members of the request). Message type and status are plain text, because other applications may have subscriptions
 * of unknown kinds. The list has any of the `LIST_FORMS`, or is missing (specification).
 */
export const subscriptionSchema = z.looseObject({
  id: idSchema,
  application: z.string().nullish(),
  url: z.string().nullish(),
  secret: z.string().nullish(),
  message_type: z.string().nullish(),
  status: z.string().nullish(),
  data_type: z.string().nullish(),
  create_time: z.string().nullish(),
  update_time: z.string().nullish(),
});

export type Subscription = z.output<typeof subscriptionSchema>;

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
