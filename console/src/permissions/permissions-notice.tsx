import type { UserPermissions } from './use-permissions.ts';

interface PermissionsNoticeProps extends Pick<UserPermissions, 'problem' | 'retry'> {
  /** Absent for the permissions in the fleet. */
  readonly where?: string;
}

/** Says that what is left out may be allowed. Absent without a problem. */
export function PermissionsNotice({ problem, retry, where = '' }: PermissionsNoticeProps) {
  if (problem === '') return null;
  return (
    <div className="notice page-notice" role="alert">
      <p className="wrap-anywhere">
        Your permissions{where} could not be read: {problem}
        <span className="muted hint"> What they allow may be missing here.</span>
      </p>
      <button type="button" className="button small" onClick={retry}>
        Retry
      </button>
    </div>
  );
}
