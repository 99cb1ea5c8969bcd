import { createContext, type ReactNode, useContext } from 'react';
import { type Failure, NO_FAILURE } from '../error-message.ts';
import { ServerControls } from '../hooks/use-connected.tsx';

const Causes = createContext(NO_FAILURE.causes);

const isAt = (field: string, path = ''): boolean => field !== '' && path.includes(field);

/** What the server says about a field; `""` if nothing. `field`: a part of its path in the object. */
export function useFieldProblem(field = ''): string {
  const messages = useContext(Causes).flatMap(({ field: path, message = '' }) => (isAt(field, path) ? [message] : []));
  // An address is in the object once for IPv4 and once for IPv6.
  return [...new Set(messages)].join('; ');
}

/** A line below a field that the server refuses. */
export function FieldProblem({ field }: { readonly field: string | undefined }) {
  const text = useFieldProblem(field);
  return text === '' ? null : <p className="problem hint wrap-anywhere">{text}</p>;
}

/** The message of a failure, without what `fields` of the form show themselves. */
export function restOf({ message, causes }: Failure, fields: readonly string[]): string {
  const rest = causes.filter(({ field: path }) => !fields.some((field) => isAt(field, path)));
  if (causes.length === 0 || message === '') return message;
  if (rest.length === 0) return 'The server refuses the fields that are marked.';
  return rest.map(({ field = '', message: text = '' }) => `${field}: ${text}`).join('; ');
}

interface FormProps {
  readonly id?: string;
  readonly className?: string;
  readonly busy?: boolean;
  readonly failure?: Failure;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}

/** The fields of a form, each with what the server says about it. */
export const Form = ({ id, className = 'stack', busy, failure = NO_FAILURE, onSubmit, children }: FormProps) => (
  <ServerControls>
    <form
      id={id}
      className={className}
      aria-busy={busy}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <Causes value={failure.causes}>{children}</Causes>
    </form>
  </ServerControls>
);
