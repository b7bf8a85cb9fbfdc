import type { AgentProcess } from "../process/agent-process.ts";
import type { Mark } from "../process/process-table.ts";

/** A change of the registry: an agent as it is now, or the id of one that ended. */
export type RegistryChange = { readonly now: LiveProcess } | { readonly ended: string };

interface Registered {
  live: LiveProcess;
  readonly process: AgentProcess | undefined;
}

/** The running agents. */
export class ProcessRegistry {
  readonly #registered = new Map<string, Registered>();
  readonly #listeners = new Set<(change: RegistryChange) => void>();
  #count = 0;

  /** Adds a running agent; `process` is absent if it has none of its own. */
  add(found: Omit<LiveProcess, "id" | "sessions" | "pid" | "roots">, process?: AgentProcess): string {
    this.#count += 1;
    const { pid = null, mark } = process ?? {};
    const id = pid === null ? `inside-${this.#count}` : String(pid);
    const roots = pid === null || !mark ? [] : [{ pid, mark }];
    this.#keep({ live: { ...found, id, pid, roots, sessions: [] }, process });
    return id;
  }

  /** Adds a process that an agent started; returns a function that removes it. */
  root(id: string, root: ProcessRoot): () => void {
    this.#change(id, ({ roots }) => ({ roots: [...roots, root] }));
    return () => this.#change(id, ({ roots }) => ({ roots: roots.filter((one) => one !== root) }));
  }

  /** Sets the sessions of an agent. */
  hold(id: string, sessions: readonly string[]): void {
    this.#change(id, () => ({ sessions }));
  }

  /** Removes an agent that has ended. */
  remove(id: string): void {
    if (!this.#registered.delete(id)) return;
    for (const listener of this.#listeners) listener({ ended: id });
  }

  /** The running agents. */
  get all(): readonly LiveProcess[] {
    return [...this.#registered.values()].map(({ live }) => live);
  }

  /** Returns the process of an agent, if it has one of its own. */
  processOf(id: string): AgentProcess | undefined {
    return this.#registered.get(id)?.process;
  }

  /** Calls a listener for every agent, then for every change; returns the unsubscribe function. */
  subscribe(listener: (change: RegistryChange) => void): () => void {
    for (const { live } of this.#registered.values()) listener({ now: live });
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #change(id: string, change: (live: LiveProcess) => Partial<LiveProcess>): void {
    const known = this.#registered.get(id);
    if (known) this.#keep({ ...known, live: { ...known.live, ...change(known.live) } });
  }

  #keep(registered: Registered): void {
    this.#registered.set(registered.live.id, registered);
    for (const listener of this.#listeners) listener({ now: registered.live });
  }
}

/** A process that leads a group of its own; its descendants carry its mark. */
export interface ProcessRoot {
  readonly pid: number;
  readonly mark: Mark;
}

/** What it takes to kill a running agent. Plain data, because another thread holds it. */
export interface LiveProcess {
  /** Unique while it runs. */
  readonly id: string;
  readonly agent: string;
  /** Null for an agent inside this process. */
  readonly pid: number | null;
  /** Its own process, or the commands it runs now. */
  readonly roots: readonly ProcessRoot[];
  readonly tenant: string;
  /** The id of its principal. */
  readonly principal: string;
  readonly confined: boolean;
  /** The ids of its sessions. */
  readonly sessions: readonly string[];
  /** RFC 3339. */
  readonly started_at: string;
}
