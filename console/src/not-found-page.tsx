import { EmptyState } from './components/empty-state.tsx';
import { hrefOf } from './router.ts';

export const NotFoundPage = ({ path }: { readonly path: string }) => (
  <div className="page-body">
    <EmptyState title="There is no such page" isPage>
      <p className="wrap-anywhere">
        The console has no page <span className="mono">{path}</span>.
      </p>
      <a className="button" href={hrefOf({ page: 'fleet', query: '' })}>
        Show all clusters
      </a>
    </EmptyState>
  </div>
);
