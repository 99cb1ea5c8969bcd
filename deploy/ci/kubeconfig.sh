#!/bin/sh
# Exchanges the ID token of a job for a pass (RFC 8693), and writes a kubeconfig with it, mode 0600. Needs curl and sed.
#
#   CLUSTERPASS_SERVER      the address of Clusterpass, which is also the audience of the ID token
#   CLUSTERPASS_CLUSTER     the cluster
#   CLUSTERPASS_NAMESPACE   namespace and name of the service account
#   CLUSTERPASS_ACCOUNT
#   CLUSTERPASS_TOKEN       the ID token, or
#   CLUSTERPASS_TOKEN_FILE  a file with it
#   CLUSTERPASS_SECONDS     lifetime of the pass, 3600 if it is not set
#   CLUSTERPASS_CA          a file with the CA of the server, unless the system trusts it
#   KUBECONFIG              the file to write
#
# Tokens reach curl on its standard input: the arguments of a process are visible to every user of the machine.
set -eu
umask 077
# Ranges such as a-z have other letters in some locales.
export LC_ALL=C

fail() {
  printf 'clusterpass: %s\n' "$1" >&2
  exit 1
}

for name in CLUSTERPASS_SERVER CLUSTERPASS_CLUSTER CLUSTERPASS_NAMESPACE CLUSTERPASS_ACCOUNT KUBECONFIG; do
  eval "value=\${$name:-}"
  [ -n "$value" ] || fail "$name is not set"
done
CLUSTERPASS_SERVER=${CLUSTERPASS_SERVER%/}
# The names become a part of YAML.
case "$CLUSTERPASS_CLUSTER$CLUSTERPASS_NAMESPACE$CLUSTERPASS_ACCOUNT" in
  *[!a-z0-9.-]*) fail 'names of clusters, namespaces and accounts have small letters, digits, dots and dashes only' ;;
esac
token=${CLUSTERPASS_TOKEN:-}
[ -n "$token" ] || token=$(cat "${CLUSTERPASS_TOKEN_FILE:?is not set, and neither is CLUSTERPASS_TOKEN}")
case "$token" in
  '' | *[!A-Za-z0-9._-]*) fail 'the ID token is not a JWT' ;;
esac

request() {
  curl --silent --show-error --fail-with-body --max-time 60 ${CLUSTERPASS_CA:+--cacert "$CLUSTERPASS_CA"} "$@"
}
# The value of a member of JSON that has no escaped characters. The server indents its answers to curl.
member() {
  tr -d '\n' | sed -n "s|.*\"$1\": *\"\\([^\"\\\\]*\\)\".*|\\1|p"
}

answer=$(printf '%s' "$token" | request "$CLUSTERPASS_SERVER/oauth/token" \
  --data-urlencode grant_type=urn:ietf:params:oauth:grant-type:token-exchange \
  --data-urlencode subject_token_type=urn:ietf:params:oauth:token-type:id_token \
  --data-urlencode subject_token@- \
  --data-urlencode "audience=$CLUSTERPASS_CLUSTER" \
  --data-urlencode "scope=serviceaccount:$CLUSTERPASS_NAMESPACE:$CLUSTERPASS_ACCOUNT" \
  --data-urlencode "expiration_seconds=${CLUSTERPASS_SECONDS:-3600}") || fail "no pass: $answer"
pass=$(printf '%s\n' "$answer" | member access_token)
[ -n "$pass" ] || fail 'the answer of the server has no access_token'
[ -z "${GITHUB_ACTIONS:-}" ] || printf '::add-mask::%s\n' "$pass"

# Address and CA of the cluster.
facts=$(printf 'header = "Authorization: Bearer %s"\n' "$token" | request --config - \
  "$CLUSTERPASS_SERVER/auth/v1/clusters/$CLUSTERPASS_CLUSTER/kubeconfig?as=$CLUSTERPASS_NAMESPACE/$CLUSTERPASS_ACCOUNT") ||
  fail "no address of the cluster: $facts"
server=$(printf '%s\n' "$facts" | member server)
ca=$(printf '%s\n' "$facts" | member certificate-authority-data)
[ -n "$server" ] || fail 'the answer of the server has no address of the cluster'

# A new file: one that is there may be readable by others.
cat > "$KUBECONFIG.$$" <<END
apiVersion: v1
kind: Config
clusters:
- name: "$CLUSTERPASS_CLUSTER"
  cluster:
    server: "$server"
    ${ca:+certificate-authority-data: $ca}
users:
- name: "$CLUSTERPASS_NAMESPACE:$CLUSTERPASS_ACCOUNT@$CLUSTERPASS_CLUSTER"
  user:
    token: "$pass"
contexts:
- name: "$CLUSTERPASS_CLUSTER"
  context:
    cluster: "$CLUSTERPASS_CLUSTER"
    user: "$CLUSTERPASS_NAMESPACE:$CLUSTERPASS_ACCOUNT@$CLUSTERPASS_CLUSTER"
    namespace: "$CLUSTERPASS_NAMESPACE"
current-context: "$CLUSTERPASS_CLUSTER"
END
mv -f "$KUBECONFIG.$$" "$KUBECONFIG"
printf 'clusterpass: %s has a pass of %s/%s for %s\n' \
  "$KUBECONFIG" "$CLUSTERPASS_NAMESPACE" "$CLUSTERPASS_ACCOUNT" "$CLUSTERPASS_CLUSTER" >&2
