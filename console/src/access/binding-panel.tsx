import { type ReactNode, useEffect, useRef } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { Problem } from '../components/problem.tsx';
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
  readonly children: ReactNode;
}

/** What is about to happen to a binding. It takes the focus, and gives it back to the button that opened it. */
export function Panel({ title, problem, className = '', children }: PanelProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    heading.current?.focus();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <section className={`card section ${className}`} aria-labelledby="binding-panel-title">
      <h2 id="binding-panel-title" ref={heading} tabIndex={-1} className="wrap-anywhere">
        {title}
      </h2>
      {children}
      <Problem text={problem} />
    </section>
  );
}
