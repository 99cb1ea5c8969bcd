import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { OBJECTIVES } from '../../bench/goals/slo.ts';
import { promtool as program } from '../../scripts/programs.ts';
import { describeWith } from '../describe-with.ts';

/** The alerts, evaluated by Prometheus. test/e2e/metrics.test.ts checks that their metrics exist. */

const RULES = fileURLToPath(new URL('../../deploy/prometheus/rules.yaml', import.meta.url));
const AT = 'job="clusterpass",instance="replica-1"';

interface Case {
  /** Series, each with its values a minute apart, in the notation of promtool. */
  readonly series: Readonly<Record<string, string>>;
  /** Default: those of the replica. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Default: warning. */
  readonly severity?: 'critical';
  readonly summary: string;
}

const installation = { job: 'clusterpass' };
const instance = { ...installation, instance: 'replica-1' };
/** Counters that grow by this much a minute. */
const grows = (by: number): string => `0+${by}x70`;
const stays = (value: number): string => `${value}x70`;

/** One request in ten takes longer than the objective. */
const slow = (labels: string, seconds: number): Record<string, string> => ({
  [`apiserver_request_duration_seconds_bucket{${AT},${labels},le="${seconds}"}`]: grows(90),
  [`apiserver_request_duration_seconds_bucket{${AT},${labels},le="${seconds * 2}"}`]: grows(100),
  [`apiserver_request_duration_seconds_bucket{${AT},${labels},le="+Inf"}`]: grows(100),
});

