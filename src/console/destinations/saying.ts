import { describeError, HttpError } from '../../errors.ts';

/** What a destination answers, or that it does not, is for the person to read: it is no defect of this program. */
export async function saying<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(502, 'DESTINATION_FAILED', `${what}: ${describeError(error)}`, { cause: error });
  }
}
