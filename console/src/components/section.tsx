import { type ReactNode, useId } from 'react';

/** A card with a heading. `action` is on the right of the heading. */
export function Section({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section className="card section" aria-labelledby={id}>
      <header className="section-head">
        <h2 id={id}>{title}</h2>
        {action}
      </header>
      {children}
    </section>
  );
}

export interface Detail {
  readonly name: string;
  readonly value: ReactNode;
}

export function DetailList({ details }: { details: readonly Detail[] }) {
  return (
    <dl className="detail-list">
      {details.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
