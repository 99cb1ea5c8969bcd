import type { ApiObject } from '../kind.ts';
import { type FieldError, invalidValue, required, tooLong } from '../status.ts';
import {
  type ApprovalSpec,
  type ApprovalStatus,
  accountErrors,
  approvalErrors,
  hasInvisible,
  INVISIBLE_TEXT,
} from './approval.ts';

/** Spec and status of a pass. A pass is a handle: no token exists until it is redeemed. */

export const PASS_PHASES = ['Pending', 'Ready', 'Denied', 'Ended'] as const;

/** What a pass needs before it can be redeemed: nothing, the requester at the console, or another person. */
export type PassApproval = 'none' | 'confirm' | 'review';

/** What people decide about a pass: the types of conditions that the subresource `approval` takes. */
export const PASS_DECISIONS = ['Approved', 'Denied'] as const;

/** On every Pass: what it needs. Approvers see only those that need a review. */
export const PASS_APPROVAL_LABEL = 'clusterpass.dev/approval';

export interface PassSpec extends ApprovalSpec {
  audiences?: string[];
  purpose?: string;
  /** RFC 7636: S256 of a secret. The pass is redeemed with the secret, which only the requesting machine has. */
  codeChallenge?: string;
  /** Absent for a pass that a person has asked for itself. */
  client?: { id?: string; name?: string };
}

export interface PassStatus extends ApprovalStatus<(typeof PASS_PHASES)[number]> {
  approval?: PassApproval;
  /** Unset while a cluster that issues its own tokens has an account that is not stored here. */
  serviceAccountUID?: string;
  /** Without an `id`: of a cluster that gives its tokens none, or one that is no UUID. */
  tokens?: { id?: string; expirationTimestamp: string; revocable?: boolean }[];
}

export const passSpec = (object: ApiObject): PassSpec => (object.spec ?? {}) as PassSpec;
export const passStatus = (object: ApiObject): PassStatus => (object.status ?? {}) as PassStatus;

export const passAccount = ({ cluster = '', serviceAccount }: ApprovalSpec) => ({
  cluster,
  namespace: serviceAccount?.namespace ?? '',
  name: serviceAccount?.name ?? '',
});

/** The name of a pass is its handle: 160 random bits. It opens nothing by itself. */
export const HANDLE_PATTERN = '^pass_[a-z2-7]{32}$';
const HANDLE = new RegExp(HANDLE_PATTERN);
const HANDLE_BYTES = 20;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** The command with which the requester redeems a pass. */
export const redeemCommand = (handle: string): string => `clusterpass credential --pass ${handle}`;

export const isHandle = (text: string): boolean => HANDLE.test(text);

export function newHandle(randomBytes: (size: number) => Uint8Array): string {
  let bits = '';
  for (const byte of randomBytes(HANDLE_BYTES)) bits += byte.toString(2).padStart(8, '0');
  return `pass_${(bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join('')}`;
}

export const MIN_PASS_SECONDS = 600;
export const MAX_PASS_SECONDS = 900;
export const MIN_PURPOSE = 8;
export const MAX_PURPOSE = 200;
export const MAX_CLIENT_NAME = 128;

/** S256 of RFC 7636: 256 bits in base64url. */
const CODE_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** What is wrong with a new pass. The handler checks the audiences and the bound of the duration, an option. */
export function passErrors(object: ApiObject): FieldError[] {
  const { serviceAccount = {}, purpose = '', codeChallenge, client } = passSpec(object);
  const errors = [
    ...approvalErrors(object, 'a pass', MIN_PASS_SECONDS),
    ...accountErrors(serviceAccount),
    ...purposeErrors(purpose),
  ];
  if (codeChallenge !== undefined && !CODE_CHALLENGE.test(codeChallenge)) {
    errors.push(invalidValue('spec.codeChallenge', codeChallenge, 'must be a SHA-256 in base64url, without padding'));
  }
  for (const [field, text = ''] of Object.entries(client ?? {})) {
    if (/\p{Cc}/u.test(text) || hasInvisible(text)) {
      errors.push(invalidValue(`spec.client.${field}`, text, 'may not contain control or invisible characters'));
    }
  }
  return errors;
}

/** One line: approvers and the audit log read it. */
function purposeErrors(purpose: string): FieldError[] {
  const field = 'spec.purpose';
  if (purpose.trim() === '') return [required(field, 'say what the pass is for: approvers and auditors read it')];
  const { length } = [...purpose.trim()];
  if (length < MIN_PURPOSE) return [invalidValue(field, purpose, `must have at least ${MIN_PURPOSE} characters`)];
  if (length > MAX_PURPOSE) return [tooLong(field, MAX_PURPOSE)];
  if (hasInvisible(purpose)) return [invalidValue(field, purpose, INVISIBLE_TEXT)];
  return /[\p{Cc}\u2028\u2029]/u.test(purpose) ? [invalidValue(field, purpose, 'must be one line')] : [];
}
