import { option } from './option.ts';
import { baseUrl, integer, oneOf, path } from './values.ts';

/** Options of the audit log, of tracing and of the log. */
export const RECORD_OPTIONS = {
  auditLogPath: option(
    { value: 'FILE', parse: path, defaultText: '`<data-dir>/audit/audit.log`' },
    'Audit log: one line of JSON per request, as `audit.k8s.io/v1` events, except those of `--audit-security-log-path`. `/dev/null` disables it.',
  ),
  auditLogMaxsize: option(
    { value: 'MEGABYTES', parse: integer(1, 1_000_000), default: '100' },
    'Size at which each of the two logs is rotated.',
  ),
  auditLogMaxage: option(
    { value: 'DAYS', parse: integer(0, 36_500), default: '30' },
    'Days to keep rotated audit logs; `0` keeps them for ever. With a limit, each file covers at most one day.',
  ),
  auditLogMaxbackup: option(
    { parse: integer(0, 1_000_000), default: '50' },
    'Number of rotated audit logs to keep; `0` keeps all.',
  ),
  auditSecurityLogPath: option(
    { value: 'FILE', parse: path, defaultText: '`audit-security.log` beside `--audit-log-path`, or the same device' },
    'Audit log of issued tokens, revocations, and changes of RBAC objects, signing keys and clusters. No token is released before its line is on disk. `/dev/null` disables it.',
  ),
  auditSecurityLogMaxage: option(
    { value: 'DAYS', parse: integer(0, 36_500), default: '0' },
    'Days to keep rotated security logs; `0` keeps them for ever.',
  ),
  auditSecurityLogMaxbackup: option(
    { parse: integer(0, 1_000_000), default: '0' },
    'Number of rotated security logs to keep; `0` keeps all.',
  ),
  tracingEndpoint: option(
    { value: 'URL', parse: baseUrl },
    'OpenTelemetry collector that receives the spans of requests whose caller samples its trace (OTLP over HTTP, JSON), without the path `/v1/traces`, e.g. `http://127.0.0.1:4318`.',
  ),
  traceFile: option(
    { value: 'FILE', parse: path },
    'For tests: the steps of the protocols between replicas, as lines of JSON that a checker reads. Has the names of objects and no secrets; grows without bound.',
  ),
  logLevel: option(
    { value: 'LEVEL', parse: oneOf('debug', 'info', 'warn', 'error', 'silent'), default: 'info' },
    'Lowest severity that is logged: `debug`, `info`, `warn`, `error`, or `silent`.',
  ),
} as const;