/** The series that make each alert fire. */
const FIRES: Readonly<Record<string, Case>> = {
  ClusterpassDown: {
    series: { 'up{job="clusterpass",instance="replica-1"}': stays(0) },
    labels: {},
    severity: 'critical',
    summary: 'No replica of Clusterpass can be scraped.',
  },
  ClusterpassReplicaDown: {
    series: { [`up{${AT}}`]: stays(0), 'up{job="clusterpass",instance="replica-2"}': stays(1) },
    summary: 'replica-1 cannot be scraped.',
  },
  ClusterpassAuditLogFailing: {
    series: { [`clusterpass_audit_log_failing{${AT}}`]: stays(1) },
    severity: 'critical',
    summary: 'replica-1 cannot write its audit log and issues no tokens.',
  },
  ClusterpassAuditLogSpaceLow: {
    series: {
      // 5 GiB, of which each hour takes one.
      [`clusterpass_audit_log_free_bytes{${AT},log="security"}`]: `5000000000-${Math.round(1e9 / 60)}x70`,
      [`clusterpass_audit_log_volume_bytes{${AT},log="security"}`]: stays(10e9),
      [`clusterpass_audit_log_free_bytes{${AT},log="requests"}`]: stays(5e9),
      [`clusterpass_audit_log_volume_bytes{${AT},log="requests"}`]: stays(10e9),
    },
    labels: { ...instance, log: 'security' },
    summary: 'The volume of the security log of replica-1 is nearly full, or will be in hours.',
  },
  ClusterpassCallersRefused: {
    series: { [`clusterpass_caller_file_failing{${AT},option="token-auth-file"}`]: stays(1) },
    labels: { ...instance, option: 'token-auth-file' },
    severity: 'critical',
    summary: 'replica-1 refuses the callers of --token-auth-file: the file is gone or invalid.',
  },
  ClusterpassCallerLinesRefused: {
    series: { [`clusterpass_caller_lines_refused{${AT}}`]: stays(2) },
    summary: 'replica-1 leaves out 2 lines of --token-auth-file, which have mistakes.',
  },
  ClusterpassManifestsFailing: {
    series: { [`clusterpass_manifest_problems{${AT}}`]: stays(3) },
    summary: '3 manifests of replica-1 are left out or cannot be written.',
  },
  ClusterpassCredentialUnusable: {
    series: { [`clusterpass_cluster_credentials{${AT},usable="False"}`]: stays(2) },
    labels: installation,
    summary: 'Clusterpass cannot use the credentials of 2 clusters: no passes for their accounts.',
  },
  ClusterpassConnectorLost: {
    series: { [`clusterpass_connectors{${AT},state="lost"}`]: stays(2) },
    labels: installation,
    summary: '2 connectors do not report: no passes for their clusters.',
  },
  ClusterpassApprovalsWaiting: {
    series: { [`clusterpass_waiting_approvals{${AT},resource="accessrequests"}`]: stays(1) },
    labels: { job: 'clusterpass', resource: 'accessrequests' },
    summary: '1 accessrequests wait for a decision.',
  },
  ClusterpassNotificationsFailing: {
    series: { [`clusterpass_notify_problems{${AT}}`]: stays(1) },
    labels: installation,
    summary: 'Notifications of clusterpass cannot be sent, or --notify-config cannot be used.',
  },
  ClusterpassIdentityProviderFailing: {
    series: { [`clusterpass_identity_provider_failing{${AT},issuer="https://id.example.com"}`]: stays(1) },
    labels: { ...instance, issuer: 'https://id.example.com' },
    summary: 'replica-1 cannot fetch the keys of https://id.example.com.',
  },
  ClusterpassAuditEventsLost: {
    series: { [`apiserver_audit_error_total{${AT}}`]: grows(1) },
    summary: 'replica-1 has lost audit events.',
  },
  ClusterpassLogLinesDropped: {
    series: { [`clusterpass_log_lines_dropped_total{${AT}}`]: grows(1) },
    summary: 'replica-1 has dropped log lines.',
  },
  ClusterpassTokensFailing: {
    series: {
      [`clusterpass_token_requests_total{${AT},cluster="a",result="failed"}`]: grows(6),
      [`clusterpass_token_requests_total{${AT},cluster="a",result="issued"}`]: grows(94),
    },
    labels: installation,
    severity: 'critical',
    summary: 'More than 5 % of the token requests to clusterpass fail.',
  },
  ClusterpassTokensSlow: {
    series: slow('verb="POST",scope="resource",subresource="token"', 0.2),
    labels: {},
    summary: 'The p99 of token requests is above 200 ms.',
  },
  ClusterpassReadsSlow: {
    series: slow('verb="GET",scope="resource",subresource=""', 0.1),
    labels: {},
    summary: 'The p99 of reads of one object is above 100 ms.',
  },
  ClusterpassListsSlow: {
    series: slow('verb="LIST",scope="cluster",subresource=""', 1),
    labels: {},
    summary: 'The p99 of lists is above 1 s.',
  },
  ClusterpassWritesSlow: {
    series: slow('verb="PATCH",scope="resource",subresource=""', 0.4),
    labels: {},
    summary: 'The p99 of writes of one object is above 400 ms.',
  },
  ClusterpassRequestsRejected: {
    series: {
      [`apiserver_flowcontrol_rejected_requests_total{${AT},priority_level="tokens",reason="queue-full"}`]: grows(20),
      [`apiserver_flowcontrol_dispatched_requests_total{${AT},priority_level="tokens"}`]: grows(80),
      [`apiserver_flowcontrol_rejected_requests_total{${AT},priority_level="reads",reason="queue-full"}`]: grows(1),
      [`apiserver_flowcontrol_dispatched_requests_total{${AT},priority_level="reads"}`]: grows(99),
    },
    labels: { priority_level: 'tokens' },
    summary: 'More than 10 % of requests at priority level tokens are refused with 429.',
  },
  ClusterpassStoreFailing: {
    series: { [`clusterpass_store_errors_total{${AT},operation="write"}`]: grows(1) },
    severity: 'critical',
    summary: 'The store of replica-1 returns errors.',
  },
  ClusterpassStoreSlow: {
    series: {
      [`clusterpass_store_request_duration_seconds_bucket{${AT},operation="write",le="0.5"}`]: grows(0),
      [`clusterpass_store_request_duration_seconds_bucket{${AT},operation="write",le="1"}`]: grows(10),
      [`clusterpass_store_request_duration_seconds_bucket{${AT},operation="write",le="+Inf"}`]: grows(10),
    },
    summary: 'The p99 of writes to the store of replica-1 is above half a second.',
  },
  ClusterpassCacheBehind: {
    series: {
      [`clusterpass_cache_ready{${AT}}`]: stays(1),
      [`clusterpass_cache_lag_seconds{${AT}}`]: stays(2),
    },
    severity: 'critical',
    summary: 'The watch cache of replica-1 is behind the store.',
  },
  ClusterpassCacheInconsistent: {
    series: {
      [`apiserver_storage_consistency_checks_total{${AT},group="",resource="pods",status="failure"}`]: grows(1),
      [`apiserver_storage_consistency_checks_total{${AT},group="",resource="pods",status="success"}`]: grows(1),
    },
    labels: { ...instance, resource: 'pods', status: 'failure' },
    summary: 'The watch cache of pods at replica-1 differed from the store.',
  },
  ClusterpassNoLeader: {
    series: {
      [`clusterpass_leader{${AT}}`]: stays(0),
      'clusterpass_leader{job="clusterpass",instance="replica-2"}': stays(0),
    },
    labels: installation,
    summary: 'The number of leaders of clusterpass is not one.',
  },
  ClusterpassEventLoopBlocked: {
    series: { [`nodejs_eventloop_lag_p99_seconds{${AT}}`]: stays(0.3) },
    summary: 'The event loop of replica-1 is blocked.',
  },
  ClusterpassSigningKeyOld: {
    series: {
      // A day and an hour ago, an hour after the start of the test.
      [`clusterpass_signing_key_rotation_timestamp_seconds{${AT},algorithm="RS256"}`]: stays(-86_400),
      [`clusterpass_signing_key_age_seconds{${AT},kid="k1",state="current",algorithm="RS256"}`]: stays(91 * 86_400),
    },
    labels: { ...instance, algorithm: 'RS256' },
    summary: 'The signing key for RS256 is overdue for rotation.',
  },
  ClusterpassFileDescriptorsLow: {
    series: { [`process_open_fds{${AT}}`]: stays(900), [`process_max_fds{${AT}}`]: stays(1000) },
    summary: 'replica-1 is running out of file descriptors.',
  },
  ClusterpassCertificateExpiring: {
    series: {
      [`clusterpass_tls_certificate_expiration_timestamp_seconds{${AT},option="etcd-certfile"}`]: stays(7 * 86_400),
    },
    labels: { ...instance, option: 'etcd-certfile' },
    summary: 'The certificate of --etcd-certfile at replica-1 expires within a week.',
  },
  ClusterpassClockSkew: {
    series: { [`clusterpass_clock_skew_exceeded{${AT}}`]: stays(1) },
    severity: 'critical',
    summary: 'The clock of replica-1 is wrong by more than --max-clock-skew, and it signs no tokens.',
  },
};

