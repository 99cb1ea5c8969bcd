import { exactDuration } from '../codec/go-text/human-duration.ts';
import type { ApiObject, ObjectMeta } from '../kind.ts';
import { isDns1123Label, isDns1123Subdomain, isValidLabelValue } from '../names.ts';
import { type FieldError, forbiddenField, invalidValue, invalidValues, required, tooLong } from '../status.ts';
import type { ClusterCondition } from './cluster-spec.ts';

/** Access requests and passes: a caller asks, people decide, and what they grant ends by itself (ADR 49). */

/** A person who asks or decides. */
export interface RequestUser {
  username: string;
  uid?: string;
  /** Of a requester, at the time of the request. */
  groups?: string[];
  /** Further names of the same people: the impersonator, and the requesters of the pass that was used. */
  actors?: string[];
}

export type RequestCondition = Omit<ClusterCondition, 'lastHeartbeatTime'>;

export interface ApprovalSpec {
  cluster?: string;
  serviceAccount?: { namespace?: string; name?: string };
  durationSeconds?: number;
  requestedBy?: RequestUser;
}

/** The account for people, as `ci/builder`. */
export const accountText = ({ serviceAccount }: ApprovalSpec): string =>
  `${serviceAccount?.namespace}/${serviceAccount?.name}`;

/** What an approval by the caller would do, or why it is not allowed. */
export interface ApprovalPreview {
  allowed: boolean;
  message?: string;
  /** For people, as in `passes of ci/builder`. */
  has?: string[];
  gains?: string[];
  serviceAccount?: 'Exists' | 'Missing' | 'Unknown';
}

export interface ApprovalStatus<Phase extends string = string> {
  phase?: Phase;
  /** Decisions, and the end. */
  conditions?: RequestCondition[];
  decidedBy?: RequestUser;
  decisionTimestamp?: string;
  bindingRef?: { kind: string; namespace?: string; name: string; uid?: string; generation?: number };
  clusterUID?: string;
  /** When it is given up while it is pending, or when what was granted ends. */
  expirationTimestamp?: string;
  /** A command of the requester. */
  next?: string;
  /** Never stored: it depends on who asks. */
  preview?: ApprovalPreview;
}

export const approvalSpec = (object: ApiObject): ApprovalSpec => (object.spec ?? {}) as ApprovalSpec;
export const approvalStatus = (object: ApiObject): ApprovalStatus => (object.status ?? {}) as ApprovalStatus;

/** For people: who asks, and what an approval would do. A row without a text is not shown. */
export function previewRows({ requestedBy }: ApprovalSpec, { preview }: ApprovalStatus) {
  const { allowed, message, has, gains, serviceAccount } = preview ?? {};
  return [
    ['Groups', requestedBy?.groups?.join(', ')],
    ['Has already', has?.join(', ')],
    ['Would gain', gains?.join(', ')],
    ['The account', serviceAccount?.toLowerCase()],
    ['You may approve', allowed === undefined ? undefined : allowed ? 'yes' : `no: ${message}`],
  ] as const;
}

/** An open object waits for a decision, or grants something. */
export const isOpenPhase = (phase = 'Pending'): boolean =>
  phase === 'Pending' || phase === 'Approved' || phase === 'Ready';

/** When a pending object or what it grants ends; undefined once it is finished. */
export function expiryOf(object: ApiObject): string | undefined {
  const { phase, expirationTimestamp } = approvalStatus(object);
  return isOpenPhase(phase) ? expirationTimestamp : undefined;
}

/** When the last decision was taken, or the object ended; `""` for an open one. */
export function finishedAt(object: ApiObject): string {
  const { phase, conditions = [] } = approvalStatus(object);
  return isOpenPhase(phase) ? '' : (conditions.at(-1)?.lastTransitionTime ?? '');
}

/** Where access is granted; namespace `""` for the whole cluster. */
export interface RequestScope {
  readonly cluster: string;
  readonly namespace: string;
}

/**
 * Format characters reverse a text, or hide a part that a program still reads. Approvers must read what is there. The
 * joiners belong to scripts and emojis.
 */
export const hasInvisible = (text: string): boolean => /(?![\u200c\u200d])\p{Cf}/u.test(text);
export const INVISIBLE_TEXT = 'may not contain invisible characters or such that change the direction of text';

/** Of labels and annotations together. Every authenticated caller may be allowed to ask. */
const MAX_PAIRS_BYTES = 4_096;

/** What is wrong with the fields that both kinds have. Upper bounds for the duration are options of the server. */
export function approvalErrors(object: ApiObject, what: string, minSeconds: number): FieldError[] {
  const { cluster = '', durationSeconds } = approvalSpec(object);
  const errors = [...metadataErrors(object.metadata, what), ...clusterErrors(cluster)];
  if (durationSeconds !== undefined && durationSeconds < minSeconds) {
    errors.push(invalidValue('spec.durationSeconds', durationSeconds, `must be at least ${exactDuration(minSeconds)}`));
  }
  return errors;
}

/** The owner decides about the metadata, and must not keep the server from removing a finished object. */
function metadataErrors(
  { labels = {}, annotations = {}, finalizers = [], ownerReferences = [] }: ObjectMeta,
  what: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const pairs = [...Object.entries(labels), ...Object.entries(annotations)];
  if (Buffer.byteLength(pairs.flat().join('')) > MAX_PAIRS_BYTES) {
    errors.push(tooLong('metadata.annotations', MAX_PAIRS_BYTES));
  }
  if (finalizers.length > 0) errors.push(forbiddenField('metadata.finalizers', `${what} has none`));
  if (ownerReferences.length > 0) errors.push(forbiddenField('metadata.ownerReferences', `${what} has none`));
  return errors;
}

/** The name is the value of a label of the object: approvers see it by its cluster. */
function clusterErrors(cluster: string): FieldError[] {
  if (cluster === '') return [required('spec.cluster', 'the name of the cluster')];
  const problems = isDns1123Subdomain(cluster);
  return invalidValues('spec.cluster', cluster, problems.length > 0 ? problems : isValidLabelValue(cluster));
}

export const accountErrors = ({ namespace = '', name = '' }: { namespace?: string; name?: string }): FieldError[] => [
  ...nameErrors('spec.serviceAccount.namespace', namespace, isDns1123Label),
  ...nameErrors('spec.serviceAccount.name', name, isDns1123Subdomain),
];

export const nameErrors = (field: string, value: string, rule: (value: string) => string[]): FieldError[] =>
  value === '' ? [required(field)] : invalidValues(field, value, rule(value));
