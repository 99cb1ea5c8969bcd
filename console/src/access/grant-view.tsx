import { useState } from 'react';
import { CodeBlock } from '../components/code-block.tsx';
import { Form } from '../components/form.tsx';
import { Preview } from '../components/preview.tsx';
import { Section } from '../components/section.tsx';
import { SelectField, TextField } from '../components/text-field.tsx';
import { useCheckedForm } from '../hooks/use-checked-form.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { createGrant, tryGrant } from './create-grant.ts';
import { GrantEffect } from './grant-effect.tsx';
import { type GrantDraft, grantObjects, missingInGrant, NEW_GRANT } from './grant-manifest.ts';
import { manifestText } from './manifest-text.ts';
import { SCOPE_FIELDS, ScopeFields } from './scope-fields.tsx';

const FIELDS = ['spec.subjects', ...SCOPE_FIELDS];

/** A form for the common grants. It shows the objects that it creates, and what they change. */
export function GrantView() {
  const { client } = useSession();
  const [draft, setDraft] = useState(NEW_GRANT);
  const [done, setDone] = useState('');
  const change = (part: Partial<GrantDraft>): void => {
    setDone('');
    setDraft((old) => ({ ...old, ...part }));
  };
  const missing = missingInGrant(draft);
  const objects = missing === '' ? grantObjects(draft) : [];
  const form = useCheckedForm({
    content: missing === '' ? JSON.stringify(draft) : '',
    dryRun: () => tryGrant(client, objects),
    fields: FIELDS,
  });
  const yaml = useQuery(form.checked, async () => (form.checked === '' ? '' : manifestText(objects)));
  const apply = async (): Promise<void> => {
    if (!form.isAccepted) return;
    await form.run(async () => {
      await createGrant(client, objects);
      setDone(`Created ${objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(' and ')}.`);
    });
  };
  return (
    <div className="columns two">
      <Section title="Grant">
        <Form id="grant" failure={form.failure} busy={form.busy} onSubmit={apply}>
          <GrantFields draft={draft} onChange={change} />
        </Form>
      </Section>
      <div className="column">
        <Section title="What it changes">
          <Preview
            title="Dry run at the server"
            refusal={form.refusal}
            missing={missing}
            warnings={done === '' ? form.warnings : []}
            isLoading={done === '' && !form.isCurrent}
          >
            {done === '' ? <GrantEffect draft={draft} /> : <p className="allowed">{done}</p>}
          </Preview>
          <ServerControls>
            <button
              type="submit"
              form="grant"
              className="button primary wide"
              disabled={!form.isAccepted || form.busy || done !== ''}
            >
              {form.busy ? 'Applying…' : 'Apply'}
            </button>
          </ServerControls>
        </Section>
        {yaml.status === 'loaded' && yaml.value !== '' && (
          <Section title="Objects">
            <CodeBlock text={yaml.value} label="the objects" />
          </Section>
        )}
      </div>
    </div>
  );
}

interface GrantFieldsProps {
  readonly draft: GrantDraft;
  readonly onChange: (part: Partial<GrantDraft>) => void;
}

function GrantFields({ draft, onChange }: GrantFieldsProps) {
  return (
    <>
      <div className="field-row">
        <SelectField
          label="To"
          value={draft.subjectKind}
          options={{ Group: 'Group', User: 'User' }}
          onChange={(kind) => onChange({ subjectKind: kind as GrantDraft['subjectKind'] })}
        />
        <TextField
          label="Name"
          field="spec.subjects"
          value={draft.subject}
          onChange={(subject) => onChange({ subject })}
        />
      </div>
      <SelectField
        label="Permission"
        value={draft.action}
        options={[
          ['view', 'See clusters'],
          ['account', 'Get passes for one service account'],
          ['namespace', 'Get passes for every service account of a namespace'],
        ]}
        onChange={(action) => onChange({ action: action as GrantDraft['action'] })}
      />
      {draft.action !== 'view' && (
        <div className="field-row">
          <TextField label="Namespace" value={draft.namespace} onChange={(namespace) => onChange({ namespace })} />
          {draft.action === 'account' && (
            <TextField label="Service account" value={draft.account} onChange={(account) => onChange({ account })} />
          )}
        </div>
      )}
      <ScopeFields scope={draft} onChange={onChange} />
    </>
  );
}
