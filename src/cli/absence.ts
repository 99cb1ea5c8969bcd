import type { Client } from '../client/create-client.ts';
import { isStatus, type StatusError } from '../client/errors.ts';

/** The 404 for an object; undefined also for callers who may not get it (403), and learn nothing about it. */
export async function absenceOf(client: Client, path: string): Promise<StatusError | undefined> {
  try {
    await client.request('GET', path);
  } catch (error) {
    if (isStatus(error, 404)) return error;
    if (!isStatus(error, 403)) throw error;
  }
  return undefined;
}
