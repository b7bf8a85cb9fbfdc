import type { Operation } from "@reins/api";
import { useEffect, useState } from "react";
import type { z } from "zod";
import { byFrame } from "../../acp/frames.ts";
import { follow } from "../../api/stream.ts";
import { merged, type Numbered } from "./tail.ts";

const MOST = 2_000;

/** The newest of something, and how it stands with getting more. */
export interface Tail<One> {
  readonly all: readonly One[];
  readonly error: unknown;
  readonly isLoaded: boolean;
}

/** What to follow: the stream, and what was before it. Must be the same object as long as it is the same. */
export interface TailSource<One, Q extends z.ZodType> {
  readonly stream: Operation<z.ZodType, Q, z.ZodType, z.ZodType<One>>;
  readonly query: z.input<Q>;
  readonly list: (signal: AbortSignal) => Promise<readonly One[]>;
}

/** Follows what passes: first the stream, then what was before it, so that nothing falls between the two. */
export function useTail<One extends Numbered, Q extends z.ZodType>(
  source: TailSource<One, Q>,
  isPaused: boolean,
): Tail<One> {
  const [tail, setTail] = useState<Tail<One>>({ all: [], error: undefined, isLoaded: false });
  useEffect(() => {
    if (isPaused) return;
    const ending = new AbortController();
    let come: One[] = [];
    const take = (more: readonly One[]) =>
      setTail(({ all }) => ({ all: merged(all, more, MOST), error: undefined, isLoaded: true }));
    const stop = follow(
      source.stream,
      { query: source.query },
      {
        onEvent: (one) => {
          come.push(one);
          if (come.length > 1) return;
          byFrame(() => {
            const more = come;
            come = [];
            take(more);
          });
        },
        // A stream that cannot be had says not why; the list does.
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
