import type { Status } from '../api/status.ts';

/** The server refused. Carries its Status, which says why and, by `reason`, what can be done. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;
  /** Texts of the Warning headers of the same answer. */
  readonly warnings: readonly string[];

  constructor(status: Status, warnings: readonly string[] = []) {
    super(status.message ?? status.reason ?? `the server answered with ${status.code}`);
    this.status = status;
    this.warnings = warnings;
  }

  get code(): number {
    return this.status.code;
  }

  /** `NotFound`, `Forbidden`, `Expired`...; `""` when the server gave none. */
  get reason(): string {
    return this.status.reason ?? '';
  }
}

/** There was no answer, or none that could be read. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Whether it is only that the server's certificate is not trusted. */
  readonly isUntrusted: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isUntrusted?: boolean } = {}) {
    super(message, options);
    this.isUntrusted = options.isUntrusted === true;
  }
}

export const isStatus = (error: unknown, code: number): error is StatusError =>
  error instanceof StatusError && error.code === code;

const MAX_QUOTED = 200;

/** The Status in a body; a body that is none (a proxy's page, say) is put into one. */
export function statusFrom(code: number, text: string): Status {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && value.kind === 'Status') return { ...(value as unknown as Status), code };
  } catch {
    // Not JSON: quoted below.
  }
  const quoted = text
    .slice(0, MAX_QUOTED)
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim();
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `the server answered with ${code} and no Status${quoted === '' ? '' : `: ${quoted}`}`,
    code,
  };
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
