import { membersOf, updateIn } from "@reins/acp";
import { type LoggedRequest, type WireEnvelope, wireOperations } from "@reins/api";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useMemo, useRef, useState } from "react";
import type { z } from "zod";
import { call } from "../../api/queries.ts";
import { itemKey, Tailed, type TailSource, useTail, withGaps } from "../../api/tail.tsx";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Button, CopyButton } from "../../design/button.tsx";
import { Json } from "../../design/code.tsx";
import { Choice, TextInput } from "../../design/form.tsx";
import { duration, visible } from "../../design/format.ts";
import { Page, Panel, Tabs, VirtualRows } from "../../design/layout.tsx";
import { SessionLink } from "../../design/markdown.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";

/** Raw messages and API requests, for admins. */
export function WirePage() {
  const { is_admin } = useSelf();
  const [tab, setTab] = useState("messages");
  return (
    <Page title="Wire" about="Raw messages between clients, Reins and agents, without secrets.">
      {is_admin ? (
        <Tabs
          value={tab}
          onChange={setTab}
          tabs={[
            { value: "messages", label: "Messages", content: <Envelopes /> },
            { value: "requests", label: "Requests", content: <Requests /> },
          ]}
        />
      ) : (
        <Empty title="Only admins may see messages">Messages include those of other users.</Empty>
      )}
    </Page>
  );
}

const SHOWN = 300;

/** API requests, newest first, as they are answered. */
function Requests() {
  const source = useMemo(
    (): TailSource<LoggedRequest, typeof wireOperations.streamRequests.query> => ({
      stream: wireOperations.streamRequests,
      query: {},
      list: async (signal) =>
        (await call(wireOperations.listRequests, { query: { limit: SHOWN }, signal })).requests,
    }),
    [],
  );
  return (
    <Tailed
      tail={useTail(source, false)}
      what="Subscribing"
      empty={<Empty title="No requests yet">API requests are listed here.</Empty>}
    >
      {(all) => (
        <Panel className="mt-2">
          <Table
            label="Requests"
            rows={all.slice(-SHOWN).toReversed()}
            keyOf={itemKey}
            columns={[
              { title: "When", cell: ({ at }) => <Moment at={at} /> },
              {
                title: "Request",
                isExact: true,
                className: "break-all",
                cell: ({ method, path }) => `${method} ${visible(path)}`,
              },
              {
                title: "Status",
                isNumber: true,
                cell: ({ status }) => <Badge tone={toneOf(status)}>{status}</Badge>,
              },
              { title: "Took", isNumber: true, cell: ({ ms }) => duration(ms) },
              { title: "By", cell: ({ principal }) => principal ?? "–" },
              {
                title: "Again",
                isHidden: true,
                cell: (request) => (
                  <CopyButton label="Copy as curl" text={() => curlFor(request, window.location.origin)} />
                ),
              },
            ]}
          />
        </Panel>
      )}
    </Tailed>
  );
}

/** The colour of a status: server errors are bad, rejections a warning. */
export function toneOf(status: number): Tone {
  if (status >= 500) return "bad";
  return status >= 400 ? "warn" : "good";
}

/** Formats a request as a curl command. Body and query are not recorded and therefore missing. */
export function curlFor({ method, path }: Pick<LoggedRequest, "method" | "path">, origin: string): string {
  const words = [
    "curl",
    ...(method === "GET" ? [] : ["-X", method]),
    "-H",
    '"Authorization: Bearer $REINS_TOKEN"',
    ...(method === "GET" || method === "DELETE"
      ? []
      : ["-H", quoted("Content-Type: application/json"), "-d", quoted("{}")]),
    quoted(origin + path),
  ];
  return words.join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const Filter = wireOperations.streamEnvelopes.query;
type Filter = z.input<typeof Filter>;

/** The filters by choice: label, and the name of each value; the empty value stands for all. */
const CHOICES = {
  protocol: { label: "Protocol", values: { "": "ACP and AHP", acp: "ACP", ahp: "AHP" } },
  edge: {
    label: "Where",
    values: { "": "Clients and agents", client: "With clients", agent: "With agents" },
  },
  direction: { label: "Direction", values: { "": "In and out", in: "Into Reins", out: "Out of Reins" } },
} as const;
const CHOICE_NAMES = ["protocol", "edge", "direction"] as const;
const WORDS = [
  { name: "method", label: "Method", placeholder: "Method" },
  { name: "session", label: "Session", placeholder: "Session id" },
] as const;

/** Sets a filter; a value that is empty or that the server does not know removes it. */
export function withFilter(filter: Filter, name: keyof Filter, value: string): Filter {
  const { [name]: _, ...others } = filter;
  const text = value.trim();
  return Filter.safeParse(text === "" ? others : { ...others, [name]: text }).data ?? others;
}

/** Raw messages in both directions, newest first, as they pass. */
export function Envelopes() {
  const [filter, setFilter] = useState<Filter>({});
  const [isPaused, setPaused] = useState(false);
  const [dropped, setDropped] = useState(0);
  const source = useMemo(() => sourceOf(filter, setDropped), [filter]);
  const change = (name: keyof Filter, value: string) => setFilter(withFilter(filter, name, value));
  return (
    <div className="flex h-full min-h-0 flex-col gap-2 pt-2">
      <div className="flex flex-wrap items-center gap-2">
        {CHOICE_NAMES.map((name) => (
          <Choice
            key={name}
            aria-label={CHOICES[name].label}
            className="max-w-44"
            value={filter[name] ?? ""}
            options={Object.entries(CHOICES[name].values)}
            onChange={(value) => change(name, value)}
          />
        ))}
        {WORDS.map(({ name, label, placeholder }) => (
          <TextInput
            key={name}
            aria-label={label}
            placeholder={placeholder}
            className="max-w-48 font-mono"
            defaultValue={filter[name] ?? ""}
            onBlur={({ target }) => change(name, target.value)}
            onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
          />
        ))}
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
  const tail = useTail(source, isPaused);
  const { all } = tail;
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
  return (
    <Tailed
      tail={tail}
      what="Subscribing"
      empty={
        <Empty title="No matching messages">
          Messages between clients, Reins and agents are listed here as sent, without secrets. Send a prompt
          in a session, or change the filter.
        </Empty>
      }
    >
      {() => (
        <div
          ref={box}
          role="log"
          aria-label="Messages"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          className="min-h-60 flex-1 overflow-auto rounded border border-line bg-surface"
        >
          <VirtualRows virtual={virtual} rows={rows}>
            {(row) =>
              "seq" in row ? (
                <EnvelopeRow
                  envelope={row}
                  isOpen={open === itemKey(row)}
                  onToggle={() => setOpen(open === itemKey(row) ? undefined : itemKey(row))}
                />
              ) : (
                <p className="border-b border-line bg-warn-wash px-3 py-0.5 text-2xs text-warn">
                  {row.missing} missing: of other users, or dropped
                </p>
              )
            }
          </VirtualRows>
        </div>
      )}
    </Tailed>
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
              <span>
                session <SessionLink id={session} length={12} />
              </span>
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
export function variantIn(message: unknown): string {
  return updateIn(membersOf(message).params).kind ?? "";
}

/** Formats the time of day with milliseconds. */
export function timeOf(at: string): string {
  const date = new Date(at);
  return `${date.toLocaleTimeString([], { hour12: false })}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
