import { skillOperations } from "@reins/api";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { z } from "zod";
import { call } from "../../api/call.ts";
import { useChange, useGet } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Form, TextInput } from "../../design/form.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { Failure, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { visibleLine } from "../../design/visible.ts";
import { SkillDetail } from "./skill-detail.tsx";
import { SkillFindings, SkillTable } from "./skill-list.tsx";

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
