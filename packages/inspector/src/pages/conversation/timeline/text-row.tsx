import { Link } from "@tanstack/react-router";
import { classNames } from "../../../design/class-names.ts";
import { Markdown } from "../../../design/markdown.tsx";
import { VerdictBadge } from "../../../design/verdict.tsx";
import { visible } from "../../../design/visible.ts";
import type { Row } from "./rows.ts";

const NAMES = { user: "You", agent: "Agent", thought: "Thinking", harness: "Reins" } as const;
const LOOKS = {
  user: "border-accent",
  agent: "border-line-strong",
  thought: "border-line text-ink-soft italic",
  harness: "border-warn",
} as const;

/** Above this many characters a text that grows is drawn as plain text until it has come to its end. */
const PLAIN_ABOVE = 2_000;

/** A part of what somebody says. */
export function TextRow({
  row: { from, text, isFirst, said },
  isGrowing,
}: {
  row: Extract<Row, { kind: "text" }>;
  isGrowing: boolean;
}) {
  return (
    <div className={classNames("border-l-2 py-1 pl-3", LOOKS[from])}>
      {isFirst && (
        <p className="flex items-center gap-2 pb-0.5 text-2xs font-medium text-ink-faint not-italic">
          {NAMES[from]}
          {said?.interrupted && <VerdictBadge verdict="interrupted" />}
          {said?.verdict !== undefined && (
            <VerdictBadge
              verdict={said.ungated ? "ungated" : said.verdict}
              {...(said.reason !== undefined && { title: said.reason })}
            />
          )}
          {said?.entry !== undefined && (
            <Link to="/ledger/$cid" params={{ cid: said.entry }} className="font-mono text-accent underline">
              {said.entry.slice(0, 8)}
            </Link>
          )}
        </p>
      )}
      {from === "user" || (isGrowing && text.length > PLAIN_ABOVE) ? (
        <p className="break-words whitespace-pre-wrap">{visible(text)}</p>
      ) : (
        <Markdown text={text} />
      )}
    </div>
  );
}
