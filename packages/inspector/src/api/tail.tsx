import type { Operation } from "@reins/api";
import { type ReactNode, useEffect, useState } from "react";
import type { z } from "zod";
import { onNextFrame } from "../acp/observable.ts";
import { Failure, Waiting } from "../design/states.tsx";
import { subscribe } from "./stream.ts";

/** A numbered item. The numbers restart at one when the server restarts. */
interface Numbered {
  readonly seq: number;
  readonly at: string;
}

/** A key that stays unique across restarts of the server. */
export function itemKey({ seq, at }: Numbered): string {
  return `${at} ${seq}`;
}

/** Merges new items in order and without duplicates; drops the oldest above the limit. */
export function mergeItems<One extends Numbered>(
  known: readonly One[],
  arrived: readonly One[],
  most: number,
): readonly One[] {
  if (arrived.length === 0) return known;
  const isNewer = arrived.every((one, index) => isAfter(one, arrived[index - 1] ?? known.at(-1)));
  const all = isNewer
    ? [...known, ...arrived]
    : [...new Map([...known, ...arrived].map((one) => [itemKey(one), one])).values()].toSorted(
        (one, other) => (isAfter(one, other) ? 1 : -1),
      );
  return all.slice(-most);
}

/** Inserts a marker wherever numbers are missing. */
export function withGaps<One extends Numbered>(
  all: readonly One[],
): readonly (One | { readonly missing: number })[] {
  return all.flatMap((one, index) => {
    const before = all[index - 1];
    const missing = before ? one.seq - before.seq - 1 : 0;
    return missing > 0 ? [{ missing }, one] : [one];
  });
}

function isAfter(one: Numbered, other: Numbered | undefined): boolean {
  if (!other) return true;
  return one.at === other.at ? one.seq > other.seq : one.at > other.at;
}

const MOST = 2_000;

/** The newest items, and whether they are loaded. */
interface Tail<One> {
  readonly all: readonly One[];
  readonly error: unknown;
  readonly isLoaded: boolean;
}

/** The items of a tail; while there are none, a loading indicator, a failure, or what stands for an empty list. */
export function Tailed<One>({
  tail: { all, error, isLoaded },
  what,
  empty,
  children,
}: {
  tail: Tail<One>;
  what: string;
  empty: ReactNode;
  children: (all: readonly One[]) => ReactNode;
}) {
  if (all.length > 0) return children(all);
  if (error) return <Failure error={error} />;
  return isLoaded ? empty : <Waiting what={what} />;
}

/** The stream and the list of earlier items. Must be a stable object: a new one restarts the subscription. */
export interface TailSource<One, Q extends z.ZodType> {
  readonly stream: Operation<z.ZodType, Q, z.ZodType, z.ZodType<One>>;
  readonly query: z.input<Q>;
  readonly list: (signal: AbortSignal) => Promise<readonly One[]>;
}

/** Subscribes to the stream first and lists earlier items then, so that none is missed in between. */
export function useTail<One extends Numbered, Q extends z.ZodType>(
  source: TailSource<One, Q>,
  isPaused: boolean,
): Tail<One> {
  const [tail, setTail] = useState<Tail<One>>({ all: [], error: undefined, isLoaded: false });
  useEffect(() => {
    if (isPaused) return;
    const ending = new AbortController();
    let arrived: One[] = [];
    const take = (more: readonly One[]) =>
      setTail(({ all }) => ({ all: mergeItems(all, more, MOST), error: undefined, isLoaded: true }));
    const stop = subscribe(
      source.stream,
      { query: source.query },
      {
        onEvent: (one) => {
          arrived.push(one);
          if (arrived.length > 1) return;
          onNextFrame(() => {
            const more = arrived;
            arrived = [];
            take(more);
          });
        },
        // A failed stream has no reason; the list reports it.
        onState: () => {
          source.list(ending.signal).then(take, (error: unknown) => {
            if (!ending.signal.aborted) setTail((now) => ({ ...now, error }));
          });
        },
      },
    );
    return () => {
      stop();
      ending.abort();
    };
  }, [source, isPaused]);
  return tail;
}
