/**
 * Calls `apply` after each change of the settings in force, until the result is called. What `apply` throws is reported as
 * an error of the part.
 */
export type FollowSettings = (part: string, apply: () => void | Promise<void>) => () => void;
