import type { ReactNode } from 'react';

/** Replaces content that does not exist: the title says why, the children offer what to do. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty" role="status">
      <strong>{title}</strong>
      {children}
    </div>
  );
}
