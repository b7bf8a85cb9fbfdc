import { type PolicyCheck, type PolicyStatus, studyOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useRef, useState } from "react";
import type { z } from "zod";
import { call } from "../../api/queries.ts";
import { Badge } from "../../design/badge.tsx";
import { Button, SaveLink } from "../../design/button.tsx";
import { classNames } from "../../design/layout.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { keepDraft, useDraft } from "../../why/why-panel.tsx";
import { Backtest } from "./backtest.tsx";
import { TestTable } from "./constitution.tsx";

const SETTLE_MS = 400;

/** Edits and checks a draft constitution. */
export function DraftEditor({ status }: { status: PolicyStatus }) {
  const draft = useDraft();
  const rules = draft?.rules ?? status.rules ?? "";
  const settled = useDebounced(useDeferredValue(rules), SETTLE_MS);
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
              : "The current constitution.yaml. Changes here stay in this browser and are not in force."}
          </p>
          {draft && (
            <>
              <SaveLink name="constitution.yaml" text={rules}>
                Save as a file
              </SaveLink>
              <Button kind="quiet" onClick={() => keepDraft(undefined)}>
                Discard
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
          To apply the draft, save it as constitution.yaml in the Reins home. It applies immediately unless it
          is looser; a looser one waits for an admin.
        </p>
      </div>
      <div className="flex min-w-0 flex-col gap-3">
        {error ? <Failure error={error} /> : <DraftCheck check={data} isCurrent={settled === rules} />}
        <Backtest key={settled} draft={{ rules: settled }} />
      </div>
    </div>
  );
}

function DraftCheck({
  check,
  isCurrent,
}: {
  check: z.infer<typeof PolicyCheck> | undefined;
  isCurrent: boolean;
}) {
  if (!check) return <Waiting what="Checking the draft" />;
  const failed = check.tests.filter(({ passed }) => !passed);
  return (
    <section aria-label="Check results" aria-busy={!isCurrent} className="flex flex-col gap-2 text-sm">
      <p role="status" className="flex flex-wrap items-center gap-2">
        <Badge tone={check.fine ? "good" : "bad"}>{check.fine ? "fine" : "would be rejected"}</Badge>
        {check.rules} rules, {check.limits} limits, {check.tests.length} tests
        {check.no_looser !== null && (
          <Badge
            tone={check.no_looser ? "good" : "warn"}
            title={check.no_looser ? "It would apply immediately" : "It would wait for an admin"}
          >
            {check.no_looser ? "no looser than what is in force" : "looser, or not provably stricter"}
          </Badge>
        )}
      </p>
      <Faults tone="text-bad" faults={check.faults} />
      <Faults tone="text-warn" faults={check.remarks} />
      {failed.length > 0 && <TestTable tests={failed} />}
    </section>
  );
}

function Faults({ faults, tone }: { faults: z.infer<typeof PolicyCheck>["faults"]; tone: string }) {
  return faults.map(({ message, line, column }) => (
    <p key={`${line}:${column}:${message}`} className={tone}>
      {line !== null && <span className="font-mono text-xs">line {line}: </span>}
      <span className="whitespace-pre-wrap">{message}</span>
    </p>
  ));
}

/** The messages about each line; those about the whole text are left out. */
export function messagesByLine(
  marks: readonly { readonly line: number | null; readonly message: string }[],
): ReadonlyMap<number, string> {
  const lines = Map.groupBy(marks, ({ line }) => line);
  return new Map(
    [...lines].flatMap(([line, of]) =>
      line === null ? [] : [[line, of.map(({ message }) => message).join("\n")] as const],
    ),
  );
}

/** A text editor with line numbers and marks at faulty lines. */
function LineEditor({
  label,
  text,
  marks,
  onChange,
}: {
  label: string;
  text: string;
  marks: readonly { readonly line: number | null; readonly message: string }[];
  onChange: (text: string) => void;
}) {
  const gutter = useRef<HTMLDivElement>(null);
  const said = messagesByLine(marks);
  const lines = text.split("\n").length;
  return (
    <div className="flex h-[60vh] min-h-72 overflow-hidden rounded border border-line-strong bg-surface font-mono text-xs leading-5">
      <div
        ref={gutter}
        aria-hidden="true"
        className="shrink-0 overflow-hidden border-r border-line bg-sunken py-1.5 text-right text-ink-faint select-none"
      >
        {Array.from({ length: lines }, (_, place) => place + 1).map((line) => (
          <div
            key={line}
            title={said.get(line)}
            className={classNames("h-5 px-2", said.has(line) && "bg-bad-wash font-semibold text-bad")}
          >
            {line}
          </div>
        ))}
        <div className="h-8" />
      </div>
      <textarea
        aria-label={label}
        aria-invalid={said.size > 0}
        spellCheck={false}
        autoCapitalize="off"
        autoCorrect="off"
        wrap="off"
        value={text}
        onChange={({ target }) => onChange(target.value)}
        onScroll={({ currentTarget }) => {
          if (gutter.current) gutter.current.scrollTop = currentTarget.scrollTop;
        }}
        className="min-w-0 flex-1 resize-none overflow-auto bg-transparent px-2 py-1.5 whitespace-pre outline-offset-[-2px]"
      />
    </div>
  );
}

function useDebounced<T>(value: T, after: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), after);
    return () => clearTimeout(timer);
  }, [value, after]);
  return settled;
}
