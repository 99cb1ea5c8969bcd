import { useSyncExternalStore } from 'react';
import { quantity } from '../../../src/lib/quantity.ts';
import type { RevocationRun, RevocationRuns } from './revocation-run.ts';

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
    <div className="notice page-notice" role={run.failures.length === 0 ? 'status' : 'alert'}>
      <Result run={run} />
      <button type="button" className="button small" onClick={() => runs.dismiss()}>
        Dismiss
      </button>
    </div>
  );
}

function Result({ run: { total, failures } }: { readonly run: RevocationRun }) {
  if (failures.length === 0) {
    return <p>{`${quantity(total, 'pass', 'passes')} ${total === 1 ? 'was' : 'were'} revoked.`}</p>;
  }
  const more = failures.length - MAX_FAILURES;
  return (
    <div>
      <strong>
        {`${failures.length.toLocaleString()} of ${quantity(total, 'pass', 'passes')} ${failures.length === 1 ? 'was' : 'were'} not revoked`}
      </strong>
      <ul>
        {failures.slice(0, MAX_FAILURES).map(({ pass, message }) => (
          <li key={pass.metadata.name} className="wrap-anywhere">
            <span className="mono">{pass.metadata.name}</span>: {message}
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </div>
  );
}
