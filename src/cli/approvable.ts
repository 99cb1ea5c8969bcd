import type { ApiObject, Kind } from '../api/kind.ts';
import { apiVersionOf } from '../api/kind.ts';
import { accessRequestKind } from '../api/kinds/access-request.ts';
import { passKind } from '../api/kinds/pass.ts';
import { CliError } from './command.ts';

/** A kind whose objects people ask for and others approve. */
export interface Approvable {
  readonly kind: Kind;
  readonly path: string;
  readonly type: { readonly apiVersion: string; readonly kind: string };
}

const approvable = (kind: Kind): Approvable => ({
  kind,
  path: `/apis/${apiVersionOf(kind)}/${kind.resource}`,
  type: { apiVersion: apiVersionOf(kind), kind: kind.kind },
});

export const REQUESTS = approvable(accessRequestKind);
export const PASSES = approvable(passKind);

export function objectPath({ path }: Approvable, argument: string): string {
  const name = argument.split('/').at(-1) ?? '';
  // A URL parser would remove these segments, and the request would go to another path.
  if (name === '' || name === '.' || name === '..') throw new CliError(`${JSON.stringify(name)} is not a name`);
  return `${path}/${encodeURIComponent(name)}`;
}

/** `accessrequest.clusterpass.dev/jane-x7k2p` */
export const objectName = ({ kind }: Approvable, { metadata }: ApiObject): string =>
  `${kind.singular}.${kind.group}/${metadata.name}`;
