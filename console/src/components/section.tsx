import { type ReactNode, type RefObject, useId } from 'react';

interface SectionProps {
  readonly title: string;
  /** On the right of the heading. */
  readonly action?: ReactNode;
  /** A section that can be focused by a script. */
  readonly focusRef?: RefObject<HTMLElement | null>;
  readonly children: ReactNode;
}

/** A card with a heading. */
export function Section({ title, action, focusRef, children }: SectionProps) {
  const id = useId();
  return (
    <section
      className="card section"
      aria-labelledby={id}
      {...(focusRef === undefined ? {} : { ref: focusRef, tabIndex: -1 })}
    >
      <header className="section-head">
        <h2 id={id}>{title}</h2>
        {action}
      </header>
      {children}
    </section>
  );
}

/** By name. */
export type Details = Readonly<Record<string, ReactNode>>;

export function DetailList({ details }: { details: Details }) {
  return (
    <dl className="detail-list">
      {Object.entries(details).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
