import { graphOperations, type RunAction, type RunGraph } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { z } from "zod";
import { call } from "../../../api/queries.ts";
import { Button } from "../../../design/button.tsx";
import { Dialog, TextInput } from "../../../design/form.tsx";
import { Icon } from "../../../design/icons.tsx";
import { Failure } from "../../../design/states.tsx";
import { canCancel, canDecide, outcomeText, pendingDependents } from "./actions.ts";

type Decision = z.input<(typeof graphOperations.decideRun)["body"]>["decision"];

/** The query key of the graph of a run. */
export function graphKey(id: string): readonly string[] {
  return ["runs", id, "graph"];
}

/** Changes a run. Shows the state that the server answers with at once, and keeps what happened as a sentence. */
function useControl<Argument>(
  graph: RunGraph,
  change: (argument: Argument) => Promise<RunGraph>,
  onDone: () => void,
) {
  const queries = useQueryClient();
  const control = useMutation({
    mutationFn: async (argument: Argument) => {
      const after = await change(argument);
      return { after, outcome: outcomeText(graph, after) };
    },
    onSuccess: ({ after }) => {
      queries.setQueryData(graphKey(graph.run_id), after);
      onDone();
    },
    // A refused change means that this page showed an old state.
    onError: () => void queries.invalidateQueries({ queryKey: graphKey(graph.run_id) }),
  });
  return { ...control, outcome: control.data?.outcome };
}

/** Cancels a run, or one of its actions. Asks first, and says what is lost. */
export function CancelButton({ graph, action }: { graph: RunGraph; action?: RunAction }) {
  const [isOpen, setOpen] = useState(false);
  const control = useControl(
    graph,
    () =>
      call(graphOperations.cancelRun, {
        params: { id: graph.run_id },
        body: action ? { actions: [action.id] } : {},
      }),
    () => setOpen(false),
  );
  const what = action ? "action" : "run";
  return (
    <>
      <Outcome text={control.outcome} />
      {canCancel(graph, action) && (
        <Button kind={action ? "plain" : "danger"} onClick={() => setOpen(true)}>
          <Icon name="stop" size={13} /> Cancel {what}
        </Button>
      )}
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title={`Cancel this ${what}?`}
        about={action ? actionConsequence(graph, action) : runConsequence(graph)}
      >
        <Failure error={control.error} />
        <div className="flex justify-end gap-1.5">
          <Button onClick={() => setOpen(false)}>Keep it</Button>
          <Button kind="danger" disabled={control.isPending} onClick={() => control.mutate(undefined)}>
            {control.isPending ? "Canceling …" : `Cancel ${what}`}
          </Button>
        </div>
      </Dialog>
    </>
  );
}

/** What the cancellation of a run does. */
export function runConsequence({ actions }: RunGraph): string {
  const running = actions.filter(({ status }) => status === "running").length;
  const open = actions.filter(({ status }) => status === "pending" || status === "waiting").length;
  return `${counted(running, "is", "are")} stopped, ${counted(open, "does", "do")} not start. What has been done stays done, and the record stays in the ledger.`;
}

/** What the cancellation of an action does. */
export function actionConsequence({ actions }: RunGraph, { id }: RunAction): string {
  const { length } = pendingDependents(actions, id);
  const others =
    length === 0 ? "No other action depends on it." : `${counted(length, "depends", "depend")} on it.`;
  return `What it has done stays done. ${others}`;
}

function counted(number: number, one: string, many: string): string {
  return number === 1 ? `1 action ${one}` : `${number} actions ${many}`;
}

const DECISIONS: readonly (readonly [Decision, string, string])[] = [
  ["retry", "Try again", "Runs the action once more."],
  ["continue", "Continue without it", "What depends on it runs and sees how it ended."],
  ["abort", "Abort", "What depends on it is canceled, and the run fails."],
];

/** Decides about an action that failed or was blocked, with a note for the model and the record. */
export function Decide({ graph, action }: { graph: RunGraph; action: RunAction }) {
  const [note, setNote] = useState("");
  const control = useControl(
    graph,
    (decision: Decision) =>
      call(graphOperations.decideRun, {
        params: { id: graph.run_id },
        body: { action: action.id, decision, ...(note.trim() && { note: note.trim() }) },
      }),
    () => setNote(""),
  );
  return (
    <>
      <Outcome text={control.outcome} />
      {canDecide(graph, action) && (
        <fieldset className="flex w-full min-w-0 flex-col gap-2 rounded border border-line p-2.5">
          <legend className="px-1 text-2xs font-medium text-ink-soft">Decide what becomes of it</legend>
          <TextInput
            label="Note"
            hint="optional; for the model and the record"
            value={note}
            maxLength={10_000}
            onChange={setNote}
          />
          <div className="flex flex-wrap gap-1.5">
            {DECISIONS.map(([decision, label, title]) => (
              <Button
                key={decision}
                kind={decision === "abort" ? "danger" : "plain"}
                title={title}
                disabled={control.isPending}
                onClick={() => control.mutate(decision)}
              >
                {label}
              </Button>
            ))}
          </div>
          <Failure error={control.error} />
        </fieldset>
      )}
    </>
  );
}

function Outcome({ text }: { text: string | undefined }): ReactNode {
  return (
    <p role="status" className={text === undefined ? "sr-only" : "text-sm text-ink-soft"}>
      {text}
    </p>
  );
}
