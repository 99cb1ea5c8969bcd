import { type FieldError, unsupportedValue } from './field-error.ts';
import type { ObjectMeta } from './kind.ts';

/**
 * An annotation that has one of some words. A stored value is accepted: it must not block other changes of its object.
 */
export function validateChoice(
  annotation: string,
  choices: readonly string[],
  { annotations }: ObjectMeta,
  old: ObjectMeta | undefined,
): FieldError[] {
  const value = annotations?.[annotation];
  if (value === undefined || value === old?.annotations?.[annotation] || choices.includes(value)) return [];
  return [unsupportedValue(`metadata.annotations[${annotation}]`, value, choices)];
}
