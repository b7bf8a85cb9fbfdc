import type { SubagentTask } from "@reins/agent";
import type { AgentEntry, Catalogue } from "@reins/agents";
import type { Harness, Principal } from "@reins/supervisor";
import type { Allowance, Descent } from "../control/scope.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { Hub } from "../hub/hub.ts";
import { ChildRun } from "./child-run.ts";

/** What starting subagents stands on. */
export interface SubagentsOptions {
  readonly harness: Pick<Harness, "identity">;
  readonly catalogue: Catalogue;
  /** Whether an agent is installed: having one installed is for people. */
  readonly isInstalled: (entry: AgentEntry) => Promise<boolean>;
  /** Where sessions live, once that is open. */
  readonly hub: Promise<Hub>;
  /** Told what went wrong in the background. */
  readonly onError: (error: unknown) => void;
}

/** A session that has something done, as the harness knows it. */
export interface Parent {
  readonly session: GovernedSession;
  readonly principal: Principal;
  /** The agent it acts as. */
  readonly agent: string;
  /** The agent that does it unless another is asked for. */
  readonly fallback: string;
}

/** As much as a task may use that says nothing else. */
const ALLOWANCE: Allowance = { calls: 100, tokens: 1_000_000 };
/** As much of a task as goes on the record. */
const MAX_TASK = 16 * 1024;

/**
 * Starts governed children: sessions of their own, with any agent that there is, below the session that wants them. A
 * child has no more than its user, its parent and its task have in common, counts against its parent's limits, and is
 * gone when its task is done.
 */
export class Subagents {
  readonly #options: SubagentsOptions;

  constructor(options: SubagentsOptions) {
    this.#options = options;
  }

  /** Has a child do a task; gives what it said. When the signal aborts, so does the child. */
  async run(parent: Parent, task: SubagentTask, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const { harness, hub, onError } = this.#options;
    const { session, principal } = parent;
    const agent = task.agent ?? parent.fallback;
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
      const descent = descentOf(session, session_token, task);
      const run = new ChildRun({ hub: await hub, principal, agent, descent, task, onError });
      return await run.run(signal);
    } finally {
      await harness.identity.revokeSession(session_id, principal).catch(onError);
    }
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

/** What a child stands under: no more tools, and no larger an allowance, than its parent. */
function descentOf(
  { id, depth, descent, workspace }: GovernedSession,
  token: string,
  { tools, allowance }: SubagentTask,
): Descent {
  const above = descent?.allowance ?? ALLOWANCE;
  const inherited = descent?.tools;
  return {
    parent: id,
    token,
    depth: depth + 1,
    roots: workspace.realRoots ?? workspace.roots,
    tools: tools && inherited ? tools.filter((tool) => inherited.includes(tool)) : (tools ?? inherited),
    allowance: {
      calls: Math.min(allowance?.calls ?? ALLOWANCE.calls, above.calls),
      tokens: Math.min(allowance?.tokens ?? ALLOWANCE.tokens, above.tokens),
    },
  };
}
