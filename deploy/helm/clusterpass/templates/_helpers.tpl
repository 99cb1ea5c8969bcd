{{- define "clusterpass.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* At most 52 characters: suffixes such as -manifests are added to it. */}}
{{- define "clusterpass.fullname" -}}
{{- $name := include "clusterpass.name" . -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{ .Values.fullnameOverride | default $full | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "clusterpass.selectorLabels" -}}
app.kubernetes.io/name: {{ include "clusterpass.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "clusterpass.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "clusterpass.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* metadata of an object: (list . "suffix of the name") */}}
{{- define "clusterpass.metadata" -}}
{{- $root := first . -}}
name: {{ include "clusterpass.fullname" $root }}{{ last . }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "clusterpass.labels" $root | nindent 2 }}
{{- end }}

{{- define "clusterpass.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (include "clusterpass.fullname" .) }}
{{- end }}

{{- define "clusterpass.image" -}}
{{- with .Values.image -}}
{{- $version := printf ":%s" (.tag | default $.Chart.AppVersion) -}}
{{ .repository }}{{ .digest | empty | ternary $version (printf "@%s" .digest) }}
{{- end -}}
{{- end }}

{{- define "clusterpass.keysSecret" -}}
{{ .Values.secrets.keys | default (printf "%s-keys" (include "clusterpass.fullname" .)) }}
{{- end }}

{{- define "clusterpass.tlsSecret" -}}
{{ .Values.secrets.tls | default (printf "%s-tls" (include "clusterpass.fullname" .)) }}
{{- end }}

{{- define "clusterpass.etcdSecret" -}}
{{ .Values.store.etcd.secretName | default (printf "%s-etcd" (include "clusterpass.fullname" .)) }}
{{- end }}

{{- define "clusterpass.metricsSecret" -}}
{{ .Values.serviceMonitor.tokenSecretName | default (printf "%s-metrics" (include "clusterpass.fullname" .)) }}
{{- end }}

{{/* Keys of the Secret for etcd, as YAML: keys: [...] */}}
{{- define "clusterpass.etcdKeys" -}}
{{- $keys := list "ca.crt" -}}
{{- if dig "clientCertificate" true .Values.store.etcd }}{{ $keys = concat $keys (list "tls.crt" "tls.key") }}{{ end -}}
{{- if .Values.store.etcd.username }}{{ $keys = append $keys "password" }}{{ end -}}
{{ dict "keys" $keys | toYaml }}
{{- end }}

{{/* Checks that values.schema.json cannot say with a clear message. */}}
{{- define "clusterpass.check" -}}
{{- if and (gt (int .Values.replicas) 1) (ne .Values.store.engine "etcd") -}}
{{- fail (printf "replicas: %d replicas need store.engine etcd; SQLite is for one pod" (int .Values.replicas)) -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (ge (int .Values.podDisruptionBudget.minAvailable) (int .Values.replicas)) -}}
{{- fail "podDisruptionBudget.minAvailable: must be below replicas, or no node could be drained" -}}
{{- end -}}
{{- $from := toDate "2006-01-02" "1970-01-01" -}}
{{- $until := dateModify (dig "shutdown-delay" "0s" .Values.config | toString) $from -}}
{{- $delay := sub (unixEpoch $until | int64) (unixEpoch $from | int64) -}}
{{- if le (int .Values.terminationGracePeriodSeconds) (add (int .Values.preStopSleepSeconds) $delay 25) -}}
{{- fail "terminationGracePeriodSeconds: must be above preStopSleepSeconds + config.shutdown-delay + 25, the time for requests in flight" -}}
{{- end -}}
{{- $set := dict
  "authentication-config" .Values.authenticationConfig
  "token-auth-file" .Values.tokenAuth.secretName
  "credentials-dir" .Values.credentials
  "manifests" .Values.manifests
-}}
{{- range $option, $value := $set -}}
{{- if and $value (hasKey $.Values.config $option) -}}
{{- fail (printf "config.%s: the chart sets it from another value; remove one of them" $option) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* clusterpass.yaml: options that follow from other values, then config. */}}
{{- define "clusterpass.options" -}}
{{- $baseUrl := required "baseUrl: set the public address, such as https://clusterpass.example.com" .Values.baseUrl -}}
{{- $options := dict
  "listen" "0.0.0.0:8443"
  "base-url" $baseUrl
  "data-dir" "/var/lib/clusterpass"
  "tls-cert-file" "/etc/clusterpass/tls/tls.crt"
  "tls-private-key-file" "/etc/clusterpass/tls/tls.key"
  "encryption-key-file" "/etc/clusterpass/keys/encryption.key"
-}}
{{- if eq .Values.store.engine "etcd" -}}
{{- with .Values.store.etcd -}}
{{- $prefix := .prefix | default "clusterpass" -}}
{{- $_ := set $options "store" (printf "etcd://%s/%s" (join "," .endpoints) $prefix) -}}
{{- $_ := set $options "etcd-cafile" "/etc/clusterpass/etcd/ca.crt" -}}
{{- if dig "clientCertificate" true . -}}
{{- $_ := set $options "etcd-certfile" "/etc/clusterpass/etcd/tls.crt" -}}
{{- $_ := set $options "etcd-keyfile" "/etc/clusterpass/etcd/tls.key" -}}
{{- end -}}
{{- with .username -}}
{{- $_ := set $options "etcd-username" . -}}
{{- $_ := set $options "etcd-password-file" "/etc/clusterpass/etcd/password" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- /* Audit logs are in the data directory and must not fill it: 5 GiB with SQLite, and 1 GiB with etcd. */ -}}
{{- $_ := set $options "audit-log-maxbackup" (eq .Values.store.engine "etcd" | ternary 1 20) -}}
{{- if eq .Values.store.engine "etcd" }}{{ $_ := set $options "audit-security-log-maxbackup" 4 }}{{ end -}}
{{- if .Values.authenticationConfig -}}
{{- $_ := set $options "authentication-config" "/etc/clusterpass/authentication/config.yaml" -}}
{{- end -}}
{{- if .Values.tokenAuth.secretName -}}
{{- $_ := set $options "token-auth-file" "/etc/clusterpass/token-auth/tokens.csv" -}}
{{- end -}}
{{- if .Values.credentials -}}
{{- $_ := set $options "credentials-dir" "/etc/clusterpass/credentials" -}}
{{- end -}}
{{- if .Values.manifests -}}
{{- $_ := set $options "manifests" "/etc/clusterpass/manifests" -}}
{{- end -}}
{{- /* Not merge, which takes 0 and false for missing. */ -}}
{{- range $option, $value := .Values.config }}{{ $_ := set $options $option $value }}{{ end -}}
{{ toYaml $options }}
{{- end }}
