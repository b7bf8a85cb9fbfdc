import { useState } from "react";
import { isOver, type ToolCall } from "../../../acp/conversation/tool-call.ts";
import type { Verdict } from "../../../acp/conversation/verdict.ts";
import { Badge, type Tone } from "../../../design/badge.tsx";
import { Code, Json } from "../../../design/code.tsx";
import { Diff } from "../../../design/diff.tsx";
import { useNow } from "../../../design/moment.tsx";
import { duration } from "../../../design/number.ts";
import { VerdictBadge } from "../../../design/verdict.tsx";
import { visible } from "../../../design/visible.ts";
import { ExactCallView } from "../../approvals/exact-call-view.tsx";
import { VerdictView } from "./verdict-view.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  pending: "neutral",
  in_progress: "accent",
  completed: "good",
  failed: "bad",
};

/** A call of a tool: what it is, how it stands and what was decided; open, everything about it. */
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
        {!isBlocked && <Duration call={call} />}
        {verdict && <VerdictBadge verdict={wordFor(verdict)} label={labelFor(verdict)} />}
        {!isBlocked && <Badge tone={TONES[status] ?? "neutral"}>{status.replace("_", " ")}</Badge>}
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

/** What was decided; that somebody was asked is part of it. */
function labelFor(verdict: Verdict): string {
  const word = wordFor(verdict);
  return verdict.approval !== undefined && word !== "ask" ? `asked, ${word}` : word;
}

function Arguments({ call: { input, content } }: { call: ToolCall }) {
  // A diff that the agent shows says the same as arguments, and better.
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
          <summary className="cursor-pointer text-2xs text-ink-faint">
            The result as the agent gave it
          </summary>
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

/** How long it took, or takes; what is told again was not timed. */
function Duration({ call }: { call: ToolCall }) {
  if (call.began === undefined) return null;
  if (isOver(call)) return call.ended === undefined ? null : <Time milliseconds={call.ended - call.began} />;
  return <Running began={call.began} />;
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
