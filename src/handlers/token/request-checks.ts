import { type FieldError, invalid, invalidValue } from '../../api/field-error.ts';
import { type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import { badRequest } from '../../api/status.ts';

/** What a token request must hold wherever it is answered. */

/** The kind and group that errors about the request itself name. */
export const ABOUT = { group: tokenRequestType.group, kind: tokenRequestType.kind, resource: tokenRequestType.kind };

/** T-12h */
export function checkNamespace({ metadata }: TokenRequest, namespace: string): void {
  if ((metadata?.namespace ?? '') !== '' && metadata?.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

/** T-12l */
export function checkName({ metadata }: TokenRequest, name: string): void {
  const sent = metadata?.name ?? '';
  if (sent === '' || sent === name) return;
  throw invalid(ABOUT, name, [invalidValue('metadata.name', sent, 'must match the service account name if specified')]);
}

/** T-14: Kubernetes leaves the name of the invalid request empty. */
export function refuseIfInvalid(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid(ABOUT, '', [...errors]);
}
