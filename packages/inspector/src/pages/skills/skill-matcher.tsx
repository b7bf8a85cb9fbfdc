import { skillOperations } from "@reins/api";
import { useState } from "react";
import { call } from "../../api/call.ts";
import { useChange } from "../../api/queries.ts";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Form, TextInput } from "../../design/form.tsx";
import { Failure } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { visibleLine } from "../../design/visible.ts";

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
