import { formatTime, Time } from '../components/time.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { certificatesOf } from './certificates.ts';

/** The fingerprints that people compare with those of their cluster. */
export function CaFingerprints({ caBundle }: { caBundle: string | undefined }) {
  const query = useQuery(caBundle ?? '', () => certificatesOf(caBundle ?? ''));
  if (caBundle === undefined || caBundle === '') {
    return <span className="muted">No CA bundle: clients use their own trust store</span>;
  }
  if (query.status === 'failed') return <span className="muted">Available only over HTTPS</span>;
  if (query.status === 'loading') {
    // As long as a fingerprint, so that the sections below do not move.
    return (
      <span className="mono wrap-anywhere fingerprint placeholder" aria-hidden="true">
        SHA-256 {'00:'.repeat(31)}00
        <span className="hint"> ends {formatTime(0)}</span>
      </span>
    );
  }
  if (query.value.length === 0) return <span className="muted">The CA bundle contains no certificate</span>;
  return query.value.map(({ fingerprint, endsAt }) => (
    <span key={fingerprint} className="mono wrap-anywhere fingerprint">
      SHA-256 {fingerprint}
      <span className={endsAt < Date.now() ? 'problem hint' : 'muted hint'}>
        {' ends '}
        <Time at={endsAt} />
      </span>
    </span>
  ));
}
