import { randomUUID } from "node:crypto";
import type { JsonObject } from "@reins/acp";
import { errorMessage, LruCache } from "@reins/kit";
import {
  type HookEvent,
  type HookPort,
  isOperator,
  type Principal,
  type PromptStep,
  type Subject,
  SupervisorError,
  sessionKey,
  type Workspace,
} from "@reins/supervisor";
import { z } from "zod";
import type { SessionFolders } from "../governor/session-folders.ts";
import { realPlace } from "../governor/text-file.ts";
import type { HubContext } from "../hub/context.ts";
import { newSessionRecord } from "../sessions/new-session.ts";
import { type Session, UPDATE } from "../sessions/session.ts";
import { promptSteps } from "./prompt-steps.ts";

/** What a hook says beside its event: where the agent works, and which of its calls and sub-agents it is about. */
const Hook = z.object({
  event: z.string().max(64),
  cwd: z.string().max(4_096),
  root: z.string().max(4_096),
  call: z.string().max(256).optional(),
  /** Stands for the call where the agent gives it no name: a digest of the tool and its arguments. */
  digest: z.string().max(256).optional(),
  /** Which prompt of the agent it belongs to: some agents say their prompt again with each result. */
  prompt: z.string().max(256).optional(),
  subagent: z.string().max(256).optional(),
  subagent_type: z.string().max(256).optional(),
});
type Hook = z.infer<typeof Hook>;

const MOST_SESSIONS = 1_000;
const MOST_FOLDERS = 64;
const MOST_CALLS = 1_000;
const LONGEST_TITLE = 80;
/** How many entries of the ledger the entry of a turn names; those after them are in the chain all the same. */
const MOST_ENTRIES = 10_000;

/** An allowed call whose end was not reported yet. */
interface OpenHookCall {
  /** The entry of its verdict. */
  readonly entry: string;
  /** Its name on the page. */
  readonly shown: string;
}

interface AskedPrompt {
  readonly prompt: unknown;
  isShown: boolean;
  readonly allowed: Map<string, string | undefined>;
}

/** What this process knows of a session: its folders, its open calls, and the turn that runs. */
interface KnownSession {
  readonly roots: readonly string[];
  /** By where the agent is: one object per folder, because facts are found out once for each. */
  readonly workspaces: LruCache<string, Workspace>;
  /** By the agent's own name of a call, or its digest, by which several may be the same. */
  readonly calls: LruCache<string, readonly OpenHookCall[]>;
  /** The prompt that is being decided: whether it is shown, and the steps for it that were allowed, with their entries. */
  asked: AskedPrompt | undefined;
  turn: RunningTurn | undefined;
}

interface RunningTurn {
  readonly id: string;
  readonly started: string;
  readonly prompt: string | undefined;
  readonly entries: string[];
}

/**
 * The sessions of agents in terminals, whose hooks ask Reins over AHP. Reins does not run them: it decides, and shows
 * what it was asked and told. Only hooks of the operator, on the socket of the home, make such sessions.
 */
export class HookSessions implements HookPort {
  readonly #hub: HubContext;
  readonly #folders: SessionFolders;
  readonly #known = new LruCache<string, KnownSession>({ entries: MOST_SESSIONS });
  /** What each reported end was the end of, until it is shown. */
  readonly #ended = new WeakMap<HookEvent, OpenHookCall>();

  constructor(hub: HubContext, folders: SessionFolders) {
    this.#hub = hub;
    this.#folders = folders;
  }

  /** Where the agent works: in the folder in which its session began, which is admitted like that of any session. */
  async workspaceOf(event: HookEvent, principal: Principal): Promise<Workspace | undefined> {
    const hook = hookIn(event);
    if (!hook || !isOperator(principal)) return undefined;
    const session = await this.#sessionOf(event, hook, principal);
    const known = this.#known.get(session.id) ?? (await this.#admit(session, event, principal));
    const workspace = known.workspaces.get(hook.cwd) ?? workspaceAt(hook.cwd, known.roots);
    known.workspaces.set(hook.cwd, workspace);
    return workspace;
  }

  subagentChange(event: HookEvent): "subagent_start" | "subagent_stop" | undefined {
    const hook = hookIn(event);
    return hook?.subagent === undefined ? undefined : SUBAGENT_CHANGES.get(hook.event);
  }

