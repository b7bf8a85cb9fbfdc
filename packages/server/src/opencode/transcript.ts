import { type JsonObject, membersOf, reinsMeta, updateIn } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import { type LoggedEvent, questionIn, type SessionRecord, TURN_OVER, toolNameOf } from "@reins/host";
import { amountOf } from "@reins/kit";
import {
  contentText,
  errorOf,
  orderedId,
  promptPart,
  SHOWN_MODEL,
  type ShownMessage,
  type ShownPart,
  sessionIdOf,
  tokensOf,
} from "./shapes.ts";

/** The session of a transcript. */
export interface TranscriptSession extends Pick<SessionRecord, "id" | "agent" | "cwd"> {
  readonly entry: Pick<AgentEntry, "toolNames">;
}

/** What a message of the log means to OpenCode's clients. What a permission is about is looked up by its approval. */
export type TranscriptEvent =
  | { readonly type: string; readonly properties: JsonObject }
  | AskedEvent
  | { readonly type: "replied"; readonly approval: string };

interface AskedEvent {
  readonly type: "asked";
  readonly approval: string;
  readonly tool?: JsonObject;
}

type ShownTool = ShownPart & { callID: string; tool: string };

const NO_EVENTS: readonly TranscriptEvent[] = [];
const FINISHED: ReadonlyMap<unknown, string> = new Map([
  ["end_turn", "stop"],
  ["max_tokens", "length"],
  ["max_turn_requests", "length"],
]);
const TODO_STATES: ReadonlySet<unknown> = new Set(["pending", "in_progress", "completed"]);

/**
 * The messages of a session as OpenCode knows them, folded from its log: one of the user and one of the assistant for each
 * turn. Every id comes from the position and the time of a message of the log, so that a later fold makes the same.
 */
export class SessionTranscript {
  /** The newest messages, the oldest first. */
  readonly messages: ShownMessage[] = [];
  /** The last plan of the agent. */
  todos: readonly JsonObject[] = [];
  readonly #session: TranscriptSession;
  readonly #most: number;
  #user: ShownMessage | undefined;
  #assistant: ShownMessage | undefined;
  /** The messages of the newest turn. */
  #turn: ShownMessage[] = [];
  /** The part of text that the agent is writing. */
  #writing: ShownPart | undefined;
  readonly #tools = new Map<string, { readonly part: ShownTool; reported: JsonObject }>();
  /** The questions that are open, by their key. */
  readonly #asked = new Map<string, AskedEvent>();

  /** Keeps at most so many messages. */
  constructor(session: TranscriptSession, most: number) {
    this.#session = session;
    this.#most = most;
  }

  /** Takes the next message of the session's log, or of the log of its turns. */
  take(event: LoggedEvent): readonly TranscriptEvent[] {
    const { message, request } = event;
    const { method, params } = message;
    if (method === "session/update") return this.#update(event, updateIn(params).update);
    if (method === TURN_OVER) return this.#over(event, membersOf(membersOf(membersOf(params).draft).payload));
    if (method === "$/cancel_request") return this.#answered(membersOf(params).requestId);
    return method === "session/request_permission" && request !== undefined
      ? this.#ask(event, request, membersOf(params))
      : NO_EVENTS;
  }

  /** Whether a turn is under way. */
  get isOpen(): boolean {
    return this.#user !== undefined || this.#assistant !== undefined;
  }

