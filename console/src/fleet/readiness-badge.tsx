import { READINESS_NAMES, type Readiness } from './cluster-row.ts';

/** Color, shape and text each show the readiness, for users who cannot tell colors or shapes apart. */
export function ReadinessIcon({ readiness }: { readiness: Readiness }) {
  return (
    <svg
      className={`readiness-icon readiness-icon-${readiness}`}
      width="10"
      height="10"
      viewBox="0 0 10 10"
      aria-hidden="true"
    >
      {readiness === 'ready' && <circle cx="5" cy="5" r="4" />}
      {readiness === 'not-ready' && <path d="M5 .8 9.6 9.2H.4Z" />}
      {readiness === 'unknown' && (
        <circle cx="5" cy="5" r="3.25" fill="none" strokeWidth="1.5" strokeDasharray="2.5 2" />
      )}
    </svg>
  );
}

export function ReadinessBadge({ readiness }: { readiness: Readiness }) {
  return (
    <span className={`readiness readiness-${readiness}`}>
      <ReadinessIcon readiness={readiness} />
      {READINESS_NAMES[readiness]}
    </span>
  );
}
