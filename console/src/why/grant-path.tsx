import type { Grant } from './explain.ts';

/** Who, through which binding, by which role: read from left to right. */
export function GrantPath({ grant }: { grant: Grant }) {
  const steps = [
    ...(grant.subject === '' ? [] : [{ title: 'You are', text: grant.subject }]),
    {
      title: grant.namespace === '' ? grant.bindingKind : `${grant.bindingKind} in ${grant.namespace}`,
      text: grant.binding,
    },
    { title: grant.roleKind, text: grant.role },
  ];
  return (
    <ol className="grant-path">
      {steps.map(({ title, text }) => (
        <li key={title}>
          <span className="muted">{title}</span>
          <span className="mono">{text}</span>
        </li>
      ))}
    </ol>
  );
}
