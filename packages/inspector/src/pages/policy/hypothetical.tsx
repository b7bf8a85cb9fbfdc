import { type ExplainRequest, studyOperations } from "@reins/api";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { z } from "zod";
import { call } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { Choice, Form, TextArea, TextInput } from "../../design/form.tsx";
import { Empty, Failure } from "../../design/states.tsx";
import { ExplanationView } from "../../why/explanation-view.tsx";
import { useDraft } from "../../why/why-panel.tsx";

const START: Hypothesis = {
  tool: "bash",
  arguments: '{ "command": "git push --force" }',
  agent: "native",
  trust: "",
  enforcement: "",
  cwd: "",
  event_type: "pre_action",
};

/** Explains what would be decided about a hypothetical action. */
export function Hypothetical() {
  const draft = useDraft();
  const [given, setGiven] = useState(START);
  const [usesDraft, setUsesDraft] = useState(false);
  const asking = useMutation({
    mutationFn: () =>
      call(studyOperations.explainPolicy, {
        body: { ...explainRequest(given), ...(usesDraft && draft ? draft : {}) },
      }),
  });
  const set = (change: Partial<Hypothesis>) => setGiven({ ...given, ...change });
  return (
    <div className="grid h-full content-start xl:grid-rows-1 xl:grid-cols-[24rem_minmax(0,1fr)]">
      <Form aria-label="An action" onSubmit={() => asking.mutate()} className="flex flex-col gap-2.5 p-3">
        <TextInput label="Tool" required value={given.tool} onChange={(tool) => set({ tool })} />
        <TextArea
          label="Arguments, as JSON"
          hint="as the agent would send them"
          rows={4}
          spellCheck={false}
          className="font-mono text-xs"
          value={given.arguments}
          onChange={(text) => set({ arguments: text })}
        />
        <div className="grid grid-cols-2 gap-2.5">
          <TextInput label="Agent" value={given.agent} onChange={(agent) => set({ agent })} />
          <Choice
            label="Trust"
            value={given.trust}
            options={[["", "from the roster"], ...TRUSTS]}
            onChange={(trust) => set({ trust })}
          />
          <Choice
            label="Level"
            value={given.enforcement}
            options={[["", "asked"], ...ENFORCEMENTS.filter((level) => level !== "asked")]}
            onChange={(enforcement) => set({ enforcement })}
          />
          <TextInput label="Event" value={given.event_type} onChange={(event_type) => set({ event_type })} />
        </div>
        <TextInput
          label="Folder"
          hint="where the session works; by default the home of Reins's user"
          className="font-mono text-xs"
          placeholder="/home/me/project"
          value={given.cwd}
          onChange={(cwd) => set({ cwd })}
        />
        {draft && (
          <label className="flex items-center gap-2 text-sm">
            <input
              type="checkbox"
              checked={usesDraft}
              onChange={({ target }) => setUsesDraft(target.checked)}
            />
            under my draft
          </label>
        )}
        <Button kind="primary" type="submit" disabled={asking.isPending}>
          {asking.isPending ? "Deciding …" : "What would be decided?"}
        </Button>
      </Form>
      <div className="min-w-0 border-line max-xl:border-t xl:border-l" role="status">
        {asking.error ? (
          <div className="p-3">
            <Failure error={asking.error} />
          </div>
        ) : asking.data ? (
          <ExplanationView explanation={asking.data} />
        ) : (
          <Empty title="Nothing is executed">
            Describe an action to see its effects, the evaluated rules and the verdict. Nothing is run or
            recorded.
          </Empty>
        )}
      </div>
    </div>
  );
}

const TRUSTS = ["unknown", "registered", "standing"] as const;
const ENFORCEMENTS = ["performed", "confined", "asked", "observed"] as const;

/** The form of a hypothetical action. The server fills in empty fields. */
interface Hypothesis {
  readonly tool: string;
  readonly arguments: string;
  readonly agent: string;
  readonly trust: string;
  readonly enforcement: string;
  readonly cwd: string;
  readonly event_type: string;
}

/** Builds the request from the form. */
export function explainRequest(given: Hypothesis): z.input<typeof ExplainRequest> {
  return {
    event: {
      tool: given.tool,
      event_type: given.event_type || undefined,
      arguments: argumentsOf(given.arguments),
    },
    subject: {
      agent: given.agent || undefined,
      trust: TRUSTS.find((trust) => trust === given.trust),
      enforcement: ENFORCEMENTS.find((level) => level === given.enforcement),
    },
    cwd: given.cwd || undefined,
  };
}

function argumentsOf(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error("The arguments are not JSON. Write them as the agent would send them.", { cause: error });
  }
}
