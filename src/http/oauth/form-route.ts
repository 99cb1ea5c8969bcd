import type { Query, ValueBody } from '../../api/request.ts';
import type { Secret } from '../../observability/secret.ts';
import type { PathInfo, ResourceInfo } from '../request/request-info.ts';
import type { Form } from './form.ts';
import type { Render } from './oauth-error.ts';

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

/** What the URL of the form says. */
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

export interface FormRoutes {
  find(target: PathInfo): FormRoute | undefined;
}
