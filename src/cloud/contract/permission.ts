import { z } from 'zod';

const permissionSchema = z.looseObject({
  name: z.string(),
  description: z.string().nullish(),
  category: z.string().nullish(),
});

export type Permission = z.output<typeof permissionSchema>;

/** Answer of `GET /auth/permissions`. */
export const permissionListSchema = z.array(permissionSchema);

/** Body of `POST /auth/permissions/:check`: the call asked about, `method` as in the sample in lower case. */
export const permissionCheckRequestSchema = z.object({ uri: z.string(), method: z.string() });

export type PermissionCheckRequest = z.output<typeof permissionCheckRequestSchema>;

/** Answer of `POST /auth/permissions/:check`: any one of these permissions, or of these roles, allows the call. */
export const permissionCheckResponseSchema = z.looseObject({
  permissions: z.array(permissionSchema),
  roles: z.array(z.string()),
});

export type PermissionCheckResponse = z.output<typeof permissionCheckResponseSchema>;
