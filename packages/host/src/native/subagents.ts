import { updateIn } from "@reins/acp";
import type { SubagentTask } from "@reins/agent";
import type { AgentEntry, Catalogue } from "@reins/agents";
import { errorMessage } from "@reins/kit";
import type { PlacedEntry } from "@reins/ledger";
import { type Harness, type Principal, sessionKey } from "@reins/supervisor";
import { commonWrites, stricterScope } from "../control/mutation-scope.ts";
import { type Allowance, DelegatedUsage, type Descent, type SubjectScope } from "../control/scope.ts";
import { holds } from "../governor/session-folders.ts";
import type { Hub } from "../hub/hub.ts";
import { eventsAfter, paged, subjectOfSession } from "../hub/interruption.ts";
import type { SessionEnd, SessionRecord } from "../sessions/session-record.ts";
import { ChildRun, type ChildUsage, type EarlierChild, resultOf } from "./child-run.ts";
import {
  AFTER_ATTEMPT,
  continuation,
  type EarlierChange,
  type EarlierEffect,
  type EarlierWork,
  earlierWork,
  IN_EARLIER_ATTEMPT,
  repeats,
} from "./earlier-work.ts";
import type { Worktrees } from "./worktrees.ts";

/** What starting subagents needs. */
export interface SubagentsOptions {
  readonly harness: Pick<Harness, "identity" | "redact">;
  readonly catalogue: Catalogue;
  /** Whether an agent is installed: having one installed is for people. */
  readonly isInstalled: (entry: AgentEntry) => Promise<boolean>;
  /** Where sessions live, once that is open. */
  readonly hub: Promise<Hub>;
  readonly worktrees: Worktrees;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** A session that has something done, as the harness knows it. */
export interface Parent {
  readonly session: Pick<SubjectScope, "id" | "depth" | "descent" | "workspace" | "mutationScope">;
  readonly principal: Principal;
  /** The agent it acts as. */
  readonly agent: string;
  /** The agent that does it unless another is asked for. */
  readonly fallback: string;
  /** The only files and folders that it has written, as real paths. */
  readonly mayWrite?: readonly string[] | undefined;
}

/** A child of a run, which may have had others for the same. */
export interface ChildOfRun {
  /** The durable run that goes on with it after a restart. */
  readonly run?: string | undefined;
  /** The key of its session, stored before that begins. */
  readonly key: string;
  /** The keys of the children that attempted the same before it, and failed. */
  readonly before: readonly string[];
}

/** As much as a task may use that says nothing else. */
const ALLOWANCE: Allowance = { calls: 100, tokens: 1_000_000 };
/** As much of a task as goes on the record. */
const MAX_TASK = 16 * 1024;
const PAGE = 500;

/**
 * Starts governed children: sessions of their own, with any agent that there is, below the session that wants them. A
 * child has no more than its user, its parent and its task have in common, counts against its parent's limits, and is
 * gone when its task is done.
 */
export class Subagents {
  readonly #options: SubagentsOptions;
  /** What the children of sessions used that are children themselves, until these end. */
  readonly #below = new Map<string, ChildUsage>();

  constructor(options: SubagentsOptions) {
    this.#options = options;
  }

