import { decodeBody } from '../../api/codec/decode.ts';
import { bodySchema } from '../../api/codec/shape.ts';
import type { BodyType } from '../../api/kind.ts';
import { type BodyOf, flag, int64, part, struct, text, texts } from '../../api/kinds/meta.ts';
import {
  type ApiRequest,
  DRY_RUN_ANNOTATION,
  isEmptyBody,
  type Query,
  type RequestBody,
  sentBody,
} from '../../api/request.ts';
import { type FieldError, invalid, invalidValue, unsupportedValue } from '../../api/status.ts';
import { defined } from '../../lib/json.ts';
import { booleanParameter, countParameter, META_GROUP } from './query-parameters.ts';
import { dryRunErrors } from './write-options.ts';

export interface DeleteOptions {
  readonly dryRun: boolean;
  /** The object is deleted only if it still has these. */
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
}

/**
 * Every API group has this type: clients send it in the group and version of the object that they delete. The query has
 * parameters of the same names. `gracePeriodSeconds` and `propagationPolicy` are checked and have no effect: there is
 * no grace period, and a parent is always deleted with its children.
 */
export const deleteOptionsType = {
  group: META_GROUP,
  version: 'v1',
  kind: 'DeleteOptions',
  style: 'builtin',
  ...bodySchema(
    struct('DeleteOptions', '', {
      kind: text(),
      apiVersion: text(),
      gracePeriodSeconds: int64(),
      preconditions: part('Preconditions', '', { uid: text(), resourceVersion: text() }),
      orphanDependents: flag(),
      propagationPolicy: text(),
      dryRun: texts(),
    }),
  ),
} satisfies BodyType;

type RawDeleteOptions = BodyOf<typeof deleteOptionsType>;

type DeleteRequest = Pick<ApiRequest, 'query' | 'body' | 'annotate'>;

/**
 * The options of the body if there is one, else those of the query. Stricter than kube-apiserver in one point:
 * `dryRun` in the query also counts beside a body, because ignoring it would delete the object.
 */
export function parseDeleteOptions({ query, body, annotate }: DeleteRequest): DeleteOptions {
  const raw = body === undefined || isEmptyBody(body) ? fromQuery(query) : fromBody(body);
  const dryRun = [...(raw.dryRun ?? []), ...query.getAll('dryRun')];
  const errors = [...propagationErrors(raw), ...dryRunErrors(dryRun)];
  if (errors.length > 0) throw invalid({ group: META_GROUP, kind: 'DeleteOptions' }, '', errors);
  // Records know the query, not the body: without this they would report a deletion.
  if (dryRun.length > 0) annotate(DRY_RUN_ANNOTATION, 'All');
  return { dryRun: dryRun.length > 0, preconditions: raw.preconditions ?? {} };
}

function fromBody(body: RequestBody): RawDeleteOptions {
  const options = { acceptsVersion: () => true };
  return decodeBody<RawDeleteOptions>(sentBody(body), deleteOptionsType, 'Ignore', options).value;
}

function fromQuery(query: Query): RawDeleteOptions {
  return defined({
    gracePeriodSeconds: countParameter(query, 'gracePeriodSeconds'),
    orphanDependents: booleanParameter(query, 'orphanDependents'),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
  });
}

const POLICIES = ['Foreground', 'Background', 'Orphan'];

function propagationErrors({ propagationPolicy: policy, orphanDependents }: RawDeleteOptions): FieldError[] {
  if (policy === undefined) return [];
  const errors: FieldError[] = [];
  if (orphanDependents !== undefined) {
    const problem = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalidValue('propagationPolicy', policy, problem));
  }
  if (!POLICIES.includes(policy)) errors.push(unsupportedValue('propagationPolicy', policy, [...POLICIES, 'nil']));
  return errors;
}
