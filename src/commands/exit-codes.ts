/** Exit codes of every command: 0 good, 1 failed, 2 wrong usage or configuration; 3 when a check finds a difference. */
export const FAILED = 1;
export const WRONG_USAGE = 2;
export const DIFFERENT = 3;
