import type { JsonValue } from '../../lib/json.ts';
import { SchemaReader } from '../codec/schema-reader.ts';
import { fromPlain } from '../codec/tree.ts';
import type { ApiObject } from '../kind.ts';
import { validateDomainKeys } from '../reserved-keys.ts';
import { errorText, type FieldError, forbiddenField } from '../status.ts';
import { bindingErrors, fleetRoleBindingKind } from './fleet-role-binding.ts';

/**
 * Why the API would refuse a stored binding of any kind, by the first field; undefined if it would not. Such a binding
 * holds nowhere: what is wrong with it may have been meant to restrict it.
 */
export function bindingProblem(object: ApiObject): string | undefined {
  const [problem] = [
    ...validateDomainKeys(object.kind, object.metadata),
    ...(object.kind === fleetRoleBindingKind.kind ? specErrors(object) : []),
  ];
  return problem && errorText(problem);
}

function specErrors(object: ApiObject): FieldError[] {
  const reader = new SchemaReader({ style: 'custom', sorted: false, onUnknown: () => {}, duplicates: undefined });
  try {
    const sent = fromPlain({ spec: object.spec } as JsonValue);
    const { spec } = reader.read(sent, fleetRoleBindingKind.shape, undefined) as Pick<ApiObject, 'spec'>;
    const ofSchema = [...reader.fieldErrors, ...reader.tooLong];
    return ofSchema.length > 0 ? ofSchema : bindingErrors({ ...object, spec }, undefined);
  } catch (error) {
    // It is too deep, or no Unicode.
    return [forbiddenField('spec', error instanceof Error ? error.message : String(error))];
  }
}
