import { skillOperations } from "@reins/api";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { z } from "zod";
import { useGet } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Button } from "../../design/button.tsx";
import { Form, TextInput } from "../../design/form.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { Loaded } from "../../design/states.tsx";
import { SkillDetail } from "./skill-detail.tsx";
import { SkillFindings, SkillTable } from "./skill-list.tsx";
import { SkillMatcher } from "./skill-matcher.tsx";

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
