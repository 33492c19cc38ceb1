import { z } from 'zod';
import { int64 } from './int64.ts';

const reference = z.strictObject({ id: int64 });

/** Members both bodies have; which of them are required is not stated, so none is. */
const common = z.looseObject({
  name: z.string().optional(),
  description: z.string().nullish(),
  format_type: z.string().optional(),
  enable_inject_operator_name_attribute: z.boolean().optional(),
});

const radsecRealm = z.strictObject({
  name: z.string(),
  enable_strip_realm_name: z.boolean().optional(),
  external_radius_server_object_ids: z.array(int64).optional(),
});

const radiusClient = z.strictObject({
  shared_secret: z.string(),
  description: z.string().nullish(),
  l3_address_profile_id: int64.optional(),
});

const radiusRealm = z.strictObject({
  name: z.string(),
  enable_strip_realm_name: z.boolean().optional(),
  radius_client_object_id: int64.optional(),
});

/** The update bodies the specification shows (RADIUS-related configuration payloads). */
export const proxyBodies = {
  radsec: common.extend({ realms: z.array(z.union([reference, radsecRealm])).optional() }),
  radius: common.extend({
    retry_count: z.int().nonnegative().optional(),
    retry_delay: z.int().nonnegative().optional(),
    dead_time: z.int().nonnegative().optional(),
    clients: z.array(z.union([reference, radiusClient])).optional(),
    realms: z.array(z.union([reference, radiusRealm])).optional(),
  }),
};
