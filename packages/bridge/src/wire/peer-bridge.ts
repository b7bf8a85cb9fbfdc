import { type Channel, CODE, type JsonObject, Peer, RpcError } from "@reins/acp";
import { type Clock, raceAbort, systemClock } from "@reins/kit";
import { z } from "zod";
import { type SearchableTool, ToolIndex } from "../search/tool-index.ts";
import { searchTools } from "../search/tool-search.ts";
import { hostSkill } from "../skills/host-skills.ts";
import { rankSkills } from "../skills/rank.ts";
import {
  announcesHarnOnly,
  BRIDGE_DEADLINES_MS,
  BridgeCallError,
  type BridgeMethod,
  type BridgePort,
  type HostNotification,
  isHostNotification,
  offersBridge,
} from "./bridge-port.ts";

/** The code by which a host rejects the call of a tool. */
const REJECTED = -32001;

type Listener = (params: JsonObject) => void;

type Offers = (sessionId: string, method: BridgeMethod) => boolean;

/** The connection that a bridge uses. */
type BridgePeer = Pick<Peer, "request" | "signal">;

/** The bridge of an agent over a JSON-RPC connection: ACP, or plain lines below it. */
export class PeerBridge implements BridgePort {
  readonly #peer: BridgePeer;
  readonly #clock: Pick<Clock, "now" | "after">;
  readonly #pulse: HostPulse;
  readonly #offers: Offers;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** The capabilities of an ACP client; a host below ACP has none, and is asked. */
  capabilities: JsonObject | undefined;

  /** @param offers whether a client of a session offers a method, where that is known without asking */
  constructor(
    peer: BridgePeer,
    clock: Pick<Clock, "now" | "after"> = systemClock,
    offers: Offers = () => true,
  ) {
    this.#peer = peer;
    this.#offers = offers;
    this.#clock = clock;
    this.#pulse = new HostPulse(clock);
  }

