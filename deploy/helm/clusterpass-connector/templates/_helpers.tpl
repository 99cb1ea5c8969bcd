{{- define "connector.labels" -}}
app.kubernetes.io/name: clusterpass-connector
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* metadata of an object: (list . "namespace") */}}
{{- define "connector.metadata" -}}
{{- $root := first . -}}
name: clusterpass-connector
{{- with last . }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "connector.labels" $root | nindent 2 }}
{{- end }}

{{/* A binding of the role of the same name: (list . "Role" "namespace") */}}
{{- define "connector.binding" -}}
{{- $root := first . -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ index . 1 }}Binding
metadata:
  {{- include "connector.metadata" (list $root (last .)) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ index . 1 }}
  name: clusterpass-connector
subjects:
  - kind: ServiceAccount
    name: clusterpass-connector
    namespace: {{ $root.Release.Namespace }}
{{- end }}

{{/* connector.yaml */}}
{{- define "connector.configuration" -}}
{{- if and .Values.mirror.pods (not .Values.mirror.accounts) -}}
{{- fail "mirror.pods: a copy of a Pod needs that of its account: set mirror.accounts" -}}
{{- end -}}
{{- range .Values.allow -}}
{{- if eq .namespace $.Release.Namespace -}}
{{- fail "allow: the namespace of the connector cannot be allowed: a token of the connector could do all that it may" -}}
{{- end -}}
{{- end -}}
apiVersion: clusterpass.dev/v1alpha1
kind: ConnectorConfiguration
{{ pick .Values "orders" "revocable" "mirror" "allow" "people" | toYaml }}
{{- end }}
