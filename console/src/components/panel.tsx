import { type ReactNode, useEffect, useId, useRef } from 'react';
import { ServerControls } from '../hooks/use-connected.tsx';
import { Problem } from './problem.tsx';

interface PanelProps {
  readonly title: string;
  /** Why it failed; `""` if it did not. */
  readonly problem?: string;
  readonly className?: string;
  readonly busy?: boolean;
  /** The button that does it. */
  readonly action: ReactNode;
  readonly onCancel: () => void;
  readonly children: ReactNode;
}

/** What is about to happen to an object. It takes the focus; *Cancel* gives it back to the button that opened it. */
export function Panel({ title, problem = '', className = '', busy = false, action, onCancel, children }: PanelProps) {
  const id = useId();
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
    <section className={`card section ${className}`} aria-labelledby={id}>
      <h2 id={id} ref={heading} tabIndex={-1} className="wrap-anywhere">
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