  /**
   * Has a child do a task; gives what it said. When the signal aborts, so does the child. `onUsage` is called once, when
   * the child has ended, however it did.
   */
  async run(
    parent: Parent,
    task: SubagentTask,
    signal: AbortSignal,
    onUsage: (usage: ChildUsage) => void = () => undefined,
    ofRun?: ChildOfRun,
  ): Promise<string> {
    signal.throwIfAborted();
    const { harness, onError } = this.#options;
    const hub = await this.#options.hub;
    const { session, principal } = parent;
    const earlier = ofRun && (await this.#earlier(hub, parent, ofRun));
    if (earlier?.work.state === "over") {
      onUsage(earlier.work);
      await this.end(ofRun?.key ?? "", principal.tenant, "completed");
      return resultOf(earlier.work.said, earlier.work.stopReason);
    }
    if (earlier?.record.ended) throw new Error(`its session has ended: ${endingOf(earlier.record.ended)}`);
    const before = await this.changesOf(ofRun?.before ?? [], principal.tenant);
    const agent = earlier?.record.agent ?? task.agent ?? parent.fallback;
    await this.#expectInstalled(agent);
    const { session_token, session_id } = await harness.identity.delegate({
      principal,
      hosted: true,
      ...(session.descent && { childToken: session.descent.token }),
      parentSession: session.id,
      parentAgent: parent.agent,
      childAgent: agent,
      task: task.prompt.slice(0, MAX_TASK).toWellFormed(),
      scopes: ["*"],
    });
    try {
      return await this.#inPlace(parent, afterAttempts(task, before), signal, async (placed, worktree) => {
        const descent = {
          ...descentOf(session, session_token, placed, worktree),
          mayWrite: commonWrites(parent.mayWrite, session.descent?.mayWrite),
          ...{ run: ofRun?.run, key: ofRun?.key },
          repeats: firstOf(repeats(before, harness.redact, IN_EARLIER_ATTEMPT), session.descent?.repeats),
        };
        const begun = earlier ? afterRestart(descent, earlier.work, harness.redact) : descent;
        const usage = new DelegatedUsage(begun.allowance, session.descent?.usage);
        const run = new ChildRun({
          ...{ hub, principal, agent, task: placed, earlier, onError },
          descent: { ...begun, usage },
        });
        return run.run(signal).finally(() => {
          usage.note(run.usage);
          onUsage(this.#used(session, run));
        });
      });
    } finally {
      await harness.identity.revokeSession(session_id, principal).catch(onError);
    }
  }

  /** Ends the session of a lasting child for which nothing waits any more, if it is open. */
  async end(key: string, tenant: string, reason: SessionEnd["reason"]): Promise<void> {
    const hub = await this.#options.hub;
    const record = await hub.sessions.ofKey(key, tenant);
    if (!record || record.ended) return;
    await hub.sessions.serve(record).closeAndEnd({ reason, terminated_by: "daemon" });
  }

  /** What the children under some keys changed or may have changed, with their own children. */
  async changesOf(keys: readonly string[], tenant: string): Promise<readonly EarlierChange[]> {
    const hub = await this.#options.hub;
    const changes = keys.map(async (key) => {
      const record = await hub.sessions.ofKey(key, tenant);
      return record ? this.#changesBelow(hub, record) : [];
    });
    return (await Promise.all(changes)).flat();
  }

  async #changesBelow(hub: Hub, record: SessionRecord): Promise<readonly EarlierChange[]> {
    const { id: parent, tenant } = record;
    const { work } = await this.#recorded(hub, record);
    // What failed, another attempt may do again.
    const changes = work.changes.flatMap(({ outcome, ...one }) =>
      outcome === "failed" ? [] : [{ ...one, outcome }],
    );
    const children = paged((last: SessionRecord | undefined) =>
      hub.sessions.stored({ tenant, parent, limit: PAGE, after: last?.id }),
    );
    for await (const child of children) changes.push(...(await this.#changesBelow(hub, child)));
    return changes;
  }

  /** The child that an earlier process began under a key, with what its records say it did. */
  async #earlier(
    hub: Hub,
    { session, principal }: Parent,
    { key, run }: ChildOfRun,
  ): Promise<EarlierChild | undefined> {
    const record = await hub.sessions.ofKey(key, principal.tenant);
    if (!record) return undefined;
    if (record.parent !== session.id || record.continued_by !== run)
      throw new Error(`${key} is the key of another session`);
    return this.#recorded(hub, record);
  }

  async #recorded(hub: Hub, record: SessionRecord): Promise<EarlierChild> {
    const { harness, log } = hub;
    await log.written();
    const range = { entity_id: sessionKey(await subjectOfSession(harness, record)), limit: PAGE } as const;
    const entries = await Array.fromAsync(
      paged((last: PlacedEntry | undefined) => harness.ledger.read({ ...range, after: last?.seq })),
      ({ entry }) => entry,
    );
    const updates = await Array.fromAsync(eventsAfter(log, record.tenant, record.id), ({ message }) =>
      updateIn(message.params),
    );
    return { record, work: earlierWork(entries, updates) };
  }

