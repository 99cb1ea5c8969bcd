import { type FormEvent, useState } from 'react';
import { CodeBlock } from '../components/code-block.tsx';
import { Preview } from '../components/preview.tsx';
import { Section } from '../components/section.tsx';
import { SelectField, TextField } from '../components/text-field.tsx';
import { useAction } from '../hooks/use-action.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useDryRun } from '../hooks/use-dry-run.ts';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { createGrant, tryGrant } from './create-grant.ts';
import { GrantEffect } from './grant-effect.tsx';
import { type GrantDraft, grantObjects, missingInGrant, NEW_GRANT } from './grant-manifest.ts';
import { manifestText } from './manifest-text.ts';
import { ScopeFields } from './scope-fields.tsx';

/** A form for the common grants. It shows the objects that it creates, and what they change. */
export function GrantView() {
  const { client } = useSession();
  const [draft, setDraft] = useState(NEW_GRANT);
  const { busy, problem, clearProblem, run } = useAction();
  const [done, setDone] = useState('');
  const change = (part: Partial<GrantDraft>): void => {
    clearProblem();
    setDone('');
    setDraft((old) => ({ ...old, ...part }));
  };
  const missing = missingInGrant(draft);
  const key = missing === '' ? JSON.stringify(draft) : '';
  const objects = missing === '' ? grantObjects(draft) : [];
  const dryRun = useDryRun(key, () => tryGrant(client, objects));
  const yaml = useQuery(dryRun.checked, async () => (dryRun.checked === '' ? '' : manifestText(objects)));
  const apply = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!dryRun.isAccepted) return;
    await run(async () => {
      await createGrant(client, objects);
      setDone(`Created ${objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(' and ')}.`);
    });
  };
  return (
    <div className="columns two">
      <Section title="Grant">
        <ServerControls>
          <form id="grant" className="stack" onSubmit={apply} aria-busy={busy}>
            <GrantFields draft={draft} onChange={change} />
          </form>
        </ServerControls>
      </Section>
      <div className="column">
        <Section title="What it changes">
          <Preview
            title="Dry run at the server"
            refusal={problem || dryRun.refusal}
            missing={missing}
            isLoading={done === '' && !dryRun.isCurrent}
          >
            {done === '' ? <GrantEffect draft={draft} /> : <p className="allowed">{done}</p>}
          </Preview>
          <ServerControls>
            <button
              type="submit"
              form="grant"
              className="button primary wide"
              disabled={!dryRun.isAccepted || busy || done !== ''}
            >
              {busy ? 'Applying…' : 'Apply'}
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
          options={[
            ['Group', 'Group'],
            ['User', 'User'],
          ]}
          onChange={(kind) => onChange({ subjectKind: kind as GrantDraft['subjectKind'] })}
        />
        <TextField label="Name" value={draft.subject} onChange={(subject) => onChange({ subject })} />
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