  async stepsOf(
    event: HookEvent,
    principal: Principal,
    workspace: Workspace,
  ): Promise<readonly PromptStep[]> {
    const hook = hookIn(event);
    const session = hook && this.#hub.sessions.get(event.session_id);
    const known = session && this.#known.get(session.id);
    if (!known || !isOperator(principal)) return [];
    const prompt = promptIn(event);
    const before = known.asked?.prompt === prompt ? known.asked : undefined;
    const asked: AskedPrompt = before ?? { prompt, isShown: false, allowed: new Map() };
    known.asked = asked;
    const all = await promptSteps(event.agent_id, String(prompt ?? ""), workspace);
    for (const { path, title } of all) {
      const real = path === undefined ? undefined : await realPlace(path);
      const beyond = real && (await this.#folders.outOfReach(principal, { real, isDestroyed: false }));
      if (beyond !== undefined) throw new SupervisorError("forbidden", `it would ${title}, and ${beyond}`);
    }
    return all.filter(({ title }) => !asked.allowed.has(title));
  }

  stepAllowed(event: HookEvent, { title }: PromptStep, entry: string | undefined): void {
    const session = this.#hub.sessions.get(event.session_id);
    const known = session && this.#known.get(session.id);
    known?.asked?.allowed.set(title, entry);
  }

  endedCall(event: HookEvent, subject: Subject): { readonly entry: string | undefined } | undefined {
    const hook = hookIn(event);
    const session = hook && this.#hub.sessions.get(event.session_id);
    const known = session && this.#known.get(session.id);
    const name = hook && nameOf(hook);
    if (!known || name === undefined || !isOwn(session, subject)) return undefined;
    const [call, ...others] = known.calls.get(name) ?? [];
    if (others.length > 0) known.calls.set(name, others);
    else known.calls.delete(name);
    if (call) this.#ended.set(event, call);
    return { entry: call?.entry };
  }

  /** Shows an event in its session, with what was decided, and ends the turn or the session that it ends. */
  async show(event: HookEvent, subject: Subject, decision?: JsonObject): Promise<void> {
    const hook = hookIn(event);
    const session = hook && this.#hub.sessions.get(event.session_id);
    const known = session && this.#known.get(session.id);
    if (!hook || !known || !isOwn(session, subject)) return;
    const goesOn = known.turn?.prompt !== undefined && known.turn.prompt === hook.prompt;
    const isNew = event.event_type === "pre_prompt" && !goesOn;
    const ended = this.#ended.get(event);
    const shown = ended?.shown ?? hook.call ?? randomUUID();
    const call = { toolCallId: shown, isOpen: ended !== undefined };
    const { asked } = known;
    const isShown = event.event_type === "pre_prompt" && (goesOn || asked?.isShown === true);
    const update = isShown ? undefined : updateFor(event, hook, call, decision);
    if (update) await this.#append(session, update);
    if (isNew && asked) asked.isShown = true;
    if (isNew && !WAITS.has(decision?.decision)) known.asked = undefined;
    if (isNew && decision?.decision === "allow") {
      // An agent that was interrupted reports no end of its turn.
      await this.#endTurn(session, known, subject, "cancelled");
      known.turn = this.#newTurn(hook, asked?.allowed.values());
      const title = session.record.title ?? titleOf(this.#hub.harness.redact(promptIn(event)));
      await session.apply({ type: "annotated", changes: { title } });
    }
    // The prompt of a turn may have come before a restart.
    if (event.event_type === "pre_action") known.turn ??= this.#newTurn(hook);
    const { entry } = metadataOf(decision);
    if (typeof entry === "string" && known.turn && known.turn.entries.length < MOST_ENTRIES)
      known.turn.entries.push(entry);
    if (event.event_type === "pre_action") noteVerdict(known, hook, shown, entry);
    if (event.event_type === "post_response") await this.#endTurn(session, known, subject, "end_turn");
    if (event.event_type === "session_end") {
      await this.#endTurn(session, known, subject, "cancelled");
      await session.end({ reason: "completed", terminated_by: "agent" });
      this.#known.delete(session.id);
    }
  }

  #newTurn({ prompt }: Hook, before: Iterable<string | undefined> = []): RunningTurn {
    const entries = [...before].filter((entry) => entry !== undefined);
    return { id: randomUUID(), started: this.#hub.clock.now().toISOString(), prompt, entries };
  }

  /** The session of an event: a new one, or one that goes on. What a person has ended stays so. */
  async #sessionOf(event: HookEvent, hook: Hook, principal: Principal): Promise<Session> {
    const { sessions, clock } = this.#hub;
    const { session_id: id, agent_id: agent } = event;
    const stored = sessions.get(id)?.record ?? (await sessions.read(id, principal.tenant));
    const key = `${agent}:ahp:${id}`;
    if (stored && stored.key !== key)
      throw new SupervisorError("forbidden", `the session ${id} is not one of ${agent} in a terminal`);
    if (stored?.ended?.terminated_by === "daemon")
      throw new SupervisorError("forbidden", "the session was ended in Reins; start a new one");
    const named = { agent, principal, channel: "ahp", peer: id, created: clock.now(), cwd: hook.root, key };
    const session = sessions.serve(stored ?? { ...newSessionRecord(named), id, agent_session_id: id });
    if (stored?.ended) await session.apply({ type: "reopened", mode: undefined });
    return session;
  }

  async #admit(
    session: Session,
    { agent_id: agent }: HookEvent,
    principal: Principal,
  ): Promise<KnownSession> {
    const { cwd } = session.record;
    const request = { principal, agent, method: "session/new", cwd, isConfined: false };
    const place = await this.#folders.admit(request).catch((error: unknown) => {
      this.#hub.sessions.forget(session);
      throw new SupervisorError("forbidden", errorMessage(error), { cause: error });
    });
    // Calls that an agent makes at once arrive at once.
    const other = this.#known.get(session.id);
    if (other) return other;
    const known: KnownSession = {
      roots: place.real,
      workspaces: new LruCache({ entries: MOST_FOLDERS }),
      calls: new LruCache({ entries: MOST_CALLS }),
      asked: undefined,
      turn: undefined,
    };
    this.#known.set(session.id, known);
    await session.apply({ type: "annotated", changes: {} });
    return known;
  }

  async #endTurn(
    session: Session,
    known: KnownSession,
    subject: Subject,
    stop_reason: "end_turn" | "cancelled",
  ): Promise<void> {
    const { turn } = known;
    if (!turn) return;
    known.turn = undefined;
    const { harness, clock } = this.#hub;
    const { id, started, entries } = turn;
    const completed_at = clock.now().toISOString();
    const { constitution_hash = null, rules_hash = null } =
      harness.policies.status(subject.tenant)?.policy?.hashes ?? {};
    const payload = {
      ...{ actor: subject.agent, completed_at, constitution_hash, entries, rules_hash, started_at: started },
      ...{ stop_reason, timestamp: started, turn: id, usage: {} },
    };
    const named = { actor: subject.agent, target: subject.session, entity_id: sessionKey(subject) };
    await harness.record([{ quality: "turn", ...named, tags: [`turn:${id}`, stop_reason], payload }]);
    await session.apply({ type: "annotated", changes: {} });
  }

  async #append(session: Session, update: JsonObject): Promise<void> {
    const shown = Object(this.#hub.harness.redact(update));
    await session.append({ message: { method: UPDATE, params: { sessionId: session.id, update: shown } } });
  }
}

