import { CodeBlock } from '../components/code-block.tsx';
import { type AccessRequest, type AccessResult, isIssuingPass } from './access-review.ts';
import { GrantPath } from './grant-path.tsx';
import { requestCommand, requestLink } from './request-access.ts';

interface AccessResultCardProps {
  readonly request: AccessRequest;
  readonly result: AccessResult;
  /** The objects that would allow what is denied. */
  readonly manifest: string;
  /** The user may create access requests. */
  readonly mayRequest: boolean;
}

/** Allowed: the binding and the role. Denied: the role and the binding that would allow it. */
export function AccessResultCard({ request, result, manifest, mayRequest }: AccessResultCardProps) {
  const action = actionOf(request);
  if (result.allowed) {
    return (
      <section className="card access-result access-allowed" aria-label="Result">
        <h2>Yes, you can {action}</h2>
        {result.grant === undefined ? <p>{result.text}</p> : <GrantPath grant={result.grant} />}
      </section>
    );
  }
  return (
    <section className="card access-result access-denied" aria-label="Result">
      <h2>No, you cannot {action}</h2>
      <p>
        {result.text === ''
          ? 'No role binding grants you this permission.'
          : `No valid role binding grants you this permission: ${result.text}`}
      </p>
      {mayRequest && <AskForAccess request={request} />}
      <p>An administrator can apply this manifest to grant you exactly this permission:</p>
      <CodeBlock text={manifest} label="the manifest" />
    </section>
  );
}

function AskForAccess({ request }: { readonly request: AccessRequest }) {
  const link = requestLink(request);
  if (link !== undefined) {
    return (
      <a className="button" href={link}>
        Ask for access
      </a>
    );
  }
  return (
    <>
      <p>You can ask for it with this command:</p>
      <CodeBlock text={requestCommand(request)} label="the command" />
    </>
  );
}

function actionOf(request: AccessRequest): string {
  const { cluster, verb, group, resource, subresource, namespace, name } = request;
  if (cluster === undefined) return `see the cluster ${name}`;
  if (isIssuingPass(request)) return `get a pass for ${namespace}/${name} in ${cluster}`;
  const type = [resource, subresource].filter(Boolean).join('/') + (group === '' ? '' : `.${group}`);
  return [verb, type, name, namespace && `in the namespace ${namespace}`, `in ${cluster}`].filter(Boolean).join(' ');
}
