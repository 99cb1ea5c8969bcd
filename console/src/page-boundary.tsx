import { Component, type ReactNode } from 'react';
import { EmptyState } from './components/empty-state.tsx';

interface PageBoundaryProps {
  /** The URL fragment. Another one shows a page again. */
  readonly hash: string;
  readonly children: ReactNode;
}

interface PageBoundaryState {
  /** Why the page cannot be rendered; undefined if it can. */
  readonly problem: string | undefined;
}

/** An error in a page leaves the navigation as it is. A class, because React has no hook for it. */
export class PageBoundary extends Component<PageBoundaryProps, PageBoundaryState> {
  override readonly state: PageBoundaryState = { problem: undefined };

  static getDerivedStateFromError(error: unknown): PageBoundaryState {
    return { problem: String(error) };
  }

  override componentDidUpdate(before: PageBoundaryProps): void {
    if (this.state.problem !== undefined && before.hash !== this.props.hash) this.#reload();
  }

  /** Not of the document: that would end a session whose token is only in memory. */
  readonly #reload = (): void => this.setState({ problem: undefined });

  override render(): ReactNode {
    const { problem } = this.state;
    if (problem === undefined) return this.props.children;
    return (
      <div className="page-body">
        <EmptyState title="This page cannot be shown">
          <p className="wrap-anywhere">{problem}</p>
          <button type="button" className="button" onClick={this.#reload}>
            Reload the page
          </button>
        </EmptyState>
      </div>
    );
  }
}
