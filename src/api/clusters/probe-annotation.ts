import type { ObjectMeta } from '../kind.ts';

/** On a cluster: whether the prober writes its Ready condition. Without it, the prober yields to another writer. */
export const PROBE_ANNOTATION = 'clusterpass.dev/probe';

export const PROBE_CHOICES = ['enabled', 'disabled'] as const;

export const probeChoice = ({ annotations }: ObjectMeta): (typeof PROBE_CHOICES)[number] | undefined =>
  PROBE_CHOICES.find((choice) => choice === annotations?.[PROBE_ANNOTATION]);
