import { type SkillDetails, type SkillList, type SkillSummary, skillOperations } from "@reins/api";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { z } from "zod";
import { call, useChange, useGet } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Form, TextInput } from "../../design/form.tsx";
import { visibleLine } from "../../design/format.ts";
import { Facts, Page, Panel, Section } from "../../design/layout.tsx";
import { Empty, Failure, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";

const TONES: Readonly<Record<SkillSummary["trust"]["status"], Tone>> = {
  trusted: "good",
  advisory: "note",
  untrusted: "bad",
};

/** On whose word a skill is used, or why not. */
function TrustBadge({ trust }: { trust: SkillSummary["trust"] }) {
  const { status, by, who, signer, reason } = trust;
  const title = reason ?? who ?? signer;
  return (
    <Badge tone={TONES[status]} {...(title !== undefined && { title: visibleLine(title) })}>
      {by === undefined ? status : `${status}: ${by}`}
    </Badge>
  );
}

/** The skills of all layers, the strongest layer first. */
function SkillTable({
  skills,
  chosen,
  onChoose,
}: {
  skills: readonly SkillSummary[];
  chosen: string | undefined;
  onChoose: (id: string) => void;
}) {
  return (
    <Table
      label="Skills"
      rows={skills}
      keyOf={({ id }) => id}
      isChosen={({ id }) => id === chosen}
      empty={
        <Empty title="No skills">
          Skills are folders with a SKILL.md: in the folder “skills” of the home, or in .reins/skills,
          .claude/skills and .agents/skills of a workspace.
        </Empty>
      }
      columns={[
        {
          title: "Skill",
          cell: ({ id }) => (
            <button
              type="button"
              className="cursor-pointer text-left font-medium text-accent hover:underline"
              onClick={() => onChoose(id)}
            >
              {visibleLine(id)}
            </button>
          ),
        },
        { title: "Layer", cell: ({ layer }) => <Badge>{layer}</Badge> },
        { title: "Trust", cell: ({ trust }) => <TrustBadge trust={trust} /> },
        { title: "About", className: "min-w-64", cell: ({ short }) => visibleLine(short) },
        {
          title: "Tools",
          isExact: true,
          className: "break-words",
          cell: ({ allowed_tools }) =>
            allowed_tools.length === 0 ? "all" : allowed_tools.map(visibleLine).join(", "),
        },
      ]}
    />
  );
}

/** What is shadowed, ambiguous, disabled or wrong. */
function SkillFindings({ list }: { list: SkillList }) {
  const { shadowed, ambiguous, disabled_layers, warnings } = list;
  const found = [
    ...shadowed.map(({ id, winner, loser, loser_origin }) => ({
      kind: "shadowed",
      text: `${visibleLine(id)} of the layer ${loser}, hidden by ${winner}: ${visibleLine(loser_origin)}`,
    })),
    ...ambiguous.map(({ name, ids }) => ({
      kind: "ambiguous",
      text: `${visibleLine(name)} is ${ids.map(visibleLine).join(" or ")}`,
    })),
    ...disabled_layers.map((layer) => ({ kind: "disabled", text: `the layer ${layer}` })),
    ...warnings.map(({ source, message }) => ({
      kind: "warning",
      text: `${visibleLine(source)}: ${visibleLine(message)}`,
    })),
  ];
  if (found.length === 0) return null;
  return (
    <Panel title="Findings" className="min-w-0">
      <ul className="divide-y divide-line text-sm">
        {found.map(({ kind, text }) => (
          <li key={`${kind} ${text}`} className="flex gap-2 px-3 py-1.5">
            <span className="w-20 shrink-0">
              <Badge tone={kind === "warning" ? "warn" : "neutral"}>{kind}</Badge>
            </span>
            <span className="min-w-0 break-words">{text}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const SkillsSearch = z.object({
  skill: z.string().optional().catch(undefined),
  workspace: z.string().optional().catch(undefined),
});

/** Skills: layers, shadowing, trust, and which fit a prompt. */
export function SkillsPage() {
  const { skill, workspace: chosen } = SkillsSearch.parse(useSearch({ strict: false }));
  const { workspace: standard } = useSelf();
  const workspace = chosen ?? standard ?? undefined;
  const navigate = useNavigate();
  const go = (search: z.infer<typeof SkillsSearch>) =>
    void navigate({ to: "/skills", search, replace: true });
  const query = useGet(["skills", workspace], skillOperations.listSkills, {
    query: workspace === undefined || workspace === "" ? {} : { workspace },
  });
  return (
    <Page
      title="Skills"
      about="Instructions for particular work, by layer. A skill that comes with a workspace is not used until it is trusted."
      actions={<WorkspaceForm workspace={workspace ?? ""} onChoose={(folder) => go({ workspace: folder })} />}
    >
      <Panel title="Which fit a prompt">
        <SkillMatcher workspace={workspace} />
      </Panel>
      <Loaded query={query} what="Loading skills">
        {(list) => (
          <div className="grid min-w-0 items-start gap-3 xl:grid-cols-[minmax(0,1fr)_30rem]">
            <div className="flex min-w-0 flex-col gap-3">
              <Panel title="Skills" className="min-w-0">
                <SkillTable
                  skills={list.skills}
                  chosen={skill}
                  onChoose={(id) => go({ skill: id, ...(chosen !== undefined && { workspace: chosen }) })}
                />
              </Panel>
              <SkillFindings list={list} />
            </div>
            {skill !== undefined && (
              <div className="min-w-0 max-xl:order-first">
                <SkillDetail
                  key={skill}
                  id={skill}
                  workspace={workspace}
                  onClose={() => go(chosen === undefined ? {} : { workspace: chosen })}
                />
              </div>
            )}
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function WorkspaceForm({ workspace, onChoose }: { workspace: string; onChoose: (folder: string) => void }) {
  const [folder, setFolder] = useState(workspace);
  return (
    <Form onSubmit={() => onChoose(folder)} className="flex items-center gap-1.5">
      <div className="w-72 max-w-full">
        <TextInput
          aria-label="Workspace"
          placeholder="Folder of a workspace"
          className="font-mono text-xs"
          value={folder}
          onChange={setFolder}
        />
      </div>
      <Button type="submit">Show</Button>
    </Form>
  );
}

/** Ranks the skills for a prompt, with scores and reasons. */
export function SkillMatcher({ workspace }: { workspace: string | undefined }) {
  const [prompt, setPrompt] = useState("");
  const match = useChange([], () =>
    call(skillOperations.matchSkills, {
      body: { prompt, ...(workspace !== undefined && workspace !== "" && { workspace }) },
    }),
  );
  return (
    <>
      <Form onSubmit={() => prompt.trim() !== "" && match.mutate()} className="flex gap-1.5 px-3 py-2">
        <TextInput
          aria-label="Prompt"
          placeholder="What a person would ask, such as: ship the release to production"
          value={prompt}
          onChange={setPrompt}
        />
        <Button type="submit" disabled={match.isPending}>
          Match
        </Button>
      </Form>
      <Failure error={match.error} />
      {match.data && (
        <Table
          label="Matches"
          rows={match.data.matches}
          keyOf={({ name }) => name}
          empty={<p className="px-3 pb-2 text-sm text-ink-soft">No skill fits this prompt.</p>}
          columns={[
            { title: "Skill", cell: ({ name }) => visibleLine(name) },
            { title: "Score", isNumber: true, cell: ({ score }) => score.toFixed(2) },
            {
              title: "Used",
              isHidden: true,
              cell: ({ active }) => active && <Badge tone="good">used</Badge>,
            },
            { title: "Why", className: "min-w-64", cell: ({ reason }) => visibleLine(reason) },
          ]}
        />
      )}
    </>
  );
}

/** A skill with its instructions and files, and the buttons that trust it. */
function SkillDetail({
  id,
  workspace,
  onClose,
}: {
  id: string;
  workspace: string | undefined;
  onClose: () => void;
}) {
  const place = workspace === undefined || workspace === "" ? {} : { workspace };
  const query = useGet(["skills", "detail", id, workspace], skillOperations.showSkill, {
    query: { skill: id, ...place },
  });
  return (
    <Panel title={visibleLine(id)} actions={<Button onClick={onClose}>Close</Button>}>
      <Loaded query={query} what="Loading the skill">
        {(details) => <Details details={details} place={place} />}
      </Loaded>
    </Panel>
  );
}

function Details({ details, place }: { details: SkillDetails; place: { workspace?: string } }) {
  const { skill, body, files, faults } = details;
  return (
    <>
      <Facts
        facts={{
          Trust: <TrustBadge trust={skill.trust} />,
          Reason: skill.trust.reason && visibleLine(skill.trust.reason),
          Layer: skill.layer,
          Folder: <span className="font-mono text-xs break-all">{visibleLine(skill.origin)}</span>,
          Description: visibleLine(skill.description),
          "Use when": visibleLine(skill.when_to_use),
          Tools: skill.allowed_tools.map(visibleLine).join(", "),
          Files: skill.paths.map(visibleLine).join(", "),
          "Used by": skill.disable_model_invocation && "people only",
          "Not applied": skill.not_applied.map(visibleLine).join(", "),
          Digest: skill.digest && <span className="font-mono text-xs break-all">{skill.digest}</span>,
          "Not covered": faults.map(visibleLine).join("; "),
        }}
      />
      <TrustControl details={details} place={place} />
      <Section title={`Files (${files.length})`}>
        <ul className="max-h-40 overflow-auto px-3 py-1 font-mono text-xs">
          {files.map(({ path, executable }) => (
            <li key={path} className="break-all">
              {visibleLine(path)}
              {executable && " (executable)"}
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Instructions">
        <Code text={body} className="m-2 max-h-[32rem]" />
      </Section>
    </>
  );
}

function TrustControl({ details, place }: { details: SkillDetails; place: { workspace?: string } }) {
  const { skill, faults } = details;
  const { digest = "" } = skill;
  const trust = useChange(["skills"], () =>
    call(skillOperations.trustSkill, { body: { skill: skill.id, digest, ...place } }),
  );
  const distrust = useChange(["skills"], () => call(skillOperations.distrustSkill, { params: { digest } }));
  const isOfWorkspace = skill.layer === "project" || skill.layer === "package";
  return (
    <div className="flex flex-col gap-1 px-3 pb-2">
      {skill.trust.status === "untrusted" && isOfWorkspace && faults.length === 0 && (
        <>
          <p className="text-2xs text-ink-faint">
            Trust counts for exactly these files and ends when any of them changes.
          </p>
          <Button kind="primary" disabled={trust.isPending} onClick={() => trust.mutate()}>
            I have read it: trust this content
          </Button>
        </>
      )}
      {skill.trust.by === "grant" && (
        <Button kind="danger" disabled={distrust.isPending} onClick={() => distrust.mutate()}>
          No longer trust it
        </Button>
      )}
      <Failure error={trust.error ?? distrust.error} />
    </div>
  );
}
