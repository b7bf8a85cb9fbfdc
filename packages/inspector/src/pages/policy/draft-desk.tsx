import { type PolicyStatus, studyOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { call } from "../../api/call.ts";
import { Button } from "../../design/button.tsx";
import { SaveLink } from "../../design/save-link.tsx";
import { Failure } from "../../design/states.tsx";
import { useSettled } from "../../design/use-settled.ts";
import { keepDraft, useDraft } from "../../why/draft.ts";
import { Backtest } from "./backtest.tsx";
import { DraftCheck } from "./draft-check.tsx";
import { LineEditor } from "./line-editor.tsx";

const SETTLE_MS = 400;

/** Where a constitution is written and tried before it counts. */
export function DraftDesk({ status }: { status: PolicyStatus }) {
  const draft = useDraft();
  const rules = draft?.rules ?? status.rules ?? "";
  const settled = useSettled(useDeferredValue(rules), SETTLE_MS);
  const { data, error } = useQuery({
    queryKey: ["policy-check", settled],
    queryFn: ({ signal }) => call(studyOperations.validatePolicy, { body: { rules: settled }, signal }),
    placeholderData: (before) => before,
    gcTime: 0,
  });
  const marks = [...(data?.faults ?? []), ...(data?.remarks ?? [])];
  return (
    <div className="grid items-start gap-3 p-3 xl:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
      <div className="flex min-w-0 flex-col gap-2">
        <div className="flex flex-wrap items-center gap-2">
          <p className="flex-1 text-sm text-ink-soft">
            {draft
              ? "Your draft, kept in this browser. Nothing here changes what is in force."
              : "constitution.yaml as it is. Change it here to try something; nothing is in force before you put it there."}
          </p>
          {draft && (
            <>
              <SaveLink name="constitution.yaml" text={rules}>
                Save as a file
              </SaveLink>
              <Button kind="quiet" onClick={() => keepDraft(undefined)}>
                Throw away
              </Button>
            </>
          )}
        </div>
        <LineEditor
          label="Draft of constitution.yaml"
          text={rules}
          marks={marks}
          onChange={(text) => keepDraft(text === status.rules ? undefined : { rules: text })}
        />
        <p className="text-2xs text-ink-faint">
          To put it into force, save it as constitution.yaml in the home of Reins. What is no looser applies
          at once; what is looser waits here for an admin.
        </p>
      </div>
      <div className="flex min-w-0 flex-col gap-3">
        {error ? <Failure error={error} /> : <DraftCheck check={data} isCurrent={settled === rules} />}
        <Backtest key={settled} draft={{ rules: settled }} />
      </div>
    </div>
  );
}