  /** Runs a task in its folder, or in the worktree that it wants; what it said then ends with what became of that. */
  async #inPlace(
    { session, principal }: Parent,
    task: SubagentTask,
    signal: AbortSignal,
    run: (task: SubagentTask, worktree?: string) => Promise<string>,
  ): Promise<string> {
    if (!task.worktree) return run(task);
    const { worktrees } = this.#options;
    const roots = session.workspace.realRoots ?? session.workspace.roots;
    if (!roots.some((root) => holds(root, task.workingDir)))
      throw new Error(`${task.workingDir} is in no folder of the session`);
    const worktree = await worktrees.make(task.workingDir, task.worktree, principal.tenant, signal);
    const ended = async () => {
      const end = await worktrees.end(worktree);
      if (end.kind === "removed") return "Its worktree had no changes and was removed.";
      return `Its worktree ${worktree.path} with the branch ${worktree.branch} is kept: ${end.reason}.`;
    };
    const said = await run({ ...task, workingDir: worktree.path }, worktree.path).catch(
      async (error: unknown) => {
        throw new Error(`${errorMessage(error)}. ${await ended()}`, { cause: error });
      },
    );
    return `${said}\n\n[${await ended()}]`;
  }

  /** What a child used, with its own children; counts towards its parent where that is a child too. */
  #used({ id, descent }: Parent["session"], child: ChildRun): ChildUsage {
    const { tokens, cost } = child.usage;
    const below = this.#below.get(child.session);
    this.#below.delete(child.session);
    const used = { tokens: tokens + (below?.tokens ?? 0), cost: cost + (below?.cost ?? 0) };
    const before = this.#below.get(id) ?? { tokens: 0, cost: 0 };
    if (descent) this.#below.set(id, { tokens: before.tokens + used.tokens, cost: before.cost + used.cost });
    return used;
  }

  async #expectInstalled(agent: string): Promise<void> {
    const { catalogue, isInstalled } = this.#options;
    const entry = catalogue.entry(agent);
    if (entry.builtIn || (await isInstalled(entry))) return;
    throw new Error(
      `${entry.name} is not installed; a person can do that with reins agents install ${agent}`,
    );
  }
}

/** The limits of a child: no more tools, and no larger an allowance, than its parent. */
function descentOf(
  { id, depth, descent, workspace, mutationScope }: Parent["session"],
  token: string,
  { tools, allowance, worker, turn }: SubagentTask,
  worktree: string | undefined,
): Descent {
  const above = descent?.allowance ?? ALLOWANCE;
  const inherited = descent?.tools;
  return {
    parent: id,
    parentWorker: descent?.worker,
    worker,
    mutationScope: worktree === undefined ? mutationScope : stricterScope(mutationScope, "apply_worktree"),
    token,
    depth: depth + 1,
    roots: worktree === undefined ? (workspace.realRoots ?? workspace.roots) : [worktree],
    worktree,
    // A worktree is not of the session that is taken back.
    keptWith:
      worktree === undefined ? (descent ? descent.keptWith : turn && { session: id, turn }) : undefined,
    tools: tools && inherited ? tools.filter((tool) => inherited.includes(tool)) : (tools ?? inherited),
    allowance: {
      calls: Math.min(allowance?.calls ?? ALLOWANCE.calls, above.calls),
      tokens: Math.min(allowance?.tokens ?? ALLOWANCE.tokens, above.tokens),
      cost: least(allowance?.cost, above.cost),
    },
  };
}

/** The limits of a child that goes on: less what it used, and a person is asked before it repeats what it did. */
function afterRestart(
  descent: Descent,
  { calls, tokens, cost, effects }: EarlierWork,
  redact: (value: unknown) => unknown,
): Descent {
  const { allowance } = descent;
  const open = effects.filter(({ outcome }) => outcome === "unknown").map(({ tool }) => tool);
  return {
    ...descent,
    repeats: firstOf(repeats(effects, redact), descent.repeats),
    ...(open.length > 0 && {
      mustLoad: `its agent cannot load its session, and it is not known whether ${open.join(", ")} was done`,
    }),
    allowance: {
      calls: Math.max(0, allowance.calls - calls),
      tokens: Math.max(0, allowance.tokens - tokens),
      cost: allowance.cost === undefined ? undefined : Math.max(0, allowance.cost - cost),
    },
  };
}

/** Asks a person where one of two does; neither asks where there are none. */
function firstOf(one: Descent["repeats"], other: Descent["repeats"]): Descent["repeats"] {
  return one && other ? (action) => one(action) ?? other(action) : (one ?? other);
}

/** A task as it is given after attempts that left something. */
function afterAttempts(task: SubagentTask, effects: readonly EarlierEffect[]): SubagentTask {
  if (effects.length === 0) return task;
  return { ...task, prompt: continuation(task.prompt, { effects }, [], AFTER_ATTEMPT) };
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function endingOf({ reason, message }: SessionEnd): string {
  return message ?? reason;
}
