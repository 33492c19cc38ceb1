import { APPLICATION } from './desired.ts';

/** Whether a subscription is one that we keep for a source; all others are never touched. */
export type Ownership = (subscription: { readonly application: string; readonly url: string }) => boolean;

interface OwnershipOptions {
  /** Without a trailing slash. */
  readonly publicUrl: string;
  /** The other sources of this program: they may belong to the same account of the cloud. */
  readonly otherSources: readonly string[];
}

/** Ours carry our application's name or lead to us, unless their url names another source of this program. */
export function createOwnership({ publicUrl, otherSources }: OwnershipOptions): Ownership {
  return ({ application, url }) => {
    const named = /\/ingest\/([^/]+)\/[^/]*$/.exec(url)?.[1];
    if (named !== undefined && otherSources.includes(named)) return false;
    return application === APPLICATION || url.startsWith(`${publicUrl}/ingest/`);
  };
}
