import { useSyncExternalStore } from 'react';
import { countOf } from '../components/count.ts';
import { type RevocationRun, type RevocationRuns, unrevokedIn } from './revocation-run.ts';

const MAX_FAILURES = 5;

/** The progress and the result of a revocation of passes, on every page. Absent without one. */
export function RevocationNotice({ runs }: { readonly runs: RevocationRuns }) {
  const run = useSyncExternalStore(runs.subscribe, () => runs.run);
  if (run === undefined) return null;
  if (run.isRunning) {
    return (
      <p className="notice page-notice">
        Revoking passes: {run.done.toLocaleString()} of {run.total.toLocaleString()}…
      </p>
    );
  }
  return (
    <div className="notice page-notice" role={unrevokedIn(run) === 0 ? 'status' : 'alert'}>
      <Result run={run} />
      <button type="button" className="button small" onClick={() => runs.dismiss()}>
        Dismiss
      </button>
    </div>
  );
}

function Result({ run }: { readonly run: RevocationRun }) {
  const { total, failures, untried } = run;
  const left = unrevokedIn(run);
  if (left === 0) {
    return <p>{`${countOf(total, 'pass', 'passes')} ${total === 1 ? 'was' : 'were'} revoked.`}</p>;
  }
  const more = failures.length - MAX_FAILURES;
  return (
    <div>
      <strong>
        {`${left.toLocaleString()} of ${countOf(total, 'pass', 'passes')} ${left === 1 ? 'was' : 'were'} not revoked`}
      </strong>
      <ul>
        {failures.slice(0, MAX_FAILURES).map(({ pass, message }) => (
          <li key={pass.metadata.name} className="wrap-anywhere">
            <span className="mono">{pass.metadata.name}</span>: {message}
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
      {untried.length > 0 && (
        <p>
          {`The server rejected your token, so ${countOf(untried.length, 'pass', 'passes')} ${untried.length === 1 ? 'was' : 'were'} not tried. Sign in again to revoke the rest.`}
        </p>
      )}
    </div>
  );
}
