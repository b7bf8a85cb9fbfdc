import { randomUUID } from "node:crypto";
import type { JsonObject } from "@reins/acp";
import type { ConversationRewind, ConversationTurn } from "@reins/agent";
import { errorMessage } from "@reins/kit";
import type { CallerAccess, CallerAction, FileCaller } from "../files/caller-access.ts";
import { FileFault } from "../files/file-fault.ts";
import type { TenantRoom } from "../files/tenant-room.ts";
import { NATIVE_AGENT } from "../graph/run-place.ts";
import type { Hub } from "../hub/hub.ts";
import { agentOf } from "../hub/resume.ts";
import { isElsewhere, type Session } from "../sessions/session.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { FileSnapshots, PlannedRestore, SnapshotPlace, SnapshotTurnInfo } from "./file-snapshots.ts";
import { effectsSince, type LastingEffect } from "./lasting-effects.ts";
import {
  byOrder,
  decideRestores,
  isRestorable,
  type RewoundFile,
  restoreFile,
  shownFile,
} from "./restore-files.ts";

export interface RewindsOptions {
  readonly home: string;
  readonly access: CallerAccess;
  readonly room: TenantRoom;
  readonly snapshots: FileSnapshots;
  readonly hub: () => Promise<Hub>;
  /** Whether the agent of a session has declared graphs: Reins then holds what its model is shown elsewhere. */
  readonly declares: (record: SessionRecord) => Promise<boolean>;
  /** Whether an action graph of a session is under way. */
  readonly actsIn: (record: SessionRecord) => boolean;
}

/** A turn that a session can go back to before, or an earlier rewind, which is undone so. */
export interface Rewindable {
  readonly id: string;
  /** When it began, RFC 3339. */
  readonly at: string;
  readonly kind: "turn" | "rewind";
  /** The beginning of the prompt. */
  readonly prompt: string | undefined;
  /** How many files and folders Reins changed in it. */
  readonly files: number;
  /** Whether the model is shown it; absent where Reins does not hold the conversation. */
  readonly inEffect: boolean | undefined;
  /** Of a rewind: the turn before which it went back. */
  readonly before: string | undefined;
  /** Whether a rewind was cut off by the end of the process: the same rewind once more completes it. */
  readonly isCut: boolean;
}

/** What a session can go back to. */
export interface RewindTimeline {
  readonly turns: readonly Rewindable[];
  /** Whether Reins holds the conversation, so that it can go back, too. */
  readonly conversation: boolean;
  /** The last turn whose files are not kept any more. */
  readonly forgotten: string | undefined;
}

/** A rewind that a caller wants. */
export interface RewindRequest {
  readonly session: string;
  readonly turn: string;
  readonly files: boolean;
  /** Where absent, the conversation goes back if Reins holds it. */
  readonly conversation: boolean | undefined;
  readonly dryRun: boolean;
  /** Whether what was changed otherwise since is replaced, and what can be restored is, where not everything can. */
  readonly force: boolean;
}

/** What became of a rewind, or would. */
export interface RewindOutcome {
  readonly turn: string;
  /** Whether everything was done that was wanted; false for a dry run, and where something stands in the way. */
  readonly done: boolean;
  /** The rewind itself: to go back to before it undoes it. */
  readonly rewind: string | undefined;
  readonly files: readonly RewoundFile[];
  readonly conversation: { readonly state: "rewound" | "pending" | "kept"; readonly reason?: string };
  /** What was done since and is not undone, by the ledger, with what sub-agents did. */
  readonly effects: readonly LastingEffect[];
  /** Whether there is more of that than is listed. */
  readonly isCut: boolean;
}

/** Takes sessions back to before a turn: their files, and the conversation where Reins holds it. */
export class Rewinds {
  readonly #options: RewindsOptions;

  constructor(options: RewindsOptions) {
    this.#options = options;
  }

  /** The turns that a session can go back to before, in their order. */
  async turns(caller: FileCaller, session: string): Promise<RewindTimeline> {
    const hub = await this.#options.hub();
    return this.#timeline(await expected(hub, caller, session));
  }

