import { useState } from 'react';
import type { Cluster } from '../../../src/client/index.ts';
import { Section } from '../components/section.tsx';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { LabelEditor } from '../labels/label-editor.tsx';
import { manifestFileOf } from '../manifest-file.ts';
import { CLUSTERS, type Permissions } from '../permissions/permissions.ts';
import { clusterPath } from './cluster-path.ts';
import { RemoveCluster } from './remove-cluster.tsx';
import { TerminatingCluster } from './terminating-cluster.tsx';

interface AdminSectionProps {
  readonly cluster: Cluster;
  readonly permissions: Permissions;
  /** The user has removed the cluster, which may have to wait for its finalizers. */
  readonly onRemoving: () => void;
}

/** What the user may change at this cluster. Absent for users who may change nothing. */
export function AdminSection({ cluster, permissions, onRemoving }: AdminSectionProps) {
  const { client } = useSession();
  const [task, setTask] = useState<'' | 'labels' | 'remove'>('');
  const focused = useFocusAfterChange(task);
  const { name, uid = '', labels = {}, resourceVersion, deletionTimestamp } = cluster.metadata;
  const mayEdit = permissions.can('patch', CLUSTERS, 'clusters');
  const mayRemove = permissions.can('delete', CLUSTERS, 'clusters');
  const isTerminating = deletionTimestamp !== undefined;
  const mayChange = mayEdit || mayRemove;
  // For finalizers and the origin.
  const whole = useQuery(
    String(mayChange),
    async () => (mayChange ? (await client.request<Cluster>('GET', clusterPath(name))).value : undefined),
    Number(resourceVersion),
  );
  const { metadata } = (whole.status === 'loaded' ? whole.value : undefined) ?? cluster;
  const manifest = manifestFileOf(metadata);
  if (!mayChange) return null;
  const done = (): void => setTask('');
  return (
    <Section title="Administration" focusRef={focused}>
      <ServerControls>
        {task === 'labels' && <LabelEditor cluster={cluster} onDone={done} />}
        {task === 'remove' && !isTerminating && (
          <RemoveCluster name={name} uid={uid} onRemoving={onRemoving} onCancel={done} />
        )}
        {isTerminating && <TerminatingCluster finalizers={metadata.finalizers ?? []} />}
        {task === '' && !isTerminating && (
          <>
            <p className="muted">
              {Object.keys(labels).length === 0
                ? 'This cluster has no labels.'
                : 'Bindings select clusters by their labels: a change can give and take access.'}
            </p>
            <div className="actions">
              {mayEdit && (
                <button type="button" className="button" onClick={() => setTask('labels')}>
                  Edit labels
                </button>
              )}
              {mayRemove && (
                <button type="button" className="button danger" onClick={() => setTask('remove')}>
                  Remove…
                </button>
              )}
            </div>
          </>
        )}
      </ServerControls>
      {manifest !== '' && (
        <p className="muted hint wrap-anywhere">
          The cluster comes from the manifest {manifest}. When the manifests are applied, labels that are set there are
          set back, and a removed cluster is registered again: change it there.
        </p>
      )}
    </Section>
  );
}
