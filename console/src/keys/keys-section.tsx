import { useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { Section } from '../components/section.tsx';
import { Age, Time } from '../components/time.tsx';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { CLUSTERPASS, type Permissions } from '../permissions/permissions.ts';
import { describeRotation, RotatePanel } from './rotate-panel.tsx';
import { listSigningKeys, publishedKeys, type SigningKey } from './signing-keys.ts';

/** The keys that sign passes, and whether relying parties find them in the key set. */
export function KeysSection({ client, permissions }: { client: Client; permissions: Permissions }) {
  const { generation } = useRefresh();
  const [rotations, setRotations] = useState(0);
  const [rotates, setRotates] = useState(false);
  const [outcome, setOutcome] = useState('');
  const focused = useFocusAfterChange(rotates);
  const keys = useQuery('', () => listSigningKeys(client), generation + rotations);
  const published = useQuery('', () => publishedKeys(client), generation + rotations);
  const mayRotate = permissions.can('create', CLUSTERPASS, 'signingkeys');
  return (
    <Section
      title="Signing keys"
      focusRef={focused}
      action={
        mayRotate &&
        !rotates && (
          <ServerControls>
            <button type="button" className="button small" onClick={() => setRotates(true)}>
              Rotate…
            </button>
          </ServerControls>
        )
      }
    >
      {rotates && (
        <ServerControls>
          <RotatePanel
            client={client}
            onCancel={() => setRotates(false)}
            onDone={(key) => {
              setOutcome(describeRotation(key));
              setRotates(false);
              setRotations((old) => old + 1);
            }}
          />
        </ServerControls>
      )}
      {outcome !== '' && (
        <p className="allowed" role="status">
          {outcome}
        </p>
      )}
      {keys.status === 'loading' && <p className="muted">Loading…</p>}
      {keys.status === 'failed' && <p className="problem">{keys.message}</p>}
      {keys.status === 'loaded' && (
        <KeyTable keys={keys.value} published={published.status === 'loaded' ? published.value : undefined} />
      )}
    </Section>
  );
}

interface KeyTableProps {
  readonly keys: readonly SigningKey[];
  readonly published: ReadonlySet<string> | undefined;
}

const KeyTable = ({ keys, published }: KeyTableProps) => (
  <table className="list">
    <thead>
      <tr>
        <th scope="col">State</th>
        <th scope="col">Key</th>
        <th scope="col">Algorithm</th>
        <th scope="col">Created</th>
        <th scope="col">Signs from</th>
        <th scope="col">Published until</th>
        <th scope="col">In the key set</th>
      </tr>
    </thead>
    <tbody>
      {keys.map((key) => (
        <tr key={key.name}>
          <td data-label="State">
            <span className={`state state-${key.state.toLowerCase()}`}>{key.state}</span>
          </td>
          <th scope="row" data-label="Key" className="mono" title={key.name}>
            {key.name.slice(0, 12)}
          </th>
          <td data-label="Algorithm">{key.algorithm}</td>
          <td data-label="Created">{key.created === undefined ? '' : <Age at={key.created} />}</td>
          <td data-label="Signs from">
            {key.signsFrom === undefined ? <span className="muted">not planned</span> : <Time at={key.signsFrom} />}
          </td>
          <td data-label="Published until">
            {key.expires === undefined ? <span className="muted">not planned</span> : <Time at={key.expires} />}
          </td>
          <td data-label="In the key set">
            {published === undefined ? '' : published.has(key.name) ? 'yes' : <span className="problem">no</span>}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
