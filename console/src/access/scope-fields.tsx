import { type ClustersField, clustersText } from '../../../src/api/clusters-field.ts';
import { FieldProblem } from '../components/form.tsx';
import { Segments, TextField } from '../components/text-field.tsx';
import { describeLocalTime } from '../components/time.tsx';
import { useClusterNames } from '../hooks/use-cluster-names.ts';
import type { GrantScope } from './grant-manifest.ts';

interface ScopeFieldsProps {
  readonly scope: GrantScope;
  readonly onChange: (part: Partial<GrantScope>) => void;
}

/** Where and until when a binding holds. */
export function ScopeFields({ scope, onChange }: ScopeFieldsProps) {
  const clusterNames = useClusterNames();
  return (
    <>
      <Segments
        legend="Where"
        value={scope.where}
        options={{ labels: 'By label', cluster: 'By name', all: 'All clusters' }}
        onChange={(where) => onChange({ where })}
      />
      {scope.where === 'labels' && (
        <TextField
          label="Labels"
          field="spec.clusters"
          value={scope.labels}
          placeholder="env=dev,region in (eu,us)"
          hint="The grant holds in clusters with all of these labels, also in those that get them later."
          onChange={(labels) => onChange({ labels })}
        />
      )}
      {scope.where === 'cluster' && (
        <TextField
          label="Clusters"
          field="spec.clusters"
          value={scope.cluster}
          hint="Names, separated by commas."
          suggestions={clusterNames}
          onChange={(cluster) => onChange({ cluster })}
        />
      )}
      <label className="field">
        <span className="field-label">Until</span>
        <input
          type="datetime-local"
          step={60}
          value={scope.until}
          onChange={(event) => onChange({ until: event.target.value })}
        />
        <span className="muted hint">
          {scope.until === '' ? 'Empty: until the binding is deleted.' : describeLocalTime(scope.until)}
        </span>
        <FieldProblem field="spec.expiresAt" />
      </label>
    </>
  );
}

export const SCOPE_FIELDS = ['spec.clusters', 'spec.expiresAt'];

/** The fields for the scope that a binding has. */
export const scopeOf = ({ clusters, expiresAt }: { clusters: ClustersField; expiresAt: string }): GrantScope => ({
  where: clusters.all === true ? 'all' : clusters.names === undefined ? 'labels' : 'cluster',
  labels: clusters.selector === undefined ? '' : clustersText(clusters),
  cluster: clusters.names?.join(',') ?? '',
  until: expiresAt === '' ? '' : localTimeOf(new Date(expiresAt)),
});

/** As in an `<input type="datetime-local">`. */
const localTimeOf = (time: Date): string =>
  new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
