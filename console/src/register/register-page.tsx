import { memo, useState } from 'react';
import { namePart } from '../../../src/api/name-part.ts';
import { reviewClusterGrants } from '../../../src/client/access-reviews.ts';
import { FULL_CLUSTERS } from '../../../src/client/list-clusters.ts';
import { CaFingerprints } from '../certificates/ca-fingerprints.tsx';
import { BackLink } from '../components/back-link.tsx';
import { Form } from '../components/form.tsx';
import { Preview } from '../components/preview.tsx';
import { DetailList, Section } from '../components/section.tsx';
import { TextField } from '../components/text-field.tsx';
import { GrantChanges } from '../grants/grant-changes.tsx';
import { useCheckedForm } from '../hooks/use-checked-form.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { LabelFields } from '../labels/label-fields.tsx';
import { hrefOf } from '../router.ts';
import { createObject } from '../write-object.ts';
import { type ClusterDraft, caBundleOf, draftedCluster, labelsOf, missingField, NEW_CLUSTER } from './cluster-draft.ts';
import { KubeconfigInput } from './kubeconfig-input.tsx';

const FIELDS = ['metadata.name', 'serverAddress', 'caBundle', 'clientCIDR', 'metadata.labels'];

/** Registers a cluster. A dry run at the server checks the fields while they are entered. */
export const RegisterPage = memo(function RegisterPage() {
  const { client } = useSession();
  const [draft, setDraft] = useState(NEW_CLUSTER);
  // The page of the cluster opens after the action has ended: until then the form must not be sent again.
  const [isRegistered, setRegistered] = useState(false);
  const change = (part: Partial<ClusterDraft>): void => setDraft((old) => ({ ...old, ...part }));
  const missing = missingField(draft);
  const create = (options: { readonly dryRun?: 'All'; readonly signal?: AbortSignal } = {}) =>
    createObject(client, FULL_CLUSTERS, draftedCluster(draft, client.productName), options);
  const form = useCheckedForm({
    content: missing === '' ? JSON.stringify(draft) : '',
    dryRun: (signal) => create({ dryRun: 'All', signal }),
    fields: FIELDS,
  });
  const isSent = form.busy || isRegistered;
  const grants = useQuery(form.checked, async (signal) =>
    form.checked === '' ? undefined : reviewClusterGrants(client, draft.name, labelsOf(draft.labels), signal),
  );
  const submit = async (): Promise<void> => {
    if (!form.isAccepted || isSent) return;
    await form.run(async () => {
      await create();
      setRegistered(true);
      location.hash = hrefOf({ page: 'cluster', name: draft.name });
    });
  };
  return (
    <div className="page-body">
      <BackLink />
      <h1 className="page-title">Register a cluster</h1>
      <div className="columns two">
        <Section title="Cluster">
          <KubeconfigInput
            onEntry={({ context, server, ca }) =>
              change({ address: server, ca, ...(draft.name === '' ? { name: suggestedName(context) } : {}) })
            }
          />
          <Form id="register" failure={form.failure} busy={isSent} onSubmit={submit}>
            <TextField
              label="Name"
              field="metadata.name"
              value={draft.name}
              placeholder="prod-eu-1"
              hint="In paths and in passes. It cannot be changed."
              onChange={(name) => change({ name })}
            />
            <TextField
              label="Address of the API server"
              field="serverAddress"
              value={draft.address}
              placeholder="https://api.prod-eu-1.example.com:6443"
              onChange={(address) => change({ address })}
            />
            <TextField
              label="CA certificate (PEM)"
              field="caBundle"
              value={draft.ca}
              rows={4}
              placeholder="-----BEGIN CERTIFICATE-----"
              hint="Empty if a public authority signed the certificate of the server."
              onChange={(ca) => change({ ca })}
            />
            <TextField
              label="Networks of clients"
              field="clientCIDR"
              value={draft.clientCidrs}
              placeholder="All, or a comma-separated list such as 10.0.0.0/8"
              onChange={(clientCidrs) => change({ clientCidrs })}
            />
            <LabelFields labels={draft.labels} onLabels={(labels) => change({ labels })} />
          </Form>
        </Section>
        <div className="column">
          <Section title="Check">
            <Preview
              title="Dry run at the server"
              refusal={form.refusal}
              missing={missing}
              warnings={form.warnings}
              isLoading={!form.isAccepted}
            >
              <p className="allowed">The server accepts the name, the address, the CA and the labels.</p>
            </Preview>
            <DetailList details={{ 'CA fingerprint': <CaFingerprints caBundle={caBundleOf(draft)} /> }} />
            <p className="muted hint">
              Clusterpass connects to the cluster after it is registered, if probing is on. Its condition Ready then
              says whether it answers with a certificate of this CA.
            </p>
            <ServerControls>
              <button
                type="submit"
                form="register"
                className="button primary wide"
                disabled={!form.isAccepted || isSent}
              >
                {isSent ? 'Registering…' : 'Register the cluster'}
              </button>
            </ServerControls>
          </Section>
          <Section title="Who will reach it">
            {form.isAccepted ? (
              <GrantChanges query={grants} isNew />
            ) : (
              <p className="muted">
                Bindings select clusters by name and labels. They are shown when the fields are complete.
              </p>
            )}
          </Section>
        </div>
      </div>
    </div>
  );
});

/** Contexts of clouds are paths and addresses: the last part is the name of the cluster. */
const suggestedName = (context: string): string => namePart(context.split(/[/@:]/).at(-1) ?? '', 63);