/** The events of hooks by which sub-agents begin and end. */
const SUBAGENT_CHANGES: ReadonlyMap<string, "subagent_start" | "subagent_stop"> = new Map([
  ["SubagentStart", "subagent_start"],
  ["SubagentStop", "subagent_stop"],
  ["subagentStart", "subagent_start"],
  ["subagentStop", "subagent_stop"],
]);

/** The decisions after which the same prompt is asked about again. */
const WAITS: ReadonlySet<unknown> = new Set(["escalate", "defer"]);

/** What identifies the call of an event: the agent's own name of it, else what it is. */
function nameOf({ call, digest }: Hook): string | undefined {
  return call ?? digest;
}

/** Remembers by which verdict a call may begin; a call that was refused has none, whatever was said to it before. */
function noteVerdict({ calls }: KnownSession, hook: Hook, shown: string, entry: unknown): void {
  const name = nameOf(hook);
  if (name === undefined) return;
  const others = hook.call === undefined ? (calls.get(name) ?? []) : [];
  const all = typeof entry === "string" ? [...others, { entry, shown }].slice(-MOST_CALLS) : others;
  if (all.length > 0) calls.set(name, all);
  else calls.delete(name);
}

/** Whether a session is one of the user. Two tenants may both have users of one name. */
function isOwn({ record }: Session, { tenant, user }: Subject): boolean {
  return record.tenant === tenant && record.user === user;
}

