import { Component, type ReactNode, Suspense } from 'react';
import { EmptyState } from './components/empty-state.tsx';
import { PageLoadError } from './lazy-page.tsx';

interface PageBoundaryProps {
  /** The URL fragment. Another one shows a page again. */
  readonly hash: string;
  readonly children: ReactNode;
}

interface PageBoundaryState {
  /** Why the page cannot be rendered; undefined if it can. */
  readonly problem: unknown;
}

/** An error in a page leaves the navigation as it is. A class, because React has no hook for it. */
export class PageBoundary extends Component<PageBoundaryProps, PageBoundaryState> {
  override readonly state: PageBoundaryState = { problem: undefined };

  static getDerivedStateFromError(error: unknown): PageBoundaryState {
    return { problem: error ?? 'unknown' };
  }

  override componentDidUpdate(before: PageBoundaryProps): void {
    if (this.state.problem !== undefined && before.hash !== this.props.hash) this.#reload();
  }

  /** Not of the document: that would end a session whose token is only in memory. */
  readonly #reload = (): void => this.setState({ problem: undefined });

  override render(): ReactNode {
    const { problem } = this.state;
    if (problem === undefined) return <Suspense fallback={<Loading />}>{this.props.children}</Suspense>;
    if (problem instanceof PageLoadError) {
      return (
        <div className="page-body">
          <EmptyState title="This page could not be loaded" isPage>
            <p>
              The server cannot be reached, or has been upgraded since you opened the console. Load the console again: a
              session whose token is only in memory ends with that.
            </p>
            <button type="button" className="button" onClick={() => location.reload()}>
              Load the console again
            </button>
          </EmptyState>
        </div>
      );
    }
    return (
      <div className="page-body">
        <EmptyState title="This page cannot be shown" isPage>
          <p className="wrap-anywhere">{String(problem)}</p>
          <button type="button" className="button" onClick={this.#reload}>
            Reload the page
          </button>
        </EmptyState>
      </div>
    );
  }
}

const Loading = () => (
  <div className="page-body" role="status" aria-busy="true">
    <span className="visually-hidden">Loading the page</span>
  </div>
);
