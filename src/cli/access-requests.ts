import type { ApiObject } from '../api/kind.ts';
import { apiVersionOf } from '../api/kind.ts';
import { accessRequestKind } from '../api/kinds/access-request.ts';
import { CliError } from './command.ts';

export const REQUESTS_PATH = `/apis/${apiVersionOf(accessRequestKind)}/${accessRequestKind.resource}`;

export const REQUEST_TYPE = { apiVersion: apiVersionOf(accessRequestKind), kind: accessRequestKind.kind };

export function requestPath(argument: string): string {
  const name = argument.split('/').at(-1) ?? '';
  // A URL parser would remove these segments, and the request would go to another path.
  if (name === '' || name === '.' || name === '..') throw new CliError(`${JSON.stringify(name)} is not a name`);
  return `${REQUESTS_PATH}/${encodeURIComponent(name)}`;
}

/** `accessrequest.clusterpass.dev/jane-x7k2p` */
export const requestName = ({ metadata }: ApiObject): string =>
  `${accessRequestKind.singular}.${accessRequestKind.group}/${metadata.name}`;
