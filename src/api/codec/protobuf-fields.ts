/**
 * The field numbers of Kubernetes' protobuf messages (generated.proto of each API group), by the `goType` of a schema.
 * The types of the fields are in the schema. A type that is missing here cannot be sent as protobuf: 415.
 */
export const PROTOBUF_FIELDS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // meta/v1
  ObjectMeta: {
    name: 1,
    generateName: 2,
    namespace: 3,
    selfLink: 4,
    uid: 5,
    resourceVersion: 6,
    generation: 7,
    creationTimestamp: 8,
    deletionTimestamp: 9,
    deletionGracePeriodSeconds: 10,
    labels: 11,
    annotations: 12,
    ownerReferences: 13,
    finalizers: 14,
    managedFields: 17,
  },
  ManagedFieldsEntry: {
    manager: 1,
    operation: 2,
    apiVersion: 3,
    time: 4,
    fieldsType: 6,
    fieldsV1: 7,
    subresource: 8,
  },
  OwnerReference: { kind: 1, name: 3, uid: 4, apiVersion: 5, controller: 6, blockOwnerDeletion: 7 },
  LabelSelector: { matchLabels: 1, matchExpressions: 2 },
  LabelSelectorRequirement: { key: 1, operator: 2, values: 3 },
  DeleteOptions: {
    gracePeriodSeconds: 1,
    preconditions: 2,
    orphanDependents: 3,
    propagationPolicy: 4,
    dryRun: 5,
  },
  Preconditions: { uid: 1, resourceVersion: 2 },

  // authentication/v1
  TokenRequest: { metadata: 1, spec: 2, status: 3 },
  TokenRequestSpec: { audiences: 1, boundObjectRef: 3, expirationSeconds: 4 },
  BoundObjectReference: { kind: 1, apiVersion: 2, name: 3, uid: 4 },
  TokenRequestStatus: { token: 1, expirationTimestamp: 2 },
  // The status of a review is not read.
  SelfSubjectReview: { metadata: 1 },
  TokenReview: { metadata: 1, spec: 2 },
  TokenReviewSpec: { token: 1, audiences: 2 },

  // authorization/v1
  SelfSubjectAccessReview: { metadata: 1, spec: 2 },
  SelfSubjectAccessReviewSpec: { resourceAttributes: 1, nonResourceAttributes: 2 },
  SubjectAccessReview: { metadata: 1, spec: 2 },
  LocalSubjectAccessReview: { metadata: 1, spec: 2 },
  SubjectAccessReviewSpec: {
    resourceAttributes: 1,
    nonResourceAttributes: 2,
    user: 3,
    groups: 4,
    extra: 5,
    uid: 6,
  },
  ResourceAttributes: {
    namespace: 1,
    verb: 2,
    group: 3,
    version: 4,
    resource: 5,
    subresource: 6,
    name: 7,
    fieldSelector: 8,
    labelSelector: 9,
  },
  FieldSelectorAttributes: { rawSelector: 1, requirements: 2 },
  FieldSelectorRequirement: { key: 1, operator: 2, values: 3 },
  LabelSelectorAttributes: { rawSelector: 1, requirements: 2 },
  NonResourceAttributes: { path: 1, verb: 2 },
  SelfSubjectRulesReview: { metadata: 1, spec: 2 },
  SelfSubjectRulesReviewSpec: { namespace: 1 },

  // core/v1
  Namespace: { metadata: 1, spec: 2, status: 3 },
  NamespaceSpec: { finalizers: 1 },
  NamespaceStatus: { phase: 1 },
  ServiceAccount: { metadata: 1, secrets: 2, imagePullSecrets: 3, automountServiceAccountToken: 4 },
  ObjectReference: { kind: 1, namespace: 2, name: 3, uid: 4, apiVersion: 5 },
  LocalObjectReference: { name: 1 },
  Pod: { metadata: 1, spec: 2 },
  PodSpec: { serviceAccountName: 8, serviceAccount: 9, nodeName: 10 },
  Secret: { metadata: 1, data: 2, type: 3, stringData: 4, immutable: 5 },

  // rbac/v1
  ClusterRole: { metadata: 1, rules: 2, aggregationRule: 3 },
  AggregationRule: { clusterRoleSelectors: 1 },
  Role: { metadata: 1, rules: 2 },
  PolicyRule: { verbs: 1, apiGroups: 2, resources: 3, resourceNames: 4, nonResourceURLs: 5 },
  ClusterRoleBinding: { metadata: 1, subjects: 2, roleRef: 3 },
  RoleBinding: { metadata: 1, subjects: 2, roleRef: 3 },
  Subject: { kind: 1, apiGroup: 2, name: 3, namespace: 4 },
  RoleRef: { apiGroup: 1, kind: 2, name: 3 },
};
