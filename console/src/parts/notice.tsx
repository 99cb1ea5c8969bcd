import type { ReactNode } from 'react';

export type Tone = 'info' | 'good' | 'warning' | 'bad';

/** Something the person should know. Bad news interrupts a reader of screens, the rest waits for its turn. */
export function Notice({ tone, title, children }: { tone: Tone; title: string; children?: ReactNode }) {
  return (
    <div className={`notice notice-${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <strong>{title}</strong>
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

/** A place where there is nothing to show, with what can be done about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty" role="status">
      <strong>{title}</strong>
      {children}
    </div>
  );
}
