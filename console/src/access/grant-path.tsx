import type { Grant } from './access-review.ts';

/** The way from the user to the permission: subject, binding, role. */
export function GrantPath({ grant }: { grant: Grant }) {
  const steps = [
    ...(grant.subject === '' ? [] : [{ title: 'Subject', text: grant.subject }]),
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
