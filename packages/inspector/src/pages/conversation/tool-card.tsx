import { useState } from "react";
import { z } from "zod";
import { isOver, type ToolCall, type Verdict } from "../../acp/conversation/tool-call.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { LevelBadge, StatusBadge, VerdictBadge } from "../../design/badge.tsx";
import { Hash } from "../../design/button.tsx";
import { Code, Diff, Json } from "../../design/code.tsx";
import { duration, visible } from "../../design/format.ts";
import { TextLink } from "../../design/markdown.tsx";
import { useNow } from "../../design/moment.tsx";
import { ExactCallView } from "../approvals/approval-detail.tsx";
import { useEntry } from "../ledger/entries.ts";

/** A tool call with status and verdict; open, with all details. */
export function ToolCard({
  call,
  isOpen,
  onToggle,
}: {
  call: ToolCall;
  isOpen: boolean;
  onToggle: () => void;
}) {
  const { title, status, verdict } = call;
  const isBlocked = verdict?.verdict === "blocked";
  return (
    <article
      className="rounded border border-line bg-surface text-sm"
      data-tool={call.id}
      data-status={status}
    >
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex w-full cursor-pointer flex-wrap items-center gap-x-2 gap-y-1 px-2.5 py-1.5 text-left hover:bg-sunken"
      >
        <span className="min-w-0 flex-1 basis-48 truncate font-mono text-xs">{visible(title)}</span>
        {subagentOf(verdict) && (
          <span className="text-2xs text-ink-faint">{visible(`by ${subagentOf(verdict)}`)}</span>
        )}
        {!isBlocked && <Duration call={call} />}
        {verdict && <VerdictBadge verdict={wordFor(verdict)} label={labelFor(verdict)} />}
        {!isBlocked && <StatusBadge status={status} />}
      </button>
      {isBlocked && !isOpen && (
        <p className="border-t border-line px-2.5 py-1.5 text-bad">{visible(verdict.reason ?? "")}</p>
      )}
      {isOpen && (
        <div className="flex flex-col gap-2 border-t border-line px-2.5 py-2">
          {verdict && <VerdictView verdict={verdict} />}
          <Arguments call={call} />
          <Results call={call} />
        </div>
      )}
    </article>
  );
}

function wordFor({ verdict, ungated }: Verdict): string {
  return ungated ? "ungated" : verdict;
}

/** The sub-agent that makes a call, where it is one of an agent in a terminal. */
function subagentOf(verdict: Verdict | undefined): string | undefined {
  return verdict?.subagent_type || verdict?.subagent;
}

/** The verdict, and whether a person was asked. */
function labelFor(verdict: Verdict): string {
  const word = wordFor(verdict);
  return verdict.approval !== undefined && word !== "ask" ? `asked, ${word}` : word;
}

function Arguments({ call: { input, content } }: { call: ToolCall }) {
  // A diff from the agent shows the same as the arguments, and better.
  if (input === undefined || content.some(({ kind }) => kind === "diff")) return null;
  return <ExactCallView given={input} />;
}

const LONGEST = 20_000;

function Results({ call: { content, output } }: { call: ToolCall }) {
  const [isRaw, setRaw] = useState(false);
  return (
    <>
      {content.map((part, index) => {
        const key = `${part.kind} ${index}`;
        if (part.kind === "diff")
          return <Diff key={key} path={part.path} before={part.before} after={part.after} />;
        const text = part.kind === "terminal" ? `terminal ${part.id}` : part.text;
        return <Code key={key} text={shortened(text)} className="max-h-80" />;
      })}
      {output !== undefined && output !== null && (
        <details onToggle={({ currentTarget }) => setRaw(currentTarget.open)}>
          <summary className="cursor-pointer text-2xs text-ink-faint">Raw result</summary>
          {isRaw && <Json value={output} className="mt-1 max-h-80" />}
        </details>
      )}
    </>
  );
}

function shortened(text: string): string {
  if (text.length <= LONGEST) return text;
  return `${text.slice(0, LONGEST / 2)}\n… ${text.length - LONGEST} characters …\n${text.slice(-LONGEST / 2)}`;
}

/** The duration of a call; replayed calls have none. */
function Duration({ call }: { call: ToolCall }) {
  const { began, ended } = call;
  if (began === undefined) return null;
  if (!isOver(call)) return <Running began={began} />;
  return ended === undefined ? null : <Time milliseconds={ended - began} />;
}

function Running({ began }: { began: number }) {
  return <Time milliseconds={useNow(1_000) - began} />;
}

function Time({ milliseconds }: { milliseconds: number }) {
  return (
    <span className="text-2xs text-ink-faint tabular-nums">
      {duration(Math.max(0, Math.round(milliseconds)))}
    </span>
  );
}

/** A verdict with rule, reason, level, entry and constitution. */
function VerdictView({ verdict }: { verdict: Verdict }) {
  const { rule, reason, enforcement, entry, approval } = verdict;
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
      <VerdictBadge verdict={wordFor(verdict)} />
      <span className="min-w-0 break-words">{visible(reason ?? "")}</span>
      {rule && (
        <span className="text-ink-faint">
          rule <code className="text-xs text-ink-soft">{visible(rule)}</code>
        </span>
      )}
      {enforcement !== undefined && <LevelBadge level={enforcement} />}
      {approval !== undefined && <span className="text-ink-faint">after an approval</span>}
      {entry !== undefined && <Recorded entry={entry} />}
    </div>
  );
}

const Payload = z.looseObject({ constitution_hash: z.string() });

/** The ledger entry, and the constitution that decided. */
function Recorded({ entry }: { entry: string }) {
  const { is_admin } = useSelf();
  const { data } = useEntry(entry, is_admin);
  const payload = Payload.safeParse(data?.entry.payload);
  return (
    <>
      <TextLink to="/ledger/$cid" params={{ cid: entry }}>
        Explain and verify
      </TextLink>
      {payload.success && (
        <span className="text-2xs text-ink-faint">
          constitution <Hash value={payload.data.constitution_hash} length={8} />
        </span>
      )}
    </>
  );
}
