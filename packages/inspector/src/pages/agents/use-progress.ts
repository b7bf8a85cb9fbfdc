import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { AGENTS } from "./use-agents.ts";

/** How far something is that takes a while. */
export interface Progressing<T> {
  readonly isRunning: boolean;
  readonly latest: T | undefined;
  readonly error: unknown;
}

const NOTHING = { isRunning: false, latest: undefined, error: undefined };

/** Follows something that takes a while. It goes on at the server when one looks away. */
export function useProgress<T>(begin: (signal: AbortSignal) => AsyncIterable<T>) {
  const [state, setState] = useState<Progressing<T>>(NOTHING);
  const queries = useQueryClient();
  const following = useRef<AbortController>(undefined);
  useEffect(() => () => following.current?.abort(), []);
  const start = useCallback(async () => {
    const controller = new AbortController();
    following.current = controller;
    setState({ ...NOTHING, isRunning: true });
    try {
      for await (const latest of begin(controller.signal))
        setState({ isRunning: true, latest, error: undefined });
      setState((before) => ({ ...before, isRunning: false }));
    } catch (error) {
      if (!controller.signal.aborted) setState({ isRunning: false, latest: undefined, error });
    }
    void queries.invalidateQueries({ queryKey: AGENTS });
  }, [begin, queries]);
  return { ...state, start: () => void start() };
}
