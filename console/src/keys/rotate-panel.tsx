import { useState } from 'react';
import { Preview } from '../components/preview.tsx';
import { formatTime } from '../components/time.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { rotateKeys, type SigningKey } from './signing-keys.ts';

interface RotatePanelProps {
  readonly onDone: (key: SigningKey) => void;
  readonly onCancel: () => void;
}

/** A dry run says from when the next key signs. */
export function RotatePanel({ onDone, onCancel }: RotatePanelProps) {
  const { client } = useSession();
  const [force, setForce] = useState(false);
  const { busy, problem, run } = useAction();
  const preview = useQuery(String(force), () => rotateKeys(client, { force, dryRun: true }));
  const rotate = (): Promise<void> => run(async () => onDone(await rotateKeys(client, { force, dryRun: false })));
  const refusal = problem || (preview.status === 'failed' ? preview.message : '');
  return (
    <div className="stack rotate-panel">
      <label className="check">
        <input type="checkbox" checked={force} onChange={(event) => setForce(event.target.checked)} />
        <span>
          Sign with the new key at once
          <span className="muted hint">
            Clusters and services that have not fetched the key set yet refuse its passes until they do.
          </span>
        </span>
      </label>
      <Preview title="Dry run at the server" refusal={refusal} isLoading={preview.status === 'loading'}>
        {preview.status === 'loaded' && <p>{describeRotation(preview.value)}</p>}
      </Preview>
      <div className="actions">
        <button
          type="button"
          className="button primary"
          disabled={busy || preview.status !== 'loaded'}
          onClick={rotate}
        >
          {busy ? 'Rotating…' : force ? 'Rotate now' : 'Schedule the rotation'}
        </button>
        <button type="button" className="button quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </div>
  );
}

export const describeRotation = ({ state, signsFrom }: SigningKey): string =>
  state === 'Current'
    ? 'A new key signs from now on. The old one stays published until its last pass has expired.'
    : `The next key signs from ${signsFrom === undefined ? 'a time that is not planned' : formatTime(Date.parse(signsFrom))} on. The old one stays published until its last pass has expired.`;
