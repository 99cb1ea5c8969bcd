import type { TProperties } from 'typebox';
import type { VirtualType } from '../kind.ts';
import { kindSchema } from './meta.ts';

/** The group of the kinds that Kubernetes has no counterpart for. */
export const CLUSTERPASS_GROUP = 'clusterpass.dev';
export const SERVER_API = { group: CLUSTERPASS_GROUP, version: 'v1alpha1' } as const;

/** What the kinds of Clusterpass have in common, if they do not say otherwise. */
export const serverKind = { ...SERVER_API, style: 'custom', inCluster: false, namespaced: false } as const;

/** A type whose objects are answered and never stored. */
export const virtualType = <P extends TProperties>(
  api: Pick<VirtualType, 'group' | 'version'>,
  kind: string,
  description: string,
  fields: P,
  { namespaced = false } = {},
) => ({ ...api, style: 'builtin', namespaced, ...kindSchema(kind, description, fields) }) satisfies VirtualType;
