import { membersOf, updateIn } from "@reins/acp";
import { type WireEnvelope, wireOperations } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useMemo, useRef, useState } from "react";
import { call } from "../../api/call.ts";
import { itemKey, type TailSource, useTail, withGaps } from "../../api/tail.ts";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Button, CopyButton } from "../../design/button.tsx";
import { Json } from "../../design/code.tsx";
import { Choice, TextInput } from "../../design/form.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";

interface Filter {
  readonly protocol?: "acp" | "ahp";
  readonly edge?: "client" | "agent";
  readonly direction?: "in" | "out";
  readonly session?: string;
  readonly method?: string;
}

/** Raw messages in both directions, newest first, as they pass. */
export function Envelopes() {
  const [filter, setFilter] = useState<Filter>({});
  const [isPaused, setPaused] = useState(false);
  const [dropped, setDropped] = useState(0);
  const source = useMemo(() => sourceOf(filter, setDropped), [filter]);
  const change = (changed: { readonly [Key in keyof Filter]: Filter[Key] | "" | undefined }) =>
    setFilter(Object.fromEntries(Object.entries({ ...filter, ...changed }).filter(([, value]) => value)));
  return (
    <div className="flex h-full min-h-0 flex-col gap-2 pt-2">
      <div className="flex flex-wrap items-center gap-2">
        <Choice
          aria-label="Protocol"
          className="max-w-36"
          value={filter.protocol ?? ""}
          onChange={({ target }) => change({ protocol: oneOf(["acp", "ahp"], target.value) })}
        >
          <option value="">ACP and AHP</option>
          <option value="acp">ACP</option>
          <option value="ahp">AHP</option>
        </Choice>
        <Choice
          aria-label="Where"
          className="max-w-44"
          value={filter.edge ?? ""}
          onChange={({ target }) => change({ edge: oneOf(["client", "agent"], target.value) })}
        >
          <option value="">Clients and agents</option>
          <option value="client">With clients</option>
          <option value="agent">With agents</option>
        </Choice>
        <Choice
          aria-label="Direction"
          className="max-w-32"
          value={filter.direction ?? ""}
          onChange={({ target }) => change({ direction: oneOf(["in", "out"], target.value) })}
        >
          <option value="">In and out</option>
          <option value="in">Into Reins</option>
          <option value="out">Out of Reins</option>
        </Choice>
        <TextInput
          aria-label="Method"
          placeholder="Method"
          className="max-w-48 font-mono"
          defaultValue={filter.method ?? ""}
          onBlur={({ target }) => change({ method: target.value.trim() })}
          onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
        />
        <TextInput
          aria-label="Session"
          placeholder="Session id"
          className="max-w-48 font-mono"
          defaultValue={filter.session ?? ""}
          onBlur={({ target }) => change({ session: target.value.trim() })}
          onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
        />
        <Button aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Resume" : "Pause"}
        </Button>
        {dropped > 0 && (
          <span className="text-2xs text-ink-faint tabular-nums">{dropped} older messages were dropped</span>
        )}
      </div>
      <List
        key={JSON.stringify(filter)}
        source={source}
        isPaused={isPaused}
        isWhole={Object.keys(filter).length === 0}
      />
    </div>
  );
}

function List({
  source,
  isPaused,
  isWhole,
}: {
  source: ReturnType<typeof sourceOf>;
  isPaused: boolean;
  /** Whether no filter is set, so that missing numbers mean lost messages. */
  isWhole: boolean;
}) {
  const { all, error, isLoaded } = useTail(source, isPaused);
  const [open, setOpen] = useState<string | undefined>();
  const rows = useMemo(() => (isWhole ? withGaps(all) : all).toReversed(), [all, isWhole]);
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 27,
    getItemKey: useCallback((index: number) => rowKeyOf(rows[index], index), [rows]),
    overscan: 12,
    useFlushSync: false,
  });
  if (error) return <Failure error={error} />;
  if (!isLoaded) return <Waiting what="Subscribing" />;
  if (rows.length === 0)
    return (
      <Empty title="No matching messages">
        Messages between clients, Reins and agents are listed here as sent, without secrets. Send a prompt in
        a session, or change the filter.
      </Empty>
    );
  return (
    <div
      ref={box}
      role="log"
      aria-label="Messages"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="min-h-60 flex-1 overflow-auto rounded border border-line bg-surface"
    >
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index];
          return (
            <div
              key={key}
              data-index={index}
              ref={virtual.measureElement}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${start}px)` }}
            >
              {row && !("seq" in row) ? (
                <p className="border-b border-line bg-warn-wash px-3 py-0.5 text-2xs text-warn">
                  {row.missing} missing: of other users, or dropped
                </p>
              ) : (
                row && (
                  <EnvelopeRow
                    envelope={row}
                    isOpen={open === itemKey(row)}
                    onToggle={() => setOpen(open === itemKey(row) ? undefined : itemKey(row))}
                  />
                )
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function sourceOf(
  query: Filter,
  onDropped: (count: number) => void,
): TailSource<WireEnvelope, typeof wireOperations.streamEnvelopes.query> {
  return {
    stream: wireOperations.streamEnvelopes,
    query,
    list: async (signal) => {
      const page = await call(wireOperations.listEnvelopes, { query: { ...query, limit: 500 }, signal });
      onDropped(page.dropped);
      return page.envelopes;
    },
  };
}

function rowKeyOf(row: WireEnvelope | { readonly missing: number } | undefined, index: number): string {
  return row && "seq" in row ? itemKey(row) : `hole ${index}`;
}

function oneOf<Name extends string>(names: readonly Name[], value: string): Name | undefined {
  return names.find((name) => name === value);
}

const TONES: Readonly<Record<WireEnvelope["kind"], Tone>> = {
  request: "accent",
  notification: "neutral",
  answer: "good",
  error: "bad",
};

/** One message; open, its full content. */
function EnvelopeRow({
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
            {truncated && <span className="text-warn">truncated</span>}
            <CopyButton label="Copy" text={() => JSON.stringify(message, undefined, 2)} />
          </p>
          <Json value={message} className="max-h-96" />
        </div>
      )}
    </article>
  );
}

/** The kind of session update that a message carries. */
function variantIn(message: unknown): string {
  return updateIn(membersOf(message).params).kind ?? "";
}

/** Formats the time of day with milliseconds. */
function timeOf(at: string): string {
  const date = new Date(at);
  return `${date.toLocaleTimeString([], { hour12: false })}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
