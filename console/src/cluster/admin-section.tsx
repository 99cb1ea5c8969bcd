import { useState } from 'react';
import type { Client, Cluster } from '../../../src/client/index.ts';
import { Section } from '../components/section.tsx';
import { ServerControls } from '../hooks/use-connected.tsx';
import { LabelEditor } from '../labels/label-editor.tsx';
import { CLUSTERS, type Permissions } from '../permissions/permissions.ts';
import { RemoveCluster } from './remove-cluster.tsx';

interface AdminSectionProps {
  readonly client: Client;
  readonly cluster: Cluster;
  readonly permissions: Permissions;
}

/** What the user may change at this cluster. Absent for users who may change nothing. */
export function AdminSection({ client, cluster, permissions }: AdminSectionProps) {
  const [task, setTask] = useState<'' | 'labels' | 'remove'>('');
  const { name, labels = {} } = cluster.metadata;
  const mayEdit = permissions.can('patch', CLUSTERS, 'clusters');
  const mayRemove = permissions.can('delete', CLUSTERS, 'clusters');
  if (!mayEdit && !mayRemove) return null;
  const done = (): void => setTask('');
  return (
    <Section title="Administration">
      <ServerControls>
        {task === 'labels' && <LabelEditor client={client} cluster={cluster} onDone={done} />}
        {task === 'remove' && <RemoveCluster client={client} name={name} onCancel={done} />}
        {task === '' && (
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
    </Section>
  );
}