  /** The newest turn as events, for a client that has seen none of it: its messages as they are now, and its state. */
  get newestTurn(): readonly TranscriptEvent[] {
    if (this.#turn.length === 0) return NO_EVENTS;
    const messages = this.#turn.flatMap((message) => [
      this.#updated(message),
      ...message.parts.map((part) => this.#partUpdated(part, { at: message.info.time.created })),
    ]);
    return this.isOpen
      ? [...messages, this.#status("busy"), ...this.#asked.values()]
      : [...messages, ...this.#idle()];
  }

  #update(event: LoggedEvent, update: JsonObject): readonly TranscriptEvent[] {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return this.#userChunk(event, update);
      case "agent_message_chunk":
        return [
          ...this.#text(event, "text", contentText(update.content)),
          ...(reinsMeta(update).interrupted === true
            ? this.#over(event, { stop_reason: "interrupted" })
            : []),
        ];
      case "agent_thought_chunk":
        return this.#text(event, "reasoning", contentText(update.content));
      case "tool_call":
      case "tool_call_update":
        return this.#toolCall(event, update);
      case "plan": {
        this.todos = (Array.isArray(update.entries) ? update.entries : []).map(membersOf).map(todoOf);
        return [this.#event("todo.updated", { todos: this.todos })];
      }
      default:
        return NO_EVENTS;
    }
  }

  #userChunk(event: LoggedEvent, update: JsonObject): readonly TranscriptEvent[] {
    const { prompt } = reinsMeta(update);
    const id = prompt !== undefined && MESSAGE_ID.test(prompt) ? prompt : orderedId("msg", event);
    const isSame = this.#user && !this.#assistant && (prompt === undefined || this.#user.info.id === id);
    const ended = isSame ? [] : this.#close(event, {});
    const user = isSame && this.#user ? this.#user : this.#newUser(event, id);
    const part = this.#add(user, { ...promptPart(update.content), id: orderedId("prt", event) });
    return [
      ...ended,
      ...(isSame ? [] : [this.#updated(user)]),
      this.#partUpdated(part, event),
      ...(isSame ? [] : [this.#status("busy")]),
    ];
  }

  #newUser({ at }: LoggedEvent, id: string): ShownMessage {
    const { agent } = this.#session;
    const user: ShownMessage = {
      info: { id, sessionID: this.#id, role: "user", time: { created: at }, agent, model: SHOWN_MODEL },
      parts: [],
    };
    this.#user = user;
    this.#turn = [user];
    this.#keep(user);
    return user;
  }

  /** The message of the assistant in the turn under way, and the events that begin it. */
  #answering(event: LoggedEvent): {
    readonly assistant: ShownMessage;
    readonly events: readonly TranscriptEvent[];
  } {
    if (this.#assistant) return { assistant: this.#assistant, events: NO_EVENTS };
    const { agent, cwd } = this.#session;
    const assistant: ShownMessage = {
      info: {
        id: orderedId("msg", event),
        sessionID: this.#id,
        role: "assistant",
        time: { created: event.at },
        parentID: this.#user?.info.id ?? "",
        ...SHOWN_MODEL,
        ...{ mode: agent, agent, path: { cwd, root: cwd }, cost: 0, tokens: tokensOf({}) },
      },
      parts: [],
    };
    this.#assistant = assistant;
    this.#turn = this.#user ? [this.#user, assistant] : [assistant];
    this.#tools.clear();
    this.#keep(assistant);
    return { assistant, events: [this.#updated(assistant)] };
  }

  #text(event: LoggedEvent, type: "text" | "reasoning", text: string): readonly TranscriptEvent[] {
    if (text === "") return NO_EVENTS;
    const events: TranscriptEvent[] = [];
    let part = this.#writing;
    if (part?.type !== type) {
      events.push(...this.#written(event));
      const { assistant, events: began } = this.#answering(event);
      part = this.#add(assistant, {
        id: orderedId("prt", event),
        type,
        text: "",
        time: { start: event.at },
      });
      this.#writing = part;
      events.push(...began, this.#partUpdated({ ...part }, event));
    }
    part.text = `${part.text ?? ""}${text}`;
    const { messageID, id: partID } = part;
    return [...events, this.#event("message.part.delta", { messageID, partID, field: "text", delta: text })];
  }

  /** Ends the text that the agent is writing. */
  #written(event: LoggedEvent): readonly TranscriptEvent[] {
    const part = this.#writing;
    this.#writing = undefined;
    if (!part) return NO_EVENTS;
    part.time = { start: event.at, ...part.time, end: event.at };
    return [this.#partUpdated(part, event)];
  }

  #toolCall(event: LoggedEvent, update: JsonObject): readonly TranscriptEvent[] {
    const { toolCallId: callID } = update;
    if (typeof callID !== "string") return NO_EVENTS;
    const events: TranscriptEvent[] = [];
    let call = this.#tools.get(callID);
    if (!call) {
      // The end of a call that is not known here begins nothing.
      if (update.sessionUpdate !== "tool_call" && !this.isOpen) return NO_EVENTS;
      events.push(...this.#written(event));
      const { assistant, events: began } = this.#answering(event);
      const begun = {
        id: orderedId("prt", event),
        type: "tool",
        callID,
        tool: "",
        time: { start: event.at },
      };
      call = { part: Object.assign(this.#add(assistant, begun), { callID, tool: "" }), reported: {} };
      this.#tools.set(callID, call);
      events.push(...began);
    }
    const said = Object.entries(update).filter(([, value]) => value !== null && value !== undefined);
    call.reported = { ...call.reported, ...Object.fromEntries(said) };
    const { name } = toolNameOf({ reported: call.reported }, this.#session.entry);
    const tool = shownTool(name, call.reported.rawInput);
    const { part } = call;
    const { state: last } = part;
    const state = toolState(call.reported, part.time?.start ?? event.at, event.at);
    const hasEnded = last?.status === "completed" || last?.status === "error";
    if (hasEnded && state.status === last.status && last.time !== undefined) state.time = last.time;
    // What an agent reports twice, and what it reports beside the state: clients print each event.
    if (tool === part.tool && JSON.stringify(state) === JSON.stringify(last)) return events;
    Object.assign(part, { tool, state });
    return [...events, this.#partUpdated(part, event)];
  }

  #ask(event: LoggedEvent, key: string, params: JsonObject): readonly TranscriptEvent[] {
    const { approval } = reinsMeta(params);
    if (approval === undefined || [...this.#asked.values()].some((asked) => asked.approval === approval))
      return NO_EVENTS;
    // What outlived its turn is asked again outside of any.
    if (!this.isOpen) return [this.#open(key, { type: "asked", approval })];
    const { assistant, events } = this.#answering(event);
    const { status: _, ...described } = membersOf(params.toolCall);
    const callID = String(described.toolCallId ?? "");
    const known = this.#tools.get(callID)?.reported;
    const shown = this.#toolCall(event, { ...described, ...known });
    const tool = { messageID: assistant.info.id, callID };
    return [...events, ...shown, this.#open(key, { type: "asked", approval, tool })];
  }

  #open(key: string, asked: AskedEvent): AskedEvent {
    this.#asked.set(key, asked);
    return asked;
  }

  #answered(requestId: unknown): readonly TranscriptEvent[] {
    const key = typeof requestId === "string" ? questionIn(requestId) : undefined;
    const asked = key === undefined ? undefined : this.#asked.get(key);
    if (key === undefined || !asked) return NO_EVENTS;
    this.#asked.delete(key);
    return [{ type: "replied", approval: asked.approval }];
  }

  /** The turn is over. */
  #over(event: LoggedEvent, end: JsonObject): readonly TranscriptEvent[] {
    if (!this.isOpen) return NO_EVENTS;
    const { events } = this.#answering(event);
    return [...events, ...this.#close(event, end)];
  }

  /** Completes the message of the assistant, if there is one. */
  #close(event: LoggedEvent, { stop_reason, usage }: JsonObject): readonly TranscriptEvent[] {
    const assistant = this.#assistant;
    const events = [...this.#written(event)];
    this.#user = undefined;
    this.#assistant = undefined;
    if (!assistant) return events;
    const cost = amountOf(membersOf(usage).cost);
    assistant.info = {
      ...assistant.info,
      time: { ...assistant.info.time, completed: event.at },
      ...(cost !== undefined && { cost }),
      tokens: tokensOf(membersOf(usage)),
      finish: FINISHED.get(stop_reason) ?? "other",
      ...errorOf(stop_reason),
    };
    return [...events, this.#updated(assistant), ...this.#idle()];
  }

  get #id(): string {
    return sessionIdOf(this.#session.id);
  }

  #keep(message: ShownMessage): void {
    this.messages.push(message);
    if (this.messages.length > this.#most) this.messages.shift();
  }

  #add({ info, parts }: ShownMessage, part: Omit<ShownPart, "sessionID" | "messageID">): ShownPart {
    const added = { ...part, sessionID: this.#id, messageID: info.id };
    parts.push(added);
    return added;
  }

  #updated({ info }: ShownMessage): TranscriptEvent {
    return this.#event("message.updated", { info });
  }

  #partUpdated(part: ShownPart, { at: time }: Pick<LoggedEvent, "at">): TranscriptEvent {
    return this.#event("message.part.updated", { part: { ...part }, time });
  }

  #status(type: "busy" | "idle"): TranscriptEvent {
    return this.#event("session.status", { status: { type } });
  }

  #idle(): readonly TranscriptEvent[] {
    return [this.#status("idle"), this.#event("session.idle", {})];
  }

  #event(type: string, properties: JsonObject): TranscriptEvent {
    return { type, properties: { sessionID: this.#id, ...properties } };
  }
}

/** The ids of messages that clients may choose. */
export const MESSAGE_ID = /^msg_?[0-9A-Za-z]{1,64}$/;

function todoOf({ content, status, priority }: JsonObject): JsonObject {
  return {
    content: typeof content === "string" ? content : "",
    status: TODO_STATES.has(status) ? status : "pending",
    priority: typeof priority === "string" ? priority : "medium",
  };
}

/** A tool by the name that OpenCode's clients know it by: its terminal shows what "bash" is given as a command. */
function shownTool(name: string, input: unknown): string {
  const { command } = membersOf(input);
  return typeof command === "string" && SHELLS.has(name.toLowerCase()) ? "bash" : name;
}

const SHELLS: ReadonlySet<string> = new Set(["bash", "shell", "run_command"]);

function toolState(reported: JsonObject, start: number, now: number): JsonObject {
  const { status, rawInput, title } = reported;
  const input = membersOf(rawInput);
  const shown = { ...(typeof title === "string" && { title }), metadata: {} };
  const time = { start, end: now };
  const output = outputText(reported);
  if (status === "completed")
    return { status, input, output, title: "", ...shown, metadata: { output }, time };
  if (status === "failed")
    return { status: "error", input, error: output || "the call failed", metadata: {}, time };
  // Clients show what a call that waits for permission is given only once it runs.
  return status === "in_progress" || rawInput !== undefined
    ? { status: "running", input, ...shown, time: { start } }
    : { status: "pending", input, raw: "" };
}

/** The output for the model if the agent sends it, otherwise the content for clients. */
function outputText({ rawOutput, content }: JsonObject): string {
  if (typeof rawOutput === "string") return rawOutput;
  const shown = (Array.isArray(content) ? content : [])
    .map(membersOf)
    .map((part) => (part.type === "diff" ? `[changed ${String(part.path)}]` : contentText(part.content)))
    .filter((text) => text !== "")
    .join("\n");
  return shown === "" && rawOutput != null ? JSON.stringify(rawOutput) : shown;
}
