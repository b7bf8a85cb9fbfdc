import { ledgerOperations, type PlacedEntry } from "@reins/api";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { call, useGet } from "../../api/queries.ts";
import { subscribe } from "../../api/stream.ts";
import { count, words } from "../../design/format.ts";
import type { LedgerSearch } from "./filters.tsx";

const PAGE = 200;
/** Above this many new entries the list is fetched again. */
const MOST_LIVE = 10_000;
const FLUSH_MS = 100;

/** The matching entries, newest first, with new ones as they are recorded. */
export function useEntries(search: LedgerSearch) {
  const { since, ...filter } = search;
  const key = JSON.stringify(search);
  const { live, state } = useLiveEntries(filter, key);
  const pages = useInfiniteQuery({
    queryKey: ["entries", key],
    queryFn: ({ pageParam, signal }) =>
      call(ledgerOperations.listEntries, {
        query: { ...filter, since, limit: PAGE, after: pageParam },
        signal,
      }),
    initialPageParam: Number.MAX_SAFE_INTEGER,
    getNextPageParam: ({ next }) => next,
    // The stream opens first: entries written between the first page and the stream would be missed otherwise.
    enabled: state !== "opening",
    staleTime: Infinity,
    gcTime: 0,
  });
  const loaded = useMemo(() => pages.data?.pages.flatMap(({ entries }) => entries) ?? [], [pages.data]);
  const entries = useMemo(() => withLive(live, loaded), [live, loaded]);
  return { entries, pages, isLive: state === "open" };
}

/** Puts new entries before the loaded ones, newest first and each once. */
export function withLive<Placed extends Pick<PlacedEntry, "seq">>(
  live: readonly Placed[],
  loaded: readonly Placed[],
): readonly Placed[] {
  const newest = loaded[0]?.seq ?? -1;
  return [...live.filter(({ seq }) => seq > newest), ...loaded];
}

/** New entries as they are recorded, newest first. */
function useLiveEntries(filter: Omit<LedgerSearch, "since">, key: string) {
  const [live, setLive] = useState<readonly PlacedEntry[]>([]);
  const [state, setState] = useState<"opening" | "open" | "lost">("opening");
  const queries = useQueryClient();
  const wanted = useRef(filter);
  wanted.current = filter;
  useEffect(() => {
    setLive([]);
    setState("opening");
    let arrived: PlacedEntry[] = [];
    let held: readonly PlacedEntry[] = [];
    let wasConnected = false;
    const flush = () => {
      if (arrived.length === 0) return;
      const all = [...arrived.toReversed(), ...held];
      arrived = [];
      const isTooMany = all.length > MOST_LIVE;
      held = isTooMany ? [] : all;
      setLive(held);
      if (isTooMany) void queries.resetQueries({ queryKey: ["entries", key] });
    };
    const timer = setInterval(flush, FLUSH_MS);
    const stop = subscribe(
      ledgerOperations.streamEntries,
      { query: wanted.current },
      {
        onEvent: (entry) => void arrived.push(entry),
        onState: (isOpen) => {
          setState(isOpen ? "open" : "lost");
          // Entries recorded during a lost connection may be missing.
          if (isOpen && wasConnected) void queries.invalidateQueries({ queryKey: ["entries", key] });
          wasConnected = true;
        },
      },
    );
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [key, queries]);
  return { live, state };
}

type Entry = PlacedEntry["entry"];

/** One entry; it never changes. */
export function useEntry(cid: string, enabled = true) {
  return useGet(["entry", cid], ledgerOperations.getEntry, { params: { cid }, staleTime: Infinity, enabled });
}

/** How many tokens were used, of an entry that says so: about how many where the provider of a model did not. */
function tokensIn({ usage }: { readonly usage?: unknown }): readonly string[] {
  const { tokens, estimated } = Object(usage);
  return typeof tokens === "number" ? [`${estimated === true ? "about " : ""}${count(tokens)} tokens`] : [];
}

/** Summarizes an entry on one line. */
export function entrySummary({ quality, payload, target, envelope, tags }: Entry): string {
  if (envelope !== null && envelope !== undefined) return `${target}, sealed`;
  const said = Object(payload);
  if (quality === "policy_verdict") return `${target || textOf(said.event_type)}: ${textOf(said.reason)}`;
  if (quality === "tool_call") return textOf(said.claims?.title) || target;
  if (quality === "tool_result")
    return [target, [textOf(said.outcome), ...tokensIn(said)].filter(Boolean).join(", ")]
      .filter(Boolean)
      .join(": ");
  if (quality === "turn") {
    const covered = `${said.entries?.length ?? 0} entries`;
    return `ended: ${[words(textOf(said.stop_reason)), covered, ...tokensIn(said)].join(", ")}`;
  }
  if (quality === "approval")
    return `${target}: ${textOf(said.state)}${said.answer ? ` by ${textOf(said.answer.by)}` : ""}`;
  if (quality === "policy_change") return `${target}: ${words(textOf(said.change))}`;
  if (quality === "kill") return [target, textOf(said.reason)].filter(Boolean).join(": ");
  const what = textOf(said.change ?? said.subject) || (tags[0] ?? "");
  return [target, words(what)].filter(Boolean).join(": ");
}

/** The verdict of an entry, if it has one. */
export function verdictOf({ quality, payload }: Entry): string | undefined {
  return quality === "policy_verdict" ? textOf(Object(payload).verdict) || undefined : undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
