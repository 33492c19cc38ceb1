import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { Namespace, Service } from 'kubernetes-types/core/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';

/** One document of deploy/kubernetes. The API server ignores a member that it does not know; this type has none. */
export type KubernetesObject = Named<
  Deployment | Job | Namespace | PodDisruptionBudget | Service | StatefulSet
>;

type Named<T> = T extends { apiVersion?: string; kind?: string }
  ? T & Required<Pick<T, 'apiVersion' | 'kind'>>
  : never;
