import type { Query, ValueBody } from '../../api/request.ts';
import { unescaped, utf8Text } from '../../lib/text.ts';
import type { Secret } from '../../observability/secret.ts';
import type { PathInfo, ResourceInfo } from '../request/request-info.ts';
import { OAuthError, type Render } from './oauth-error.ts';

/** Longer than any form that clients send: a subject token has at most 16 KiB. */
export const MAX_FORM_BYTES = 64 * 1024;
const MAX_PARAMETERS = 64;
const MAX_SHOWN_NAME = 64;
/** RFC 8693 section 2.1: a request may name several targets. */
const REPEATABLE: ReadonlySet<string> = new Set(['audience', 'resource']);

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/** RFC 6749 section 3.2: the parameters are in the body, as a form in UTF-8. */
export function checkFormType(contentType: string | undefined): void {
  if (contentType !== undefined && FORM_TYPE.test(contentType.trim())) return;
  throw new OAuthError('invalid_request', 'the Content-Type must be application/x-www-form-urlencoded');
}

/**
 * The parameters of a form. A parameter without a value counts as not sent; one that is sent twice is an error (RFC
 * 6749 section 3.2), because two programs could read different values.
 */
export class Form {
  readonly #values = new Map<string, string[]>();

  constructor(bytes: Uint8Array) {
    const text = utf8Text(bytes);
    if (text === undefined) throw invalid('the form is not valid UTF-8');
    // URLSearchParams would replace broken escapes and what is not UTF-8.
    if (unescaped(text) === undefined) throw invalid('the form contains an invalid percent-escape');
    if (text.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS) {
      throw invalid(`the form has more than ${MAX_PARAMETERS} parameters`);
    }
    for (const [name, value] of new URLSearchParams(text)) {
      if (value === '') continue;
      const before = this.#values.get(name);
      if (before === undefined) this.#values.set(name, [value]);
      else if (REPEATABLE.has(name)) before.push(value);
      else throw invalid(`the parameter ${name.slice(0, MAX_SHOWN_NAME)} must be sent once`);
    }
  }

  get(name: string): string | undefined {
    return this.#values.get(name)?.[0];
  }

  getAll(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  required(name: string): string {
    const value = this.get(name);
    if (value === undefined) throw invalid(`the parameter ${name} is required`);
    return value;
  }
}

const invalid = (text: string): OAuthError => new OAuthError('invalid_request', text);

/**
 * An endpoint of OAuth. It has no handler: its form becomes a request of the API, which the later stages authenticate,
 * authorize, handle and record like any other. So it cannot grant more than that request.
 */
export interface FormRoute {
  /** Called before the body is read. Throws an OAuthError. */
  checkAuthorization(authorization: string | undefined): void;
  /** Throws an OAuthError. */
  read(form: Form, url: FormUrl): FormRequest;
  /** For errors before `read` has returned. */
  readonly render: Render;
}

export interface FormUrl {
  /** The cluster in the path. */
  readonly cluster: string | undefined;
  readonly query: Query;
}

/**
 * The one option of a request that counts in the query. Others are ignored: an endpoint takes its options in the form.
 */
export const dryRunOf = ({ query }: FormUrl): URLSearchParams =>
  new URLSearchParams(query.getAll('dryRun').map((value) => ['dryRun', value]));

/** The request of the API, and how its answer is written. */
export interface FormRequest {
  readonly info: ResourceInfo;
  readonly query: Query;
  readonly body: ValueBody | undefined;
  /** Authenticates the caller in place of the `Authorization` header. */
  readonly credential?: Secret;
  /** Authenticates the actor. */
  readonly actorCredential?: Secret;
  /** For the audit event. */
  readonly annotations: ReadonlyMap<string, string>;
  readonly render: Render;
}

export type FormRoutes = (target: PathInfo) => FormRoute | undefined;
