interface PermissionsNoticeProps {
  /** Why they could not be read; `""` if they could. */
  readonly problem: string;
  /** Absent for the permissions in the fleet. */
  readonly where?: string;
}

/** Says that what is left out may be allowed. Absent without a problem. */
export const PermissionsNotice = ({ problem, where = '' }: PermissionsNoticeProps) =>
  problem === '' ? null : (
    <div className="notice page-notice" role="alert">
      <p className="wrap-anywhere">
        Your permissions{where} could not be read: {problem}
        <span className="muted hint"> What they allow may be missing here. They are read again in a moment.</span>
      </p>
    </div>
  );