function hookIn({ metadata }: HookEvent): Hook | undefined {
  if (metadata?.hook === undefined) return undefined;
  const read = Hook.safeParse(metadata.hook);
  if (read.success) return read.data;
  throw new SupervisorError("invalid", "metadata.hook does not say where the agent works");
}

function workspaceAt(cwd: string, roots: readonly string[]): Workspace {
  return { cwd: cwd.startsWith("/") ? cwd : (roots[0] ?? "/"), roots, realRoots: roots };
}

function promptIn({ payload }: HookEvent): unknown {
  return Object(payload).prompt;
}

function titleOf(prompt: unknown): string {
  const [line = ""] = String(prompt).trim().split("\n", 1);
  return line.slice(0, LONGEST_TITLE).toWellFormed();
}

function metadataOf(decision: JsonObject | undefined): JsonObject {
  return Object(decision?.metadata);
}

/** What the page shows of an event; a call by its name there, and whether its end was still to come. */
function updateFor(
  event: HookEvent,
  hook: Hook,
  { toolCallId, isOpen }: { readonly toolCallId: string; readonly isOpen: boolean },
  decision: JsonObject | undefined,
): JsonObject | undefined {
  const payload = Object(event.payload);
  const text = (said: unknown) => ({ content: { type: "text", text: String(said ?? "") } });
  const { subagent } = hook;
  const by = subagent === undefined ? {} : { subagent, subagent_type: hook.subagent_type };
  switch (event.event_type) {
    case "pre_prompt":
      return { sessionUpdate: "user_message_chunk", ...text(payload.prompt) };
    case "post_response":
      return payload.response
        ? { sessionUpdate: "agent_message_chunk", ...text(payload.response) }
        : undefined;
    case "pre_action": {
      const { decision: verdict, reason, escalation_target: asks } = decision ?? {};
      const isAllowed = verdict === "allow" || verdict === "modify";
      const status = isAllowed ? "in_progress" : verdict === "escalate" ? "pending" : "failed";
      const { enforcement = "asked", rule, entry, reason: why = reason } = metadataOf(decision);
      const reins = { verdict: VERDICTS[String(verdict)], reason: why, enforcement, rule, entry, ...by };
      return {
        ...{ sessionUpdate: "tool_call", toolCallId, title: payload.tool_name, status },
        ...{ kind: "other", rawInput: payload.arguments },
        _meta: { reins: { ...reins, ...(asks !== undefined && { approval: String(asks).slice(9) }) } },
      };
    }
    case "post_action":
      if (nameOf(hook) === undefined) return undefined;
      return {
        ...(isOpen
          ? { sessionUpdate: "tool_call_update", toolCallId }
          : { sessionUpdate: "tool_call", toolCallId, title: payload.tool_name, kind: "other" }),
        ...(!isOpen && { _meta: { reins: { enforcement: "observed", ungated: true, ...by } } }),
        status: payload.result?.success === false ? "failed" : "completed",
        content: [{ type: "content", ...text(payload.result?.output) }],
      };
    case "heartbeat": {
      const toolCallId = `subagent:${subagent}`;
      if (SUBAGENT_CHANGES.get(hook.event) === "subagent_start") {
        const title = `sub-agent ${hook.subagent_type ?? subagent}`;
        return { sessionUpdate: "tool_call", toolCallId, title, kind: "think", status: "in_progress" };
      }
      const content = payload.response ? [{ type: "content", ...text(payload.response) }] : [];
      return { sessionUpdate: "tool_call_update", toolCallId, status: "completed", content };
    }
    default:
      return undefined;
  }
}

const VERDICTS: Readonly<Record<string, string>> = {
  allow: "allowed",
  block: "blocked",
  modify: "modify",
  defer: "defer",
  escalate: "ask",
};
