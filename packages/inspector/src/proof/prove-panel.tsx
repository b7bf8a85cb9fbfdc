import { useQuery } from "@tanstack/react-query";
import { Badge } from "../design/badge.tsx";
import { Button } from "../design/button.tsx";
import { Panel } from "../design/panel.tsx";
import { SaveLink } from "../design/save-link.tsx";
import { Failure, Waiting } from "../design/states.tsx";
import { visible } from "../design/visible.ts";
import type { ProofStep } from "./proof-step.ts";
import { type Proved, proveEntry } from "./prove-entry.ts";
import { TreePicture } from "./tree-picture.tsx";

const MARKS = {
  holds: ["✓", "text-good"],
  fails: ["✗", "text-bad"],
  open: ["·", "text-ink-faint"],
} as const;

/** Proves an entry in the page, step by step, and shows where it hangs in the tree. */
export function ProvePanel({ cid }: { cid: string }) {
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["proof", cid],
    queryFn: ({ signal }) => proveEntry(cid, signal),
    staleTime: Infinity,
  });
  return (
    <Panel
      title={<span className="flex items-center gap-2">Proof {data && <Outcome steps={data.steps} />}</span>}
      actions={
        <>
          {data && (
            <SaveLink
              name={`proof-${cid.slice(0, 12)}.json`}
              text={data.file}
              title="Anybody can check this file anywhere: reins ledger verify <file>"
            >
              Save the proof
            </SaveLink>
          )}
          <Button
            onClick={() => void refetch()}
            disabled={isFetching}
            title="Fetches the proof again and checks it in this page"
          >
            {isFetching ? "Checking …" : "Prove it"}
          </Button>
        </>
      }
    >
      {error ? (
        <div className="p-3">
          <Failure error={error} onRetry={() => void refetch()} />
        </div>
      ) : data ? (
        <Steps proved={data} />
      ) : (
        <Waiting what="Fetching the proof and checking it here" />
      )}
    </Panel>
  );
}

function Outcome({ steps }: { steps: readonly ProofStep[] }) {
  const fails = steps.some(({ state }) => state === "fails");
  return <Badge tone={fails ? "bad" : "good"}>{fails ? "does not hold" : "holds"}</Badge>;
}

function Steps({ proved: { steps, proof } }: { proved: Proved }) {
  return (
    <>
      <ol aria-label="Steps of the proof" className="flex flex-col gap-1.5 px-3 py-2 text-sm">
        {steps.map(({ title, state, detail }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an entry may follow several, and each is a step of the same name
          <li key={place} className="grid grid-cols-[1rem_minmax(0,1fr)] gap-x-2">
            <span className={MARKS[state][1]}>
              <span aria-hidden="true">{MARKS[state][0]}</span>
              <span className="sr-only">{state}: </span>
            </span>
            <span>
              <span className={state === "fails" ? "font-medium text-bad" : "font-medium"}>{title}</span>
              <span className="block text-2xs break-words text-ink-soft">{visible(detail)}</span>
            </span>
          </li>
        ))}
      </ol>
      <p className="border-t border-line px-3 py-2 text-2xs text-ink-faint">
        Checked in this page by an independent checker; the server's word counts for nothing here.
      </p>
      <TreePicture proof={proof} />
    </>
  );
}
