import { isObject } from "@reins/acp";
import type { SnapshotTurn } from "@reins/agent";
import type { AgentEntry } from "@reins/agents";
import { amountOf } from "@reins/kit";
import type {
  ControlEvent,
  DecisionInput,
  Enforcement,
  Harness,
  NetworkReach,
  Origin,
  Principal,
  Workspace,
} from "@reins/supervisor";
import type { Clients } from "./ask-clients.ts";
import type { ControlPoint } from "./control-point.ts";
import type { MutationScope } from "./mutation-scope.ts";

/** How much a session may use that another one started. */
export interface Allowance {
  /** Calls of tools. */
  readonly calls: number;
  /** Tokens, as far as its agent reports them. */
  readonly tokens: number;
  /** Money, in the currency of prices, as far as that is known; no limit where absent. */
  readonly cost?: number | undefined;
}

/**
 * What a session that another one started has used, and those below it: all of that counts against what each of them was
 * given, so that no task gets more by giving some of it away.
 */
export class DelegatedUsage {
  readonly #allowance: Allowance;
  readonly #above: DelegatedUsage | undefined;
  readonly #own = { calls: 0, tokens: 0, cost: 0 };
  /** What those below it used. */
  readonly below = { calls: 0, tokens: 0, cost: 0 };

  constructor(allowance: Allowance, above: DelegatedUsage | undefined) {
    this.#allowance = allowance;
    this.#above = above;
  }

