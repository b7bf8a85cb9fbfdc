import { useSyncExternalStore } from "react";
import { z } from "zod";

const Kept = z.object({ rules: z.string(), prose: z.string().optional() });

/** A draft constitution: kept in this browser and sent with every request about it. */
export type Draft = z.infer<typeof Kept>;

const KEY = "reins.draft";
const listeners = new Set<() => void>();

/** The draft of this browser, updated on every change; undefined if there is none. */
export function useDraft(): Draft | undefined {
  const text = useSyncExternalStore(subscribe, () => localStorage.getItem(KEY));
  return text === null ? undefined : Kept.safeParse(parsed(text)).data;
}

/** Stores a draft; `undefined` deletes it. */
export function keepDraft(draft: Draft | undefined): void {
  if (draft) localStorage.setItem(KEY, JSON.stringify(draft));
  else localStorage.removeItem(KEY);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The stored value is not a draft of ours.
    return undefined;
  }
}
