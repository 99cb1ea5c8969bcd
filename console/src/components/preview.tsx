import type { ReactNode } from 'react';
import { Warnings } from './problem.tsx';

interface PreviewProps {
  readonly title: string;
  /** Why the server refuses what the form has; `""` if it does not. */
  readonly refusal: string;
  /** Shown with a refusal. */
  readonly help?: ReactNode;
  /** What has to be entered first. Default: nothing. */
  readonly missing?: string;
  /** Shown with what the server would do. */
  readonly warnings?: readonly string[];
  readonly isLoading: boolean;
  /** What the server would do. */
  readonly children: ReactNode;
}

/** The result of a dry run, beside the form that it is for. */
export const Preview = (props: PreviewProps) => (
  <div className={props.refusal === '' ? 'preview' : 'preview preview-failed'} aria-live="polite">
    <span className="preview-title">{props.title}</span>
    <PreviewContent {...props} />
  </div>
);

function PreviewContent({ refusal, help, missing = '', warnings = [], isLoading, children }: PreviewProps) {
  if (refusal !== '') {
    return (
      <>
        <p className="problem">{refusal}</p>
        {help}
      </>
    );
  }
  if (missing !== '') return <p className="muted">{missing}</p>;
  if (isLoading) return <p className="muted">Loading…</p>;
  return (
    <>
      {children}
      <Warnings texts={warnings} />
    </>
  );
}
