import { capi } from './capi.ts';
import { clusterprofile } from './cluster-profile.ts';
import type { ImportSource } from './import-source.ts';
import { ocm } from './ocm.ts';

export const IMPORT_SOURCES = ['capi', 'ocm', 'clusterprofile'] as const;
export type ImportFrom = (typeof IMPORT_SOURCES)[number];

export const SOURCES: Readonly<Record<ImportFrom, ImportSource>> = { capi, ocm, clusterprofile };
