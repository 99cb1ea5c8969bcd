import { READINESS_NAMES, type Readiness } from './cluster-row.ts';

/** A disc, a triangle and a ring. */
const SHAPES: Readonly<Record<Readiness, string>> = {
  ready: 'M1 5a4 4 0 1 0 8 0 4 4 0 1 0-8 0',
  'not-ready': 'M5 .8 9.6 9.2H.4Z',
  unknown: 'M1.75 5a3.250 3.250 0 1 0 6.500 0 3.250 3.250 0 1 0-6.500 0',
};

/** Color, shape and text each show the readiness, for users who cannot tell colors or shapes apart. */
export const ReadinessIcon = ({ readiness }: { readiness: Readiness }) => (
  <svg className={`readiness-icon readiness-icon-${readiness}`} width="10" height="10" aria-hidden="true">
    <path d={SHAPES[readiness]} />
  </svg>
);

export function ReadinessBadge({ readiness }: { readiness: Readiness }) {
  return (
    <span className={`readiness readiness-${readiness}`}>
      <ReadinessIcon readiness={readiness} />
      {READINESS_NAMES[readiness]}
    </span>
  );
}
