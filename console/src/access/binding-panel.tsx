import { type ReactNode, useEffect, useRef } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { Problem } from '../components/problem.tsx';
import { ServerControls } from '../hooks/use-connected.tsx';
import type { Binding } from './bindings.ts';

export interface BindingPanelProps {
  readonly client: Client;
  readonly binding: Binding;
  readonly clusterNames: readonly string[];
  readonly onCancel: () => void;
  readonly onDone: () => void;
}

interface PanelProps {
  readonly title: string;
  readonly problem: string;
  readonly className?: string;
  readonly busy: boolean;
  /** The button that does it. */
  readonly action: ReactNode;
  readonly onCancel: () => void;
  readonly children: ReactNode;
}

/** What is about to happen to a binding. It takes the focus; *Cancel* gives it back to the button that opened it. */
export function Panel({ title, problem, className = '', busy, action, onCancel, children }: PanelProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const opener = useRef<Element>(null);
  useEffect(() => {
    opener.current = document.activeElement;
    heading.current?.focus();
  }, []);
  const cancel = (): void => {
    if (opener.current instanceof HTMLElement) opener.current.focus();
    onCancel();
  };
  return (
    <section className={`card section ${className}`} aria-labelledby="binding-panel-title">
      <h2 id="binding-panel-title" ref={heading} tabIndex={-1} className="wrap-anywhere">
        {title}
      </h2>
      {children}
      <Problem text={problem} />
      <ServerControls>
        <div className="actions">
          {action}
          <button type="button" className="button quiet" disabled={busy} onClick={cancel}>
            Cancel
          </button>
        </div>
      </ServerControls>
    </section>
  );
}
