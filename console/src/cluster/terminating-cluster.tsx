/** What a cluster that is being deleted waits for. Users who see only its public view do not see its finalizers. */
export const TerminatingCluster = ({ finalizers }: { readonly finalizers: readonly string[] }) => (
  <>
    <p role="status">
      {finalizers.length === 0
        ? 'The cluster is being removed. It waits for its finalizers, or for the objects inside it.'
        : 'The cluster is being removed. It waits until its controllers have removed these finalizers:'}
    </p>
    {finalizers.length > 0 && (
      <ul className="bullets mono wrap-anywhere">
        {finalizers.map((finalizer) => (
          <li key={finalizer}>{finalizer}</li>
        ))}
      </ul>
    )}
  </>
);
