import type { ReactNode } from 'react';

/** Replaces content, or the whole page, that does not exist: the title says why, the children offer what to do. */
export function EmptyState({ title, isPage, children }: { title: string; isPage?: true; children?: ReactNode }) {
  const Title = isPage ? 'h1' : 'strong';
  return (
    <div className="empty" role="status">
      <Title>{title}</Title>
      {children}
    </div>
  );
}
