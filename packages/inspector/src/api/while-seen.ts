/** The name under which the tabs of a browser agree which of them goes on while nobody looks at any. */
export interface Background {
  readonly name: string;
  /** Whether it is wanted at all while nobody looks. */
  readonly isWanted: () => boolean;
}

/**
 * Has something going while somebody looks at the page, until the answer is called. A browser opens six connections to a
 * server and no more, for all of its tabs together, so that tabs in the background must hold none; where it is wanted
 * there too, one of them does it for all.
 */
export function whileSeen(begin: () => () => void, background?: Background): () => void {
  let end: (() => void) | undefined;
  let claim: AbortController | undefined;
  const start = () => {
    end ??= begin();
  };
  const stop = () => {
    end?.();
    end = undefined;
  };
  const look = () => {
    claim?.abort();
    claim = undefined;
    if (document.visibilityState === "visible") return start();
    stop();
    if (!background?.isWanted() || !("locks" in navigator)) return;
    claim = new AbortController();
    holdAlone(background.name, claim.signal, start);
  };
  look();
  document.addEventListener("visibilitychange", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    claim?.abort();
    stop();
  };
}

/** Calls somebody once no other tab holds a name, which is held then until the signal aborts. */
function holdAlone(name: string, signal: AbortSignal, onHeld: () => void): void {
  const held = navigator.locks.request(name, { signal }, async () => {
    if (signal.aborted) return;
    onHeld();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  });
  held.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
