import type { WireEnvelope } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { z } from "zod";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Json } from "../../design/code.tsx";
import { visible } from "../../design/visible.ts";
import { CopyButton } from "./copy-button.tsx";

const TONES: Readonly<Record<WireEnvelope["kind"], Tone>> = {
  request: "accent",
  notification: "neutral",
  answer: "good",
  error: "bad",
};

/** One message: when, where, what; open, all of it. */
export function EnvelopeRow({
  envelope,
  isOpen,
  onToggle,
}: {
  envelope: WireEnvelope;
  isOpen: boolean;
  onToggle: () => void;
}) {
  const { at, protocol, edge, direction, kind, method, id, session, agent, message, truncated } = envelope;
  return (
    <article className="border-b border-line">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex w-full cursor-pointer items-center gap-x-3 px-3 py-1 text-left font-mono text-xs hover:bg-sunken max-md:flex-wrap"
      >
        <span className="text-2xs text-ink-faint tabular-nums">{timeOf(at)}</span>
        <span
          className="w-36 shrink-0 whitespace-nowrap"
          title={`between Reins and ${edge === "agent" ? "an agent" : "a client"}`}
        >
          {protocol} {direction === "in" ? `${edge} → reins` : `reins → ${edge}`}
        </span>
        <span className="w-24 shrink-0">
          <Badge tone={TONES[kind]}>{kind}</Badge>
        </span>
        <span className="min-w-0 flex-1 truncate max-md:order-last max-md:basis-full">
          {visible(method ?? "")}
          <span className="text-ink-faint"> {visible(variantIn(message))}</span>
        </span>
        {id !== null && (
          <span className="truncate text-ink-faint max-md:hidden">#{String(id).slice(0, 14)}</span>
        )}
        <span className="w-16 shrink-0 truncate text-ink-soft max-md:hidden">{visible(agent ?? "")}</span>
      </button>
      {isOpen && (
        <div className="flex flex-col gap-2 px-3 pb-2">
          <p className="flex flex-wrap items-center gap-3 text-2xs text-ink-faint">
            {session !== null && (
              <Link to="/sessions/$id" params={{ id: session }} className="font-mono text-accent underline">
                session {session.slice(0, 12)}
              </Link>
            )}
            {truncated && <span className="text-warn">too large to be kept whole</span>}
            <CopyButton label="Copy" text={() => JSON.stringify(message, undefined, 2)} />
          </p>
          <Json value={message} className="max-h-96" />
        </div>
      )}
    </article>
  );
}

const Update = z.looseObject({
  params: z.looseObject({ update: z.looseObject({ sessionUpdate: z.string() }) }),
});

/** Which kind of update a message is, where it is one. */
function variantIn(message: unknown): string {
  const read = Update.safeParse(message);
  return read.success ? read.data.params.update.sessionUpdate : "";
}

/** The time of day to the millisecond. */
function timeOf(at: string): string {
  const date = new Date(at);
  return `${date.toLocaleTimeString([], { hour12: false })}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