/** The series of a healthy server: no alert fires. */
const WELL: Readonly<Record<string, string>> = {
  'up{job="clusterpass",instance="replica-1"}': stays(1),
  [`clusterpass_audit_log_failing{${AT}}`]: stays(0),
  [`clusterpass_audit_log_free_bytes{${AT},log="security"}`]: stays(2e9),
  [`clusterpass_audit_log_volume_bytes{${AT},log="security"}`]: stays(10e9),
  [`clusterpass_caller_file_failing{${AT},option="token-auth-file"}`]: stays(0),
  [`clusterpass_caller_lines_refused{${AT}}`]: stays(0),
  [`clusterpass_manifest_problems{${AT}}`]: stays(0),
  [`clusterpass_cluster_credentials{${AT},usable="False"}`]: stays(0),
  [`clusterpass_connectors{${AT},state="lost"}`]: stays(0),
  [`clusterpass_waiting_approvals{${AT},resource="accessrequests"}`]: stays(0),
  [`clusterpass_notify_problems{${AT}}`]: stays(0),
  [`clusterpass_identity_provider_failing{${AT},issuer="https://id.example.com"}`]: stays(0),
  [`apiserver_audit_error_total{${AT}}`]: grows(0),
  [`clusterpass_log_lines_dropped_total{${AT}}`]: grows(0),
  [`clusterpass_token_requests_total{${AT},cluster="a",result="failed"}`]: grows(1),
  [`clusterpass_token_requests_total{${AT},cluster="a",result="issued"}`]: grows(99),
  ...Object.fromEntries(
    Object.values(OBJECTIVES).flatMap(({ seconds }, index) => {
      const [verb, subresource] =
        [
          ['POST', 'token'],
          ['GET', ''],
          ['LIST', ''],
          ['PATCH', ''],
        ][index] ?? [];
      const labels = `${AT},verb="${verb}",scope="${verb === 'LIST' ? 'cluster' : 'resource'}",subresource="${subresource}"`;
      return [String(seconds), '+Inf'].map((le) => [
        `apiserver_request_duration_seconds_bucket{${labels},le="${le}"}`,
        grows(100),
      ]);
    }),
  ),
  [`clusterpass_cache_ready{${AT}}`]: stays(1),
  [`clusterpass_cache_lag_seconds{${AT}}`]: stays(0.01),
  [`clusterpass_leader{${AT}}`]: stays(1),
  [`nodejs_eventloop_lag_p99_seconds{${AT}}`]: stays(0.02),
  // Less than --max-clock-skew, which may be minutes.
  [`clusterpass_clock_skew_seconds{${AT}}`]: stays(40),
  [`clusterpass_clock_skew_exceeded{${AT}}`]: stays(0),
  // Rotated every year.
  [`clusterpass_signing_key_age_seconds{${AT},kid="k1",state="current",algorithm="RS256"}`]: stays(300 * 86_400),
  [`clusterpass_signing_key_rotation_timestamp_seconds{${AT},algorithm="RS256"}`]: stays(65 * 86_400),
  [`clusterpass_tls_certificate_expiration_timestamp_seconds{${AT},option="tls-cert-file"}`]: stays(8 * 86_400),
};

