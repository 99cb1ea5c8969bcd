import type { Claims } from './claims.ts';

/** In the order in which people look for them. */
const CLAIMS: readonly (readonly [string, string])[] = [
  ['sub', 'Subject'],
  ['aud', 'Audience'],
  ['iss', 'Issuer'],
  ['iat', 'Issued'],
  ['nbf', 'Not before'],
  ['exp', 'Ends'],
  ['jti', 'Identifier'],
];

/** What a token says, for people. */
export function ClaimList({ claims }: { claims: Claims }) {
  const known = new Set(CLAIMS.map(([name]) => name));
  const rest = Object.entries(claims).filter(([name]) => !known.has(name));
  return (
    <details className="claims" open>
      <summary>What it says</summary>
      <dl className="facts dense">
        {CLAIMS.map(([name, title]) => (
          <div key={name}>
            <dt>
              {title} <span className="mono muted">{name}</span>
            </dt>
            <dd className="mono breaks">{shownClaim(name, claims[name])}</dd>
          </div>
        ))}
      </dl>
      {rest.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <pre tabIndex={0}>{JSON.stringify(Object.fromEntries(rest), undefined, 2)}</pre>
      )}
    </details>
  );
}

function shownClaim(name: string, value: unknown): string {
  if (typeof value === 'number' && ['iat', 'nbf', 'exp'].includes(name)) {
    return new Date(value * 1000).toISOString().replace('.000Z', 'Z');
  }
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}
