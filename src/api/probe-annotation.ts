import { type FieldError, unsupportedValue } from './field-error.ts';
import type { ObjectMeta } from './kind.ts';

/** On a cluster: whether the prober writes its Ready condition. Without it, the prober yields to another writer. */
export const PROBE_ANNOTATION = 'clusterpass.dev/probe';

const CHOICES = ['enabled', 'disabled'] as const;

export const probeChoice = ({ annotations }: ObjectMeta): (typeof CHOICES)[number] | undefined =>
  CHOICES.find((choice) => choice === annotations?.[PROBE_ANNOTATION]);

/** A stored value is accepted: it must not block other changes of the cluster. */
export function validateProbeChoice({ annotations }: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  const value = annotations?.[PROBE_ANNOTATION];
  if (value === undefined || value === old?.annotations?.[PROBE_ANNOTATION]) return [];
  if (CHOICES.some((choice) => choice === value)) return [];
  return [unsupportedValue(`metadata.annotations[${PROBE_ANNOTATION}]`, value, CHOICES)];
}
