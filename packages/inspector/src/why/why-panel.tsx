import { studyOperations } from "@reins/api";
import { useMutation } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { z } from "zod";
import { call, useGet } from "../api/queries.ts";
import { VerdictBadge } from "../design/badge.tsx";
import { Button } from "../design/button.tsx";
import { visible } from "../design/format.ts";
import { Panel } from "../design/layout.tsx";
import { TextLink } from "../design/markdown.tsx";
import { Failure, Loaded } from "../design/states.tsx";
import { ExplanationView } from "./explanation-view.tsx";

const Kept = z.object({ rules: z.string(), prose: z.string().optional() });

/** A draft constitution: kept in this browser and sent with every request about it. */
export type Draft = z.infer<typeof Kept>;

const KEY = "reins.draft";
const listeners = new Set<() => void>();

/** The draft of this browser, updated on every change; undefined if there is none. */
export function useDraft(): Draft | undefined {
  const text = useSyncExternalStore(subscribe, () => localStorage.getItem(KEY));
  return text === null ? undefined : Kept.safeParse(parsed(text)).data;
}

/** Stores a draft; `undefined` deletes it. */
export function keepDraft(draft: Draft | undefined): void {
  if (draft) localStorage.setItem(KEY, JSON.stringify(draft));
  else localStorage.removeItem(KEY);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The stored value is not a draft of ours.
    return undefined;
  }
}

/** Explains the verdict of a ledger entry. */
export function WhyPanel({ cid }: { cid: string }) {
  const query = useGet(["explanation", cid], studyOperations.explainPolicy, {
    body: { entry: cid },
    staleTime: 60_000,
  });
  return (
    <Panel title="Why">
      <Loaded query={query} what="Loading the explanation">
        {(explanation) => (
          <>
            <ExplanationView explanation={explanation} />
            <DraftVerdict cid={cid} recorded={explanation.recorded?.verdict ?? explanation.said.verdict} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

/** Decides one action by the draft of this browser. */
function DraftVerdict({ cid, recorded }: { cid: string; recorded: string }) {
  const draft = useDraft();
  const asking = useMutation({
    mutationFn: () => call(studyOperations.explainPolicy, { body: { entry: cid, ...draft } }),
  });
  const said = asking.data?.said;
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2 text-sm">
      {draft ? (
        <Button onClick={() => asking.mutate()} disabled={asking.isPending}>
          {asking.isPending ? "Deciding …" : "What would my draft have done?"}
        </Button>
      ) : (
        <span className="text-ink-soft">
          <TextLink to="/policy" search={{ tab: "draft" }}>
            Write a draft of the constitution
          </TextLink>{" "}
          to see its verdict here.
        </span>
      )}
      {said && (
        <p role="status" className="flex flex-wrap items-center gap-1.5">
          <VerdictBadge verdict={said.verdict} />
          {said.verdict === recorded ? "the same" : `instead of ${recorded}`}, {ruleText(said.rule)}:{" "}
          {visible(said.reason)}
        </p>
      )}
      <Failure error={asking.error} />
    </div>
  );
}

function ruleText(rule: string | null): string {
  return rule === null ? "by no rule" : `by ${rule}`;
}