  /** Takes what the session itself has used so far of tokens and money. */
  note(used: Readonly<Record<"tokens" | "cost", number>>): void {
    for (const kind of ["tokens", "cost"] as const) {
      const more = Math.max(0, used[kind] - this.#own[kind]);
      this.#own[kind] += more;
      for (const one of this.#chain()) one.below[kind] += more;
    }
  }

  /** Counts calls of the session itself, or takes them off the count. */
  count(calls: 1 | -1): void {
    this.#own.calls += calls;
    for (const one of this.#chain()) one.below.calls += calls;
  }

  /** Whether a task above has calls left. */
  get hasCalls(): boolean {
    return [...this.#chain()].every((one) => one.#own.calls + one.below.calls < one.#allowance.calls);
  }

  /** Why a task above can use no more, if so. */
  get exceeded(): string | undefined {
    for (const one of this.#chain()) {
      const { tokens, cost } = one.#allowance;
      if (one.#own.tokens + one.below.tokens > tokens)
        return `the ${tokens} tokens of the task above are used up`;
      if (cost !== undefined && one.#own.cost + one.below.cost >= cost)
        return `the budget of ${cost} of the task above is used up`;
    }
    return undefined;
  }

  *#chain(): Generator<DelegatedUsage, void, undefined> {
    for (let one = this.#above; one; one = one.#above) yield one;
  }
}

/** The limits of a session that another one started. In memory only; ends with the turn or the process that started it. */
export interface Descent {
  /** The session that started it. */
  readonly parent: string;
  /** The worker that that one is, where it has a parent too. */
  readonly parentWorker?: string | undefined;
  /** The worker that it is, as clients of the parent know it. */
  readonly worker?: string | undefined;
  /** Identifies it to identity, which has its scopes and its chain. */
  readonly token: string;
  /** How far below the user's own agent it is. */
  readonly depth: number;
  /** The folders of the session that started it: it works in no others. */
  readonly roots: readonly string[];
  /** The worktree that Reins made for it, which is then its only folder. */
  readonly worktree?: string | undefined;
  /** The only tools it may use; all that the policy allows when absent. */
  readonly tools?: readonly string[] | undefined;
  /** How far it may change things; as far as rules allow when absent. */
  readonly mutationScope?: MutationScope | undefined;
  /** The only files and folders it may write, as real paths; as the rest allows when absent. */
  readonly mayWrite?: readonly string[] | undefined;
  readonly allowance: Allowance;
  readonly usage?: DelegatedUsage | undefined;
  /** The session of the user, and its turn, with which is kept what files were before it changes them; its own if absent. */
  readonly keptWith?: { readonly session: string; readonly turn: SnapshotTurn } | undefined;
  /** The durable run that goes on with it after a restart, and the key of its session, which that run has stored. */
  readonly run?: string | undefined;
  readonly key?: string | undefined;
  /** Why a person is asked about an action that may repeat what it did before a restart. */
  readonly repeats?: ((action: DecisionInput["action"]) => string | undefined) | undefined;
  /** Why no other agent can go on with it than one that has its session, if so. */
  readonly mustLoad?: string | undefined;
}

/** The agent whose actions are enforced, and what enforcing them needs. */
export interface ControlContext {
  readonly harness: Harness;
  readonly principal: Principal;
  readonly entry: Pick<AgentEntry, "id">;
  readonly profile: AgentProfile;
  /** The enforcement level of what the agent does by itself. */
  readonly enforcement: Enforcement;
  /** The same for single tools that differ. */
  readonly enforcementOf?: ((tool: string) => Enforcement | undefined) | undefined;
  /** The network that the sandbox leaves to the agent, where it is confined. */
  readonly network?: NetworkReach | undefined;
  readonly now: () => Date;
  readonly newId: () => string;
  /** Receives faults of the agent and of records that could not be written. */
  readonly onFault: (reason: string) => void;
}

/** What the subject of an action is looked up with. */
export interface SubjectContext {
  readonly harness: Pick<Harness, "identity">;
  readonly principal: Principal;
  readonly entry: Pick<AgentEntry, "id">;
  readonly network?: NetworkReach | undefined;
  readonly enforcement?: Enforcement;
  readonly enforcementOf?: ((tool: string) => Enforcement | undefined) | undefined;
}

/** Where an action arises, as far as its subject depends on it. */
export interface SubjectScope {
  readonly context: SubjectContext;
  readonly id: string;
  readonly record: { readonly key?: string | undefined; readonly acts_as?: string | undefined };
  /** The mode that Reins put the agent into. */
  readonly mode?: string | undefined;
  /** The mode the agent says it is in. */
  readonly claimedMode?: string | undefined;
  readonly depth: number;
  readonly descent?: Descent | undefined;
  /** How far it may change things; as far as rules allow when absent. */
  readonly mutationScope?: MutationScope | undefined;
  /** Where the agent's own tools work. */
  readonly workspace: Workspace;
  /** The same place for what Reins performs or forwards. */
  readonly served: Workspace;
  readonly toolCalls: { readonly begun: number };
  /** How many of its agent's actions are allowed or being decided; an allowance counts them. */
  readonly actions?: { count: number } | undefined;
  readonly turn?:
    | {
        readonly id: string;
        /** The user who prompted it, where that is known. */
        readonly promptedBy?: string | undefined;
        readonly entries: string[];
        readonly tokens: number;
        /** What it has cost so far, as far as that is known. */
        readonly cost?: number | undefined;
        awaits(writing: Promise<unknown>): void;
        /** Notes a verdict that is not written yet: the next request to a model waits for it. */
        defer(written: Promise<string | undefined>): void;
      }
    | undefined;
}

/** Where a control point arises: a session, or the connection to an agent outside of any. */
export interface ControlScope extends SubjectScope {
  readonly context: ControlContext;
}

/** One whose clients can be asked. */
export interface AskableScope extends ControlScope {
  readonly clients: Clients;
}

/** The limits of a session that another one started, for one action of it. */
interface DelegationLimits {
  /** Why an event exceeds what the session was given. An action of the agent counts against its allowance from then on. */
  readonly bounds: (event: ControlEvent, tool: string) => string | undefined;
  /** Takes an action that was not allowed off the allowance's count. */
  readonly uncount: () => void;
}

/** Why a task's budget of money cannot hold for a request to a model, if so: what that costs is not known. */
export function beyondPrice({ allowance: { cost } }: Descent, point: ControlPoint): string | undefined {
  const unpriced = "reserves" in point ? point.reserves?.unpriced : undefined;
  if (cost === undefined || unpriced === undefined) return undefined;
  return `the task's budget of ${cost} cannot hold: ${unpriced}`;
}

/**
 * The limits of a delegated session for one action. What an agent does counts from the moment it is decided, so that no
 * number of actions at once exceeds an allowance.
 */
export function delegationLimits(
  { toolCalls, turn, actions }: Pick<SubjectScope, "toolCalls" | "turn" | "actions">,
  { tools, allowance, usage }: Pick<Descent, "tools" | "allowance" | "usage">,
  point: { readonly event_type: ControlEvent["event_type"]; readonly origin: Origin },
): DelegationLimits {
  const counted = point.event_type === "pre_action" && point.origin === "agent" ? actions : undefined;
  let isCounted = false;
  const hasRoom = () => {
    if (!counted || isCounted) return true;
    if (counted.count + (usage?.below.calls ?? 0) >= allowance.calls || usage?.hasCalls === false)
      return false;
    isCounted = true;
    counted.count += 1;
    usage?.count(1);
    return true;
  };
  return {
    bounds({ event_type, payload }, tool) {
      if (event_type !== "pre_action" && event_type !== "pre_prompt") return undefined;
      if (event_type === "pre_action" && tools && !tools.includes(tool))
        return `the task was given ${tools.join(", ") || "no tools"}, and not ${tool}`;
      if (toolCalls.begun > allowance.calls || !hasRoom())
        return `the task's ${allowance.calls} calls are used up`;
      const reported = isObject(payload) ? payload.tokens_used : undefined;
      const own = { tokens: Math.max(amountOf(reported) ?? 0, turn?.tokens ?? 0), cost: turn?.cost ?? 0 };
      usage?.note(own);
      if (own.tokens + (usage?.below.tokens ?? 0) > allowance.tokens)
        return `the task's ${allowance.tokens} tokens are used up`;
      const { cost } = allowance;
      return cost !== undefined && own.cost + (usage?.below.cost ?? 0) >= cost
        ? `the task's budget of ${cost} is used up`
        : usage?.exceeded;
    },
    uncount() {
      if (counted && isCounted) {
        counted.count -= 1;
        usage?.count(-1);
      }
      isCounted = false;
    },
  };
}

/** How an agent takes part in being governed. Third-party agents and the native one differ in this data alone. */
export interface AgentProfile {
  /** When prompts are decided: once a turn by the governor, or by the agent for every request to its model. */
  readonly decidesPrompts: "per_turn" | "per_request";
  /** Where the constitution and the mandate go: into the prompt, or into the system prompt of every request. */
  readonly instructions: "in_prompt" | "in_system_prompt";
  /** Whether the agent interprets prompt texts (`/command`, `@path`) or treats all of it as text. */
  readonly interpretsPrompts: boolean;
  /** Whether it takes a prompt in a turn under way, or each waits for a turn of its own. */
  readonly steering: "in_turn" | "own_turn";
  /** What it can do with a verdict that modifies a call: act on the modified arguments, or nothing. */
  readonly modifiedCalls: "performed" | "inexpressible";
  /** Whether a permission request has the arguments of its call, or an update may bring them right after it. */
  readonly argumentsCome: "with_request" | "later";
  /** When its model learns why something was refused: with the answer, or in front of the next prompt. */
  readonly refusals: "with_answer" | "next_prompt";
  /** Who reports runs and tasks: the governor derives them from turns and plans, or the agent reports its own. */
  readonly runs: "derived" | "reported";
  /** Whether its updates are checked for work without a verdict, and its messages for names reserved to Reins. */
  readonly isObserved: boolean;
  /** Its methods beyond sessions and prompts, where they are fixed; else its capabilities announce them. */
  readonly methods: ReadonlySet<string> | undefined;
}

export const THIRD_PARTY: AgentProfile = {
  decidesPrompts: "per_turn",
  instructions: "in_prompt",
  interpretsPrompts: true,
  steering: "own_turn",
  modifiedCalls: "inexpressible",
  argumentsCome: "later",
  refusals: "next_prompt",
  runs: "derived",
  isObserved: true,
  methods: undefined,
};

/** The native agent asks before every tool and model request, so nothing of it is seen only afterwards. */
export const NATIVE: AgentProfile = {
  decidesPrompts: "per_request",
  instructions: "in_system_prompt",
  interpretsPrompts: false,
  steering: "in_turn",
  modifiedCalls: "performed",
  argumentsCome: "with_request",
  refusals: "with_answer",
  runs: "reported",
  isObserved: false,
  methods: new Set(["session/set_mode", "session/set_config_option"]),
};
