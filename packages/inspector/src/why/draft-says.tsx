import { studyOperations } from "@reins/api";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "../api/call.ts";
import { Button } from "../design/button.tsx";
import { Failure } from "../design/states.tsx";
import { VerdictBadge } from "../design/verdict.tsx";
import { visible } from "../design/visible.ts";
import { useDraft } from "./draft.ts";

/** What the draft of this browser would have done with one action. */
export function DraftSays({ cid, recorded }: { cid: string; recorded: string }) {
  const draft = useDraft();
  const asking = useMutation({
    mutationFn: () => call(studyOperations.explainPolicy, { body: { entry: cid, ...draft } }),
  });
  const said = asking.data?.said;
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2 text-sm">
      {draft ? (
        <Button onClick={() => asking.mutate()} disabled={asking.isPending}>
          {asking.isPending ? "Asking the draft …" : "What would my draft have done?"}
        </Button>
      ) : (
        <span className="text-ink-soft">
          <Link to="/policy" search={{ tab: "draft" }} className="text-accent underline">
            Write a draft of the constitution
          </Link>{" "}
          to see here what it would have done.
        </span>
      )}
      {said && (
        <p role="status" className="flex flex-wrap items-center gap-1.5">
          <VerdictBadge verdict={said.verdict} />
          {said.verdict === recorded ? "the same" : `in place of ${recorded}`}, {ruleText(said.rule)}:{" "}
          {visible(said.reason)}
        </p>
      )}
      {asking.error && <Failure error={asking.error} />}
    </div>
  );
}

function ruleText(rule: string | null): string {
  return rule === null ? "by no rule" : `by ${rule}`;
}