/** Programs of the same Prometheus that serve metrics of these names: kube-apiserver, and others on Node. */
const ELSEWHERE = Object.fromEntries(
  Object.values(FIRES)
    .flatMap(({ series }) => Object.entries(series))
    .filter(([name]) => !name.startsWith('clusterpass_'))
    .map(([name, values]) => [name.replace('job="clusterpass"', 'job="apiserver"'), values]),
);

/** Another installation in the same Prometheus, in which all is well. */
const STAGING = Object.fromEntries(
  Object.entries(WELL).map(([name, values]) => [name.replace('job="clusterpass"', 'job="staging"'), values]),
);

/** When alerts that wait for longer than ten minutes are looked for. */
const EVALUATED_AT: Readonly<Record<string, string>> = {
  ClusterpassApprovalsWaiting: '40m',
  ClusterpassSigningKeyOld: '65m',
};

const rules = (parse(readFileSync(RULES, 'utf8')) as { groups: { rules: { alert: string }[] }[] }).groups.flatMap(
  (group) => group.rules.map(({ alert }) => alert),
);

it('every alert has a case that makes it fire', () => {
  expect(Object.keys(FIRES).sort()).toEqual([...rules].sort());
});

describeWith(program, 'Prometheus', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-alerts-'));
  });
  const promtool = (...args: string[]) => promisify(execFile)(program.path, args);

  it('accepts the rules', async () => {
    expect((await promtool('check', 'rules', RULES)).stdout).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  it('fires each alert for its series, with a sentence, and none for a healthy server', async () => {
    const seriesOf = (series: Readonly<Record<string, string>>) =>
      Object.entries(series).map(([name, values]) => ({ series: name, values }));
    const fires = Object.entries(FIRES).map(
      ([alertname, { series, labels = instance, severity = 'warning', summary }]) => ({
        interval: '1m',
        input_series: seriesOf({ ...series, ...STAGING }),
        alert_rule_test: [
          {
            eval_time: EVALUATED_AT[alertname] ?? '16m',
            alertname,
            exp_alerts: [{ exp_labels: { ...labels, severity }, exp_annotations: { summary } }],
          },
        ],
      }),
    );
    const withoutRotation = {
      interval: '1m',
      input_series: seriesOf({
        [`clusterpass_signing_key_age_seconds{${AT},kid="k1",state="current",algorithm="ES256"}`]: stays(201 * 86_400),
        ...STAGING,
      }),
      alert_rule_test: [
        {
          eval_time: '65m',
          alertname: 'ClusterpassSigningKeyOld',
          exp_alerts: [
            {
              exp_labels: { ...instance, algorithm: 'ES256', severity: 'warning' },
              exp_annotations: { summary: 'The signing key for ES256 is overdue for rotation.' },
            },
          ],
        },
      ],
    };
    const well = {
      interval: '1m',
      input_series: seriesOf(WELL),
      alert_rule_test: rules.map((alertname) => ({ eval_time: '65m', alertname, exp_alerts: [] })),
    };
    const elsewhere = { ...well, input_series: seriesOf({ ...WELL, ...STAGING, ...ELSEWHERE }) };
    const file = join(folder, 'alerts.yaml');
    const tests = {
      rule_files: [RULES],
      evaluation_interval: '1m',
      tests: [...fires, withoutRotation, well, elsewhere],
    };
    await writeFile(file, stringify(tests, { lineWidth: 0 }));
    const outcome = await promtool('test', 'rules', file).catch((error: { stdout?: string; stderr?: string }) => error);
    expect(`${outcome.stdout ?? ''}${outcome.stderr ?? ''}`).toContain('SUCCESS');
  });
});

it('the objectives of the benchmark are those of the page and of the alerts', () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/performance.md', import.meta.url)), 'utf8');
  for (const { name, seconds, rate } of Object.values(OBJECTIVES)) {
    const duration = seconds < 1 ? `${seconds * 1000} ms` : `${seconds} s`;
    expect(page).toContain(`at most ${duration} | ${rate}/s |`);
    expect(readFileSync(RULES, 'utf8')).toContain(`The p99 of ${name} is above ${duration}.`);
  }
});