  async call(
    sessionId: string,
    method: BridgeMethod,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    if (!this.offers(sessionId, method))
      throw new BridgeCallError("no_host", `the client does not offer "${method}"`);
    try {
      const ask = (asked: BridgeMethod) => (waiting: AbortSignal) =>
        this.#peer.request(asked, asked === method ? { ...params, sessionId } : { sessionId }, {
          signal: waiting,
        });
      // The call of a tool may take as long as the tool.
      if (method === "builtin_call") return await withinDeadline(method, signal, ask(method), this.#clock);
      const probe = announcesHarnOnly(this.capabilities) ? ask("host/capabilities") : undefined;
      return await this.#pulse.request(method, signal, ask(method), probe);
    } catch (error) {
      if (signal.aborted || error instanceof BridgeCallError) throw error;
      throw this.#faultOf(method, error);
    }
  }

  offers(sessionId: string, method: BridgeMethod): boolean {
    const isKnown = !this.capabilities || offersBridge(this.capabilities, method);
    return isKnown && this.#offers(sessionId, method);
  }

  subscribe(sessionId: string, method: HostNotification, listener: Listener): () => void {
    const key = keyOf(sessionId, method);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  /** Delivers a notification of the host; returns whether it is one of the bridge. */
  receive(method: string, params: JsonObject): boolean {
    if (!isHostNotification(method)) return false;
    this.#pulse.answered();
    const { sessionId } = params;
    if (typeof sessionId === "string")
      for (const listener of this.#listeners.get(keyOf(sessionId, method)) ?? []) listener(params);
    return true;
  }

  #faultOf(method: string, error: unknown): BridgeCallError {
    const { code, message } = RpcError.of(error);
    if (this.#peer.signal.aborted)
      return new BridgeCallError("closed", `the connection closed before ${method} was answered`, {
        cause: error,
      });
    if (code === CODE.methodNotFound) return new BridgeCallError("no_host", message, { cause: error });
    if (code === REJECTED) return new BridgeCallError("rejected", message, { cause: error });
    return new BridgeCallError("failed", `host error (${code}): ${message}`, { cause: error });
  }
}

function keyOf(sessionId: string, method: HostNotification): string {
  return `${method} ${sessionId}`;
}

/**
 * Runs a request to a host until its method's deadline. The signal that it gets aborts then, or with the caller's; rejects
 * with that signal's reason.
 */
export async function withinDeadline<Result>(
  method: BridgeMethod,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<Result>,
  clock: Pick<Clock, "after"> = systemClock,
): Promise<Result> {
  signal.throwIfAborted();
  const deadline = new AbortController();
  const milliseconds = BRIDGE_DEADLINES_MS[method];
  const late = `the host did not answer ${method} within ${milliseconds / 1_000} s`;
  const cancelTimer = clock.after(milliseconds, () => deadline.abort(new BridgeCallError("timeout", late)));
  const waiting = AbortSignal.any([signal, deadline.signal]);
  try {
    return await raceAbort(run(waiting), waiting);
  } catch (error) {
    throw waiting.aborted ? waiting.reason : error;
  } finally {
    cancelTimer();
  }
}

/** How long a host that answers nothing is not asked again. */
const SILENT_MS = 60_000;
const SILENT = "the host answers nothing; it is asked again in a minute";

/** A request to a host that is cancelled by a signal. */
type Ask<Result> = (signal: AbortSignal) => Promise<Result>;

/**
 * Notices a host that answers nothing. Some clients announce a bridge and know none of its methods: without this, each turn
 * would wait for the deadline of each. A host that has not answered yet is asked for its capabilities beside the first
 * request; any answer, an error too, shows that it is there.
 */
export class HostPulse {
  readonly #clock: Pick<Clock, "now" | "after">;
  #hasAnswered = false;
  #silentUntil = 0;
  #probing: Promise<boolean> | undefined;

  constructor(clock: Pick<Clock, "now" | "after"> = systemClock) {
    this.#clock = clock;
  }

  /**
   * Runs a request until its method's deadline, or until the host is known to answer nothing.
   * @param probe asks for `host/capabilities`; absent where the host does not offer that
   */
  async request<Result>(
    method: BridgeMethod,
    signal: AbortSignal,
    ask: Ask<Result>,
    probe?: Ask<unknown>,
  ): Promise<Result> {
    if (this.#silentUntil > this.#now()) throw new BridgeCallError("timeout", SILENT);
    const silence = new AbortController();
    if (probe && !this.#hasAnswered)
      void this.#probe(probe).then((isSilent) => {
        if (isSilent) silence.abort(new BridgeCallError("timeout", SILENT));
      });
    try {
      const waiting = AbortSignal.any([signal, silence.signal]);
      const result = await withinDeadline(method, waiting, ask, this.#clock);
      this.answered();
      return result;
    } catch (error) {
      if (!signal.aborted) this.#note(error);
      throw error;
    }
  }

  /** Notes that the host has sent something. */
  answered(): void {
    this.#hasAnswered = true;
    this.#silentUntil = 0;
  }

  /** Whether the host answers nothing, not even with an error. Asked once, however many wait for it. */
  #probe(probe: Ask<unknown>): Promise<boolean> {
    const { signal } = new AbortController();
    this.#probing ??= withinDeadline("host/capabilities", signal, probe, this.#clock)
      .then(
        () => this.answered(),
        (error: unknown) => this.#note(error),
      )
      .then(() => {
        this.#probing = undefined;
        return !this.#hasAnswered;
      });
    return this.#probing;
  }

  #note(error: unknown): void {
    const isLate = error instanceof BridgeCallError && error.code === "timeout";
    if (!isLate) {
      this.answered();
      return;
    }
    this.#hasAnswered = false;
    this.#silentUntil = this.#now() + SILENT_MS;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

/** Answers one request of an agent. */
type Answer = (params: JsonObject, signal: AbortSignal) => unknown;

/** What a host offers to the agent at the other end of a channel; a method that is absent is answered as unknown. */
export type HostOffer = Readonly<Record<string, Answer>>;

/** What is done with the notifications of the agent. */
export type HostListener = (method: string, params: JsonObject) => void;

/**
 * The host's end of the bridge over any channel: ACP, or plain lines below it. Requests are answered concurrently, by
 * string and number ids alike; the end of the channel aborts what is being answered and fails what waits.
 */
export function serveHost(
  channel: Channel,
  offer: HostOffer,
  listener: HostListener = () => undefined,
): Peer {
  return new Peer(channel, {
    async request(method, params, { signal }) {
      const answer = Object.hasOwn(offer, method) ? offer[method] : undefined;
      if (!answer) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
      return answer(params, signal);
    },
    notification: listener,
  });
}

const MAX_CANDIDATES = 10_000;
const MAX_SKILLS = 1_000;
const MAX_MATCHES = 20;

const ToolQuery = z.object({
  query: z.string(),
  candidates: z.array(z.string()).max(MAX_CANDIDATES),
  candidate_details: z.array(z.object({ name: z.string(), description: z.string() })).optional(),
});
const SkillQuery = z.object({
  prompt: z.string(),
  working_files: z.array(z.string()).default([]),
  candidates: z.array(z.looseObject({ name: z.string() })).max(MAX_SKILLS),
});

/**
 * Answers `tool_search/query` and `skill/match` of an agent with the rankers that the native agent has. `tools` are those
 * that the host itself knows: an agent may send the names of its candidates alone.
 */
export function hostRankers(tools: readonly Pick<SearchableTool, "name" | "description">[] = []): HostOffer {
  const known = new Map(tools.map(({ name, description }) => [name, description]));
  return {
    "tool_search/query": async (params, signal) => {
      const { query, candidates, candidate_details = [] } = parsed(ToolQuery, params);
      const described = new Map(candidate_details.map(({ name, description }) => [name, description]));
      const index = new ToolIndex(
        candidates.map((name) => ({
          ...{ name, parameters: null },
          description: described.get(name) ?? known.get(name) ?? "",
        })),
      );
      const { hits, diagnostic } = await searchTools(index, query, { strategy: "bm25" }, signal);
      const tool_names = hits.map(({ name }) => name);
      return { tool_names, ...(diagnostic !== undefined && { diagnostic }) };
    },
    "skill/match": (params) => {
      const { prompt, working_files, candidates } = parsed(SkillQuery, params);
      const skills = candidates.flatMap((candidate) => {
        try {
          return [hostSkill({ ...candidate, id: candidate.name })];
        } catch {
          // What has no name that could be matched is no candidate.
          return [];
        }
      });
      const matches = rankSkills(skills, { prompt, workingFiles: working_files });
      return {
        matches: matches
          .slice(0, MAX_MATCHES)
          .map(({ skill, score, reason }) => ({ name: skill.id, score, reason })),
      };
    },
  };
}

function parsed<Type extends z.ZodType>(type: Type, params: JsonObject): z.infer<Type> {
  const { data, error } = type.safeParse(params);
  if (error)
    throw new RpcError(CODE.invalidParams, z.prettifyError(error).slice(0, 500), undefined, { cause: error });
  return data;
}
