import { z } from 'zod';

/**
 * An identifier of the cloud (an int64 on the wire), as text: exact also beyond 2^53, where the JSON reader
 * hands over the digits instead of a rounded number.
 */
export const idSchema = z.union([z.int(), z.string().min(1)]).transform(String);
