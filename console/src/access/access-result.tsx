import { CopyButton } from '../components/copy-button.tsx';
import { linkTo } from '../router.ts';
import type { AccessRequest, AccessResult } from './access-review.ts';
import { GrantPath } from './grant-path.tsx';
import { roleManifest } from './role-manifest.ts';

interface AccessResultCardProps {
  readonly request: AccessRequest;
  readonly result: AccessResult;
  readonly username: string;
  /** The user may create access requests. */
  readonly mayRequest: boolean;
}

/** Allowed: the binding and the role. Denied: the role and the binding that would allow it. */
export function AccessResultCard({ request, result, username, mayRequest }: AccessResultCardProps) {
  const action = actionOf(request);
  if (result.allowed) {
    return (
      <section className="card access-result access-allowed" aria-label="Result">
        <h2>Yes, you can {action}</h2>
        {result.grant === undefined ? <p>{result.text}</p> : <GrantPath grant={result.grant} />}
      </section>
    );
  }
  const manifest = roleManifest(request, username);
  return (
    <section className="card access-result access-denied" aria-label="Result">
      <h2>No, you cannot {action}</h2>
      <p>
        {result.text === ''
          ? 'No role binding grants you this permission.'
          : `No valid role binding grants you this permission: ${result.text}`}
      </p>
      {mayRequest && (
        <a className="button" href={requestLink(request)}>
          Ask for access
        </a>
      )}
      <p>An administrator can apply this manifest to grant you exactly this permission:</p>
      <div className="code">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it */}
        <pre tabIndex={0}>{manifest}</pre>
        <CopyButton text={manifest} label="the manifest" />
      </div>
    </section>
  );
}

/** The form asks for clusters and accounts only. */
const requestLink = ({ cluster, namespace, name, resource, subresource }: AccessRequest): string =>
  linkTo('requests', {
    cluster: cluster ?? name ?? '',
    account:
      cluster !== undefined && resource === 'serviceaccounts' && subresource === 'token' ? `${namespace}/${name}` : '',
  });

function actionOf({ cluster, verb, group, resource, subresource, namespace, name }: AccessRequest): string {
  if (cluster === undefined) return `see the cluster ${name}`;
  if (resource === 'serviceaccounts' && subresource === 'token' && verb === 'create') {
    return `get a pass for ${namespace}/${name} in ${cluster}`;
  }
  const type = [resource, subresource].filter(Boolean).join('/') + (group === '' ? '' : `.${group}`);
  return [verb, type, name, namespace && `in the namespace ${namespace}`, `in ${cluster}`].filter(Boolean).join(' ');
}
