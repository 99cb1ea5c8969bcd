import { useState } from 'react';
import { ListTable } from '../components/list-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Section } from '../components/section.tsx';
import { Age, Time } from '../components/time.tsx';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { CLUSTERPASS } from '../permissions/permissions.ts';
import { describeRotation, RotatePanel } from './rotate-panel.tsx';
import { listSigningKeys, publishedKeys, type SigningKey } from './signing-keys.ts';

/** The keys that sign passes, and whether relying parties find them in the key set. */
export function KeysSection() {
  const { client, permissions } = useSession();
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
      <Loaded query={keys}>
        {(value) => <KeyTable keys={value} published={published.status === 'loaded' ? published.value : undefined} />}
      </Loaded>
    </Section>
  );
}

interface KeyTableProps {
  readonly keys: readonly SigningKey[];
  readonly published: ReadonlySet<string> | undefined;
}

const planned = (at: string | undefined) =>
  at === undefined ? <span className="muted">not planned</span> : <Time at={at} />;

const KeyTable = ({ keys, published }: KeyTableProps) => (
  <ListTable
    rows={keys}
    keyOf={({ name }) => name}
    columns={[
      {
        title: 'State',
        cell: ({ state }) => <span className={`state state-${state.toLowerCase()}`}>{state}</span>,
      },
      {
        title: 'Key',
        isHeader: true,
        className: 'mono',
        cell: ({ name }) => <span title={name}>{name.slice(0, 12)}</span>,
      },
      { title: 'Algorithm', cell: ({ algorithm }) => algorithm },
      { title: 'Created', cell: ({ created }) => (created === undefined ? '' : <Age at={created} />) },
      { title: 'Signs from', cell: ({ signsFrom }) => planned(signsFrom) },
      { title: 'Published until', cell: ({ expires }) => planned(expires) },
      {
        title: 'In the key set',
        cell: ({ name }) =>
          published === undefined ? '' : published.has(name) ? 'yes' : <span className="problem">no</span>,
      },
    ]}
  />
);
