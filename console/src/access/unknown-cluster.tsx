import { useSynced } from '../hooks/use-cluster-names.ts';

/**
 * In place of an answer about a cluster that the user does not see. The server answers for any name, without the
 * bindings that select clusters by label: the answer for a misspelled name would be too short.
 */
export const UnknownCluster = ({ name }: { readonly name: string }) => (
  <p className="muted wrap-anywhere" role="status">
    {useSynced() ? `You see no cluster ${name}.` : 'Loading…'}
  </p>
);
