import type { ApiObject, Kind } from '../api/kind.ts';
import { apiVersionOf } from '../api/kind.ts';
import { accessRequestKind } from '../api/kinds/access-request.ts';
import { REQUEST_PHASES } from '../api/kinds/access-request-spec.ts';
import { passKind } from '../api/kinds/pass.ts';
import { PASS_PHASES } from '../api/kinds/pass-spec.ts';
import { terminalSafe } from '../lib/text.ts';
import { pathSegment } from './path-segment.ts';

/** A kind whose objects people ask for and others approve. */
export interface Approvable {
  readonly kind: Kind;
  readonly path: string;
  readonly phases: readonly string[];
  readonly type: { readonly apiVersion: string; readonly kind: string };
  /** Why an object may not exist, for errors. */
  readonly absence: string;
}

const approvable = (kind: Kind, phases: readonly string[], absence: string): Approvable => ({
  kind,
  phases,
  absence,
  path: `/apis/${apiVersionOf(kind)}/${kind.resource}`,
  type: { apiVersion: apiVersionOf(kind), kind: kind.kind },
});

export const REQUESTS = approvable(
  accessRequestKind,
  REQUEST_PHASES,
  'There may be no such request: its requester can delete it, and finished requests are deleted, by default after a week.',
);
export const PASSES = approvable(
  passKind,
  PASS_PHASES,
  'There may be no such pass: passes are deleted when they are revoked, and an hour after their end.',
);

/** `argument` is a name, or `TYPE/NAME` as kubectl writes it. */
export const approvablePath = ({ path }: Approvable, argument: string): string =>
  `${path}/${pathSegment(argument.split('/').at(-1) ?? '')}`;

/** `accessrequest.clusterpass.dev/jane-x7k2p` */
export const objectName = ({ kind }: Approvable, { metadata }: ApiObject): string =>
  terminalSafe(`${kind.singular}.${kind.group}/${metadata.name}`);
