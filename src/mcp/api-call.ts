import type { ApiObject } from '../api/kind.ts';
import type { Status } from '../api/status.ts';
import { isJsonObject } from '../lib/json.ts';
import { cleanText } from '../lib/text.ts';

/** A request of the API under the identity of the caller. A tool can do nothing else. */
export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  /** Sent as JSON. */
  readonly body?: object;
}

export interface ApiReply {
  readonly code: number;
  /** The JSON of the answer: an object, a list or a Status. */
  readonly body: unknown;
  /** The texts of the `Warning` headers. */
  readonly warnings: readonly string[];
}

/** Sends a request and returns any answer, errors too. */
export type Send = (call: ApiCall) => Promise<ApiReply>;

/** A refusal or a bad argument. The text tells the model what to do next (MC-32). */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

const MAX_MESSAGE = 512;

/** What the API answered, and what can be done about it. */
export function refusal({ code, body }: ApiReply, advice: Readonly<Record<number, string>> = {}): ToolError {
  const { message = '', details } = (isJsonObject(body) ? body : {}) as Partial<Status>;
  const seconds = details?.retryAfterSeconds ?? 1;
  const next = advice[code] ?? COMMON[code];
  if (code === 429 || code === 503) return new ToolError(`${said(message, code)} Try again in ${seconds} s.`);
  return new ToolError(next === undefined ? said(message, code) : `${said(message, code)} ${next}`);
}

const COMMON: Readonly<Record<number, string>> = {
  401: 'The credential is not accepted any more: the person has to sign in again.',
  410: 'The cursor has expired: call the tool again without a cursor.',
};

/** The message as a sentence. */
function said(message: unknown, code: number): string {
  const text = typeof message === 'string' ? cleanText(message, MAX_MESSAGE) : '';
  return text === '' ? `The server answered with ${code}.` : `${text.replace(/\.$/, '')}.`;
}

export const isSuccess = ({ code }: ApiReply): boolean => code >= 200 && code < 300;

/** The object in a successful answer. Throws ToolError for any other. */
export function objectOf(
  reply: ApiReply,
  advice?: Readonly<Record<number, string>>,
): Readonly<Record<string, unknown>> {
  if (!isSuccess(reply)) throw refusal(reply, advice);
  return isJsonObject(reply.body) ? reply.body : {};
}

/** The objects in a successful answer, and the metadata of their list. */
export function listOf(reply: ApiReply, advice?: Readonly<Record<number, string>>) {
  const { items, metadata } = objectOf(reply, advice);
  return { items: Array.isArray(items) ? (items as readonly ApiObject[]) : [], metadata };
}

const MAX_WARNINGS = 8;

/** The warnings of an answer, as a model reads them; undefined for none. */
export const warningsOf = ({ warnings }: ApiReply): string[] | undefined =>
  warnings.length === 0 ? undefined : warnings.slice(0, MAX_WARNINGS).map((text) => cleanText(text));
