{{/* A source of the projected volume: (list "secret" NAME FOLDER KEYS) */}}
{{- define "clusterpass.source" -}}
{{- $folder := index . 2 -}}
- {{ index . 0 }}:
    name: {{ index . 1 }}
    items:
      {{- range index . 3 }}
      - key: {{ . }}
        path: {{ $folder }}{{ . }}
      {{- end }}
{{- end }}

{{/* What /etc/clusterpass consists of. */}}
{{- define "clusterpass.sources" -}}
{{ include "clusterpass.source" (list "configMap" (include "clusterpass.fullname" .) "" (list "clusterpass.yaml")) }}
{{ include "clusterpass.source" (list "secret" (include "clusterpass.tlsSecret" .) "tls/" (list "tls.crt" "tls.key")) }}
{{ include "clusterpass.source" (list "secret" (include "clusterpass.keysSecret" .) "keys/" (list "encryption.key")) }}
{{- if eq .Values.store.engine "etcd" }}
{{- $keys := (include "clusterpass.etcdKeys" . | fromYaml).keys }}
{{ include "clusterpass.source" (list "secret" (include "clusterpass.etcdSecret" .) "etcd/" $keys) }}
{{- end }}
{{- if .Values.authenticationConfig }}
- configMap:
    name: {{ include "clusterpass.fullname" . }}
    items:
      - key: authentication.yaml
        path: authentication/config.yaml
{{- end }}
{{- with .Values.tokenAuth.secretName }}
- secret:
    name: {{ . }}
    items:
      - key: {{ $.Values.tokenAuth.key }}
        path: token-auth/tokens.csv
{{- end }}
{{- range .Values.credentials }}
{{ include "clusterpass.source" (list "secret" .secretName (printf "credentials/%s/%s/" .namespace .name) .keys) }}
{{- end }}
{{- with .Values.manifests }}
{{- $name := printf "%s-manifests" (include "clusterpass.fullname" $) }}
{{ include "clusterpass.source" (list "configMap" $name "manifests/" (keys . | sortAlpha)) }}
{{- end }}
{{- end }}
