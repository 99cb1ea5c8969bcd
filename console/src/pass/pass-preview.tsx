import type { IssuedToken } from '../../../src/client/index.ts';
import type { Account } from '../cluster/cluster-page.tsx';
import type { Loaded } from '../parts/loaded.ts';
import { hrefOf } from '../router.ts';
import { durationWords } from './lifetime.ts';

interface PassPreviewProps {
  readonly preview: Loaded<IssuedToken | undefined>;
  /** What went wrong when it was asked for in earnest. */
  readonly problem: string;
  readonly cluster: string;
  readonly account: Account;
}

/** What would be granted, by a dry run. It keeps its room whatever it says, so that nothing jumps. */
export function PassPreview({ preview, problem, cluster, account }: PassPreviewProps) {
  const failure = problem !== '' ? problem : preview.phase === 'failed' ? preview.message : '';
  return (
    <div className={failure === '' ? 'preview' : 'preview preview-bad'} aria-live="polite">
      <span className="preview-title">Will be granted</span>
      {failure !== '' ? (
        <>
          <p className="problem">{failure}</p>
          <a href={hrefOf({ page: 'why', cluster, account: `${account.namespace}/${account.name}` })}>Why?</a>
        </>
      ) : preview.phase === 'loading' ? (
        <p className="muted">Asking the server…</p>
      ) : preview.phase === 'loaded' && preview.value !== undefined ? (
        <Granted pass={preview.value} />
      ) : (
        <p className="muted">Choose an account, and a name if it is to end with something.</p>
      )}
    </div>
  );
}

function Granted({ pass }: { pass: IssuedToken }) {
  const { spec } = pass.answer;
  const seconds = Math.round((Date.parse(pass.expirationTimestamp) - pass.issuedAt) / 1000);
  return (
    <>
      <p>
        A pass for <span className="mono breaks">{spec?.audiences?.join(', ')}</span>, good for{' '}
        {durationWords(spec?.expirationSeconds ?? seconds)}, until{' '}
        <time dateTime={pass.expirationTimestamp}>{new Date(pass.expirationTimestamp).toLocaleString()}</time>.
      </p>
      {pass.warnings.map((warning) => (
        <p key={warning} className="warning">
          {warning}
        </p>
      ))}
    </>
  );
}