  /**
   * Takes a session back to before a turn. Nothing is changed where a file is not as Reins left it, or cannot be restored,
   * unless that is forced; every file is decided about before the first is written.
   */
  async rewind(caller: FileCaller, request: RewindRequest): Promise<RewindOutcome> {
    const hub = await this.#options.hub();
    const record = await expected(hub, caller, request.session);
    const session = hub.sessions.serve(record);
    if (record.ended) throw new FileFault("conflict", "the session has ended, and keeps nothing any more");
    if (isElsewhere(record))
      throw new FileFault(
        "not_implemented",
        "the agent of this session runs in a terminal, and writes by itself",
      );
    const { actions, unprompted } = session.agent?.governor.session(session.id) ?? {};
    const isActing = session.queue.isBusy || session.phase === "running" || unprompted !== undefined;
    if (isActing || (actions?.count ?? 0) > 0)
      throw new FileFault("conflict", "a turn is under way in this session: cancel it, or wait for its end");
    if (this.#options.actsIn(record))
      throw new FileFault("conflict", "an action graph of this session is under way: cancel it, or wait");
    return session.queue.run(() => this.#rewind(caller, session, request), caller.signal);
  }

  async #rewind(caller: FileCaller, session: Session, request: RewindRequest): Promise<RewindOutcome> {
    const { snapshots } = this.#options;
    const { record } = session;
    const place = placeOf(record);
    const { turns, conversation: holds, forgotten } = await this.#timeline(record);
    const notHeld = holds ? undefined : (await this.#options.declares(record)) ? DECLARES : NOT_HELD;
    const index = turns.findIndex(({ id }) => id === request.turn);
    const target = turns[index];
    if (!target) throw new FileFault("not_found", `there is no turn ${request.turn} in this session`);
    if (request.conversation && notHeld !== undefined) throw new FileFault("not_implemented", notHeld);
    if (request.files && forgotten !== undefined && index <= turns.findIndex(({ id }) => id === forgotten))
      throw new FileFault("conflict", `the files of turn ${target.id} are not kept any more`);
    const since = new Set(turns.slice(index).map(({ id }) => id));
    const kept = await snapshots.plan(place, since);
    const planned = request.files ? kept : [];
    const wantsConversation = request.conversation ?? holds;
    const report: RewindOutcome = {
      turn: target.id,
      done: false,
      rewind: undefined,
      files: planned.map((one) => shownFile(one, request.force)),
      conversation: wantsConversation
        ? { state: "pending" }
        : { state: "kept", ...(notHeld !== undefined && { reason: notHeld }) },
      ...(await effectsSince(session.hub, record, {
        at: target.at,
        kept: new Set(kept.map(({ path }) => path)),
      })),
    };
    const isHindered = planned.some(({ state }) => state === "conflict" || state === "lost");
    if (request.dryRun || (isHindered && !request.force)) return report;
    const inSession = { ...caller, session: record.id };
    const action: CallerAction = {
      ...{ caller: inSession, place: await this.#options.access.placeOf(inSession), kind: "setting" },
      tool: "session/rewind",
      arguments: {
        session: record.id,
        turn: target.id,
        conversation: wantsConversation,
        files: planned.length,
      },
    };
    if (wantsConversation) await agentOf(session, { signal: caller.signal }).catch(cannotGoBack);
    return this.#options.access.perform(action, async () => {
      const after = await this.#perform(inSession, session, { request, planned, report, wantsConversation });
      await session.update(noticeOf(target, after));
      return after;
    });
  }

  async #perform(
    caller: FileCaller,
    session: Session,
    { request, planned, report, wantsConversation }: Wanted,
  ): Promise<RewindOutcome> {
    const { snapshots } = this.#options;
    const place = placeOf(session.record);
    const restores = planned.filter((one) => isRestorable(one, request.force)).toSorted(byOrder);
    const { access, room } = this.#options;
    const begun = await decideRestores(access, caller, restores);
    const id = `rewind_${randomUUID()}`;
    const at = session.hub.clock.now().toISOString();
    const outcomes = new Map<string, RewoundFile>();
    try {
      await snapshots.begin(place, { id, at, before: request.turn }, restores);
      for (const one of restores) {
        const restoring = { caller, place, room, snapshots };
        const outcome = await restoreFile(restoring, one, begun.get(one.path));
        outcomes.set(one.path, { ...shownFile(one, request.force), ...outcome });
        // What follows may lie in what could not be restored, and a full disk does not become emptier.
        if (outcome.state === "failed") break;
      }
    } finally {
      for (const end of begun.values()) await end("failed");
    }
    const files = report.files.map((file) => outcomes.get(file.path) ?? file);
    const isWhole = restores.every(({ path }) => (outcomes.get(path)?.state ?? "failed") !== "failed");
    const before = request.turn;
    const isRewound =
      wantsConversation && isWhole && (await rewindConversation(session, { before, id, at }, caller.signal));
    const missed = restores.filter(({ path }) => outcomes.get(path)?.state !== "restored");
    await snapshots.end(
      place,
      id,
      missed.map(({ path }) => path),
    );
    const kept = !wantsConversation ? report.conversation.reason : isWhole ? NO_SUCH_TURN : NOT_WHOLE;
    return {
      ...{ ...report, rewind: id, files },
      done:
        files.every(({ state }) => state === "restored" || state === "unchanged") &&
        (isRewound || request.conversation !== true),
      conversation: isRewound
        ? { state: "rewound" }
        : { state: "kept", ...(kept !== undefined && { reason: kept }) },
    };
  }

