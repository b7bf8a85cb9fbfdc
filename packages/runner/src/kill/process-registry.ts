import type { AgentProcess } from "../process/agent-process.ts";
import type { Mark } from "../process/mark.ts";

/** What is told of the agents that run: one as it is now, or the id of one that ended. */
export type RegisterNews = { readonly now: LiveProcess } | { readonly ended: string };

interface Registered {
  live: LiveProcess;
  readonly process: AgentProcess | undefined;
}

/** The agents that run, for those who look at them and those who end them. */
export class ProcessRegister {
  readonly #registered = new Map<string, Registered>();
  readonly #listeners = new Set<(news: RegisterNews) => void>();
  #count = 0;

  /** Enters an agent that runs; its process is absent where it has none of its own. */
  add(found: Omit<LiveProcess, "id" | "sessions" | "pid" | "roots">, process?: AgentProcess): string {
    this.#count += 1;
    const { pid = null, mark } = process ?? {};
    const id = pid === null ? `inside-${this.#count}` : String(pid);
    const roots = pid === null || !mark ? [] : [{ pid, mark }];
    this.#keep({ live: { ...found, id, pid, roots, sessions: [] }, process });
    return id;
  }

  /** Notes a process that an agent has started beside its own; the returned function notes that it has ended. */
  root(id: string, root: ProcessRoot): () => void {
    this.#change(id, ({ roots }) => ({ roots: [...roots, root] }));
    return () => this.#change(id, ({ roots }) => ({ roots: roots.filter((one) => one !== root) }));
  }

  /** Notes which sessions an agent holds now. */
  hold(id: string, sessions: readonly string[]): void {
    this.#change(id, () => ({ sessions }));
  }

  /** Strikes out an agent that has ended. */
  remove(id: string): void {
    if (!this.#registered.delete(id)) return;
    for (const listener of this.#listeners) listener({ ended: id });
  }

  /** The agents that run now. */
  get all(): readonly LiveProcess[] {
    return [...this.#registered.values()].map(({ live }) => live);
  }

  /** The process of an agent that runs, if it has one of its own. */
  processOf(id: string): AgentProcess | undefined {
    return this.#registered.get(id)?.process;
  }

  /** Tells of every agent there is, and then of every change; the returned function ends that. */
  follow(listener: (news: RegisterNews) => void): () => void {
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

/** A process of which others come; it leads a group of its own, and all of them carry its mark. */
export interface ProcessRoot {
  readonly pid: number;
  readonly mark: Mark;
}

/** An agent that runs, as far as it has to be known to end it. Plain, so that another thread can hold it. */
export interface LiveProcess {
  /** Names it until it ends. */
  readonly id: string;
  readonly agent: string;
  /** Null for one that runs inside Reins itself. */
  readonly pid: number | null;
  /** What it consists of: its own process, or the commands that it runs now. */
  readonly roots: readonly ProcessRoot[];
  readonly tenant: string;
  /** The id of the principal that it runs for. */
  readonly principal: string;
  readonly confined: boolean;
  /** The ids of the sessions it holds. */
  readonly sessions: readonly string[];
  /** RFC 3339. */
  readonly started_at: string;
}
