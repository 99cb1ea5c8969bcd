import { isStatus } from '../client/errors.ts';
import type { Transport } from '../client/transport.ts';

/** The hub does not serve an API group, or none of the versions that are understood. */
export class NotServedError extends Error {
  override readonly name = 'NotServedError';
}

/** The first of `versions` that the server has, e.g. `v1alpha2`. */
export async function servedVersion(
  transport: Transport,
  group: string,
  versions: readonly string[],
  signal?: AbortSignal,
): Promise<string> {
  try {
    const { value } = await transport.request<{ versions?: readonly { version?: string }[] }>('GET', `/apis/${group}`, {
      signal,
    });
    const found = versions.find((version) => value.versions?.some((served) => served.version === version));
    if (found !== undefined) return found;
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
  }
  throw new NotServedError(`the hub does not serve ${group} in ${versions.join(' or ')}: are its CRDs installed?`);
}