  /** The turns of a conversation that Reins holds, and those in which it changed files, in their order. */
  async #timeline(record: SessionRecord): Promise<RewindTimeline> {
    const { home, snapshots, declares } = this.#options;
    const isNative = record.agent === NATIVE_AGENT && !isElsewhere(record);
    const conversation = isNative && !(await declares(record));
    const { turns: changed, forgotten } = await snapshots.turns(placeOf(record));
    const { nativeTurns } = await import("../native/start-native.ts");
    const said = conversation ? await nativeTurns(home, record) : [];
    return { turns: merged(said, changed), conversation, forgotten };
  }
}

interface Wanted {
  readonly request: RewindRequest;
  readonly planned: readonly PlannedRestore[];
  readonly report: RewindOutcome;
  readonly wantsConversation: boolean;
}

const NOT_HELD =
  "its agent holds the conversation itself, and cannot go back; begin another session to go on without these turns";
const DECLARES =
  "this session declares action graphs, and its model goes on seeing what came of them; begin another session to go on without these turns";
const NO_SUCH_TURN = "the conversation has no such turn";
const NOT_WHOLE = "not all files could be restored";

function placeOf({ tenant, id: session }: SessionRecord): SnapshotPlace {
  return { tenant, session };
}

/** The session that a caller names. Throws if there is none that the caller may see. */
async function expected(hub: Hub, { principal }: FileCaller, id: string): Promise<SessionRecord> {
  if (principal.kind === "agent")
    throw new FileFault("forbidden", "this is for people and services; an agent takes nothing back");
  const record = await hub.find(principal, id);
  if (record) return record;
  throw new FileFault("not_found", `there is no session ${id}`);
}

function cannotGoBack(error: unknown): never {
  throw new FileFault(
    "unavailable",
    `the agent of the session could not be started: ${errorMessage(error)}`,
    {
      cause: error,
    },
  );
}

/** Merges the turns of a conversation and those with changes, each in its own order. */
function merged(
  said: readonly ConversationTurn[],
  changed: readonly SnapshotTurnInfo[],
): readonly Rewindable[] {
  const ofSaid = new Map(said.map((turn) => [turn.id, turn]));
  const ofChanged = new Map(changed.map((turn) => [turn.id, turn]));
  const turns: Rewindable[] = [];
  const taken = new Set<string>();
  const take = (id: string) => {
    const [one, other] = [ofSaid.get(id), ofChanged.get(id)];
    const at = other?.at ?? one?.at ?? "";
    const isRewind = other ? other.before !== undefined : one?.prompt === undefined;
    taken.add(id);
    turns.push({
      ...{ id, at, kind: isRewind ? "rewind" : "turn", files: other?.files ?? 0 },
      ...{ prompt: one?.prompt ?? other?.prompt, inEffect: one?.inEffect, before: other?.before },
      isCut: other?.isCut ?? false,
    });
  };
  const left = [...changed];
  for (const { id, at } of said) {
    while (left[0] && left[0].id !== id && (ofChanged.has(id) || left[0].at < at)) {
      const [first] = left.splice(0, 1);
      // One that the conversation has later waits for that.
      if (!first || ofSaid.has(first.id)) break;
      take(first.id);
    }
    if (left[0]?.id === id) left.shift();
    take(id);
  }
  for (const { id } of left) if (!taken.has(id)) take(id);
  return turns;
}

/** Takes the conversation back; returns whether it has the turn. */
async function rewindConversation(
  session: Session,
  rewind: ConversationRewind,
  signal: AbortSignal,
): Promise<boolean> {
  const agent = await agentOf(session, { signal });
  return (await agent.rewind?.(session.record.agent_session_id, rewind)) ?? false;
}

/** What the clients of a session see of a rewind. */
function noticeOf({ prompt, id }: Rewindable, { files, conversation, rewind }: RewindOutcome): JsonObject {
  const restored = files.filter(({ state }) => state === "restored").length;
  const missed = files.filter(({ state }) => state !== "restored" && state !== "unchanged").length;
  const lines = [
    `Went back to before ${prompt ? `"${prompt}"` : id}.`,
    ...(files.length > 0
      ? [`${restored} file${restored === 1 ? "" : "s"} restored${missed > 0 ? `, ${missed} not` : ""}.`]
      : []),
    conversation.state === "rewound"
      ? "The model does not see the turns after it any more."
      : "The conversation stays as it is.",
  ];
  return {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: lines.join(" ") },
    _meta: { reins: { rewind: { id: rewind, turn: id, conversation: conversation.state } } },
  };
}
