import { amountOf, isRecord, type JsonObject } from "@reins/kit/json";
import { z } from "zod";

const EMPTY: Record<string, unknown> = Object.freeze({});

/**
 * Loose schemas of the parts of ACP that Reins looks into. They read and never reject: a member of another type reads
 * as absent, an object or list that is none reads as empty, and members that are not named here are kept. None of them
 * may fail inside, because an error costs zod ten times as much as the rest.
 */
const anything = z.unknown().optional();
const text = anything.transform((value) => (typeof value === "string" ? value : undefined));
const number = anything.transform((value) => (typeof value === "number" ? value : undefined));
/** What an agent says it used: never less than nothing. */
const amount = anything.transform(amountOf);
const flag = anything.transform((value) => (typeof value === "boolean" ? value : undefined));
const optionalObject = anything.transform((value) => (isRecord(value) ? value : undefined));
const texts = anything.transform((value): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : [],
);

function loose<Shape extends z.ZodRawShape>(shape: Shape) {
  return anything.transform((value) => (isRecord(value) ? value : EMPTY)).pipe(z.looseObject(shape));
}

function list<Item extends z.ZodType>(item: Item) {
  return anything.transform((value): unknown[] => (Array.isArray(value) ? value : [])).pipe(z.array(item));
}

const Content = loose({
  type: text,
  text,
  uri: text,
  name: text,
  title: text,
  data: text,
  mimeType: text,
  resource: loose({ uri: text, text, blob: text, mimeType: text }),
  annotations: loose({ audience: texts }),
});

const ToolCallContent = loose({
  /** `content`, `diff` or `terminal`. */
  type: text,
  content: Content,
  path: text,
  oldText: text,
  newText: text,
  terminalId: text,
});

const ToolCall = loose({
  toolCallId: text,
  title: text,
  name: text,
  kind: text,
  status: text,
  rawInput: anything,
  rawOutput: anything,
  content: list(ToolCallContent),
  locations: list(loose({ path: text, line: number })),
});

const Modes = loose({ currentModeId: text, availableModes: list(loose({ id: text, name: text })) });
const Models = loose({ currentModelId: text, availableModels: list(loose({ modelId: text, name: text })) });
const Choice = { value: text, name: text };
const ConfigOption = loose({
  id: text,
  name: text,
  category: text,
  type: text,
  currentValue: anything,
  /** Values, or groups of values. */
  options: list(loose({ ...Choice, options: list(loose(Choice)) })),
});
const settings = { modes: Modes, models: Models, configOptions: list(ConfigOption) };

const Chunk = loose({ content: Content, messageId: text });
const UPDATES = {
  user_message_chunk: Chunk,
  agent_message_chunk: Chunk,
  agent_thought_chunk: Chunk,
  tool_call: ToolCall,
  tool_call_update: ToolCall,
  plan: loose({ entries: list(loose({ content: text, priority: text, status: text })) }),
  available_commands_update: loose({
    availableCommands: list(loose({ name: text, description: text, input: loose({ hint: text }) })),
  }),
  current_mode_update: loose({ currentModeId: text }),
  config_option_update: loose({ configOptions: list(ConfigOption) }),
  session_info_update: loose({ title: text, updatedAt: text }),
  usage_update: loose({ used: amount, size: number, cost: loose({ amount, currency: text }) }),
  notice: loose({ severity: text, title: text, description: text }),
  compaction_update: loose({ status: text, error: text }),
  subagent_update: loose({ sessionId: text, title: text }),
  tool_search_query: loose({ query: text }),
  tool_search_result: loose({ promoted: texts, diagnostic: text }),
  worker_update: loose({ workerName: text, status: text, metadata: loose({ summary: text, error: text }) }),
};

const requestId = anything.transform((value) =>
  typeof value === "string" || typeof value === "number" ? value : undefined,
);
const Session = loose({ sessionId: text });
const folders = { cwd: text, additionalDirectories: texts, mcpServers: list(anything) };
const Terminal = loose({ sessionId: text, terminalId: text });
const Nothing = loose({});

/** The parameters and the result of each method that Reins looks into. A notification has no result. */
const METHODS = {
  initialize: {
    params: loose({
      protocolVersion: number,
      clientCapabilities: loose({}),
      clientInfo: loose({ name: text }),
    }),
    result: loose({
      protocolVersion: number,
      agentInfo: loose({ name: text, title: text, version: text }),
      agentCapabilities: loose({
        loadSession: flag,
        sessionCapabilities: loose({}),
        promptCapabilities: loose({ image: flag, audio: flag, embeddedContext: flag }),
        mcpCapabilities: loose({ http: flag, sse: flag }),
        auth: loose({}),
      }),
      authMethods: list(loose({ id: text, name: text })),
    }),
  },
  "session/new": { params: loose(folders), result: loose({ sessionId: text, ...settings }) },
  "session/load": { params: loose({ sessionId: text, ...folders }), result: loose(settings) },
  "session/resume": { params: loose({ sessionId: text, ...folders }), result: loose(settings) },
  "session/fork": {
    params: loose({ sessionId: text, ...folders }),
    result: loose({ sessionId: text, ...settings }),
  },
  "session/list": {
    params: loose({ cwd: text, cursor: text }),
    result: loose({ sessions: list(loose({ sessionId: text, cwd: text, title: text })), nextCursor: text }),
  },
  "session/close": { params: Session, result: Nothing },
  "session/delete": { params: Session, result: Nothing },
  "session/set_mode": { params: loose({ sessionId: text, modeId: text }), result: Nothing },
  "session/set_model": { params: loose({ sessionId: text, modelId: text }), result: Nothing },
  "session/set_config_option": {
    params: loose({ sessionId: text, configId: text, value: anything }),
    result: loose({ configOptions: list(ConfigOption) }),
  },
  "session/prompt": {
    params: loose({ sessionId: text, prompt: list(Content) }),
    result: loose({ stopReason: text, usage: loose({ totalTokens: amount }) }),
  },
  "session/cancel": { params: Session, result: Nothing },
  "session/request_permission": {
    params: loose({
      sessionId: text,
      toolCall: ToolCall,
      options: list(loose({ optionId: text, name: text, kind: text })),
    }),
    result: loose({ outcome: loose({ outcome: text, optionId: text }) }),
  },
  "elicitation/create": {
    params: loose({ sessionId: text, message: text, mode: text, requestedSchema: anything, url: text }),
    result: loose({ action: text, content: anything }),
  },
  "fs/read_text_file": {
    params: loose({ sessionId: text, path: text, line: number, limit: number }),
    result: loose({ content: text }),
  },
  "fs/write_text_file": { params: loose({ sessionId: text, path: text, content: text }), result: Nothing },
  "terminal/create": {
    params: loose({
      sessionId: text,
      command: text,
      args: texts,
      cwd: text,
      env: list(loose({ name: text, value: text })),
    }),
    result: loose({ terminalId: text }),
  },
  "terminal/output": { params: Terminal, result: loose({ output: text, truncated: flag }) },
  "terminal/wait_for_exit": { params: Terminal, result: loose({ exitCode: number, signal: text }) },
  "terminal/kill": { params: Terminal, result: Nothing },
  "terminal/release": { params: Terminal, result: Nothing },
  "$/cancel_request": {
    params: loose({ requestId }),
    result: Nothing,
  },
};

/** A method whose parameters and result have a schema. `session/update` has {@link updateIn} instead. */
export type AcpMethod = keyof typeof METHODS;
export type ParamsOf<Name extends AcpMethod> = z.output<(typeof METHODS)[Name]["params"]>;
export type ResultOf<Name extends AcpMethod> = z.output<(typeof METHODS)[Name]["result"]>;
/** A block of a prompt or of a message. */
export type AcpContent = z.output<typeof Content>;
/** A tool call as an update or a permission request describes it. */
export type AcpToolCall = z.output<typeof ToolCall>;
/** A kind of update that Reins looks into. */
export type UpdateKind = keyof typeof UPDATES;
export type UpdateOf<Kind extends UpdateKind> = z.output<(typeof UPDATES)[Kind]>;

/**
 * Reads the parameters of a method:
 * `const { sessionId, toolCall: { title, locations } } = readParams("session/request_permission", params)`.
 * The result is a copy for reading. Forward the message itself, which is exact.
 */
export function readParams<Name extends AcpMethod>(method: Name, params: unknown): ParamsOf<Name>;
export function readParams(method: AcpMethod, params: unknown): unknown {
  return METHODS[method].params.parse(params);
}

/** Reads the result of a method, as {@link readParams} reads parameters. */
export function readResult<Name extends AcpMethod>(method: Name, result: unknown): ResultOf<Name>;
export function readResult(method: AcpMethod, result: unknown): unknown {
  return METHODS[method].result.parse(result);
}

/** Reads an update of a known kind: `readUpdate("plan", update).entries`. Not for every streamed chunk: see {@link chunkText}. */
export function readUpdate<Kind extends UpdateKind>(kind: Kind, update: unknown): UpdateOf<Kind>;
export function readUpdate(kind: UpdateKind, update: unknown): unknown {
  return UPDATES[kind].parse(update);
}

/** Reads a block of a prompt or of a message. */
export function readContent(block: unknown): AcpContent {
  return Content.parse(block);
}

/** Reads a tool call, without the message around it. */
export function toolCallIn(call: unknown): AcpToolCall {
  return ToolCall.parse(call);
}

/** What every update says, without parsing the rest of it. */
export interface SessionUpdate {
  readonly sessionId: string | undefined;
  /** `undefined` when it is no text. */
  readonly kind: string | undefined;
  /** The update itself, exactly as received. */
  readonly update: Record<string, unknown>;
}

/** Reads the parameters of `session/update`. Cheap: it is on the path of every streamed chunk. */
export function updateIn(params: unknown): SessionUpdate {
  const { sessionId, update: given } = isRecord(params) ? params : EMPTY;
  const update = isRecord(given) ? given : EMPTY;
  const { sessionUpdate } = update;
  return {
    sessionId: typeof sessionId === "string" ? sessionId : undefined,
    kind: typeof sessionUpdate === "string" ? sessionUpdate : undefined,
    update,
  };
}

/** The text of a message chunk; `undefined` for other content. As cheap as {@link updateIn}. */
export function chunkText({ content }: Readonly<Record<string, unknown>>): string | undefined {
  const words = isRecord(content) ? content.text : undefined;
  return typeof words === "string" ? words : undefined;
}

/** The text of a text block; `undefined` for other blocks. As cheap as {@link updateIn}. */
export function blockText(block: unknown): string | undefined {
  const { type, text: words } = isRecord(block) ? block : EMPTY;
  return type === "text" && typeof words === "string" ? words : undefined;
}

/** A copy of a text block with another text; all else stays. */
export function withText(block: unknown, words: string): Record<string, unknown> {
  return { ...(isRecord(block) ? block : { type: "text" }), text: words };
}

/** The numbers of a prompt's usage, in snake_case, as the ledger records them. */
export function usageIn(result: unknown): Record<string, number> {
  const { usage } = readResult("session/prompt", result);
  return Object.fromEntries(
    Object.entries(usage).flatMap(([name, value]) => {
      const used = amountOf(value);
      return used === undefined ? [] : [[snakeCase(name), used]];
    }),
  );
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The key of the Sandbox Agent profile in `_meta`. */
export const SANDBOX = "sandboxagent.dev";

/**
 * What Reins and its clients say in `_meta.reins`. A member of another type reads as absent. An agent's own `_meta.reins`
 * never gets here: it is removed where its messages arrive.
 */
const ReinsMeta = loose({
  // By clients, in initialize, session/new and session/prompt.
  agent: text,
  mode: text,
  key: text,
  acts_as: text,
  daemon: flag,
  // What is no text counts as an unknown scope, and not as none.
  mutation_scope: anything,
  watch_paths: anything,
  wake_interval_ms: number,
  turns: flag,
  prompt: text,
  steer: flag,
  turn: text,
  // By Reins, about a verdict.
  verdict: text,
  entry: text,
  rule: text,
  reason: text,
  enforcement: text,
  ungated: flag,
  outcome: text,
  interrupted: flag,
  modified_arguments: optionalObject,
  // By Reins, about a question to a person.
  approval: text,
  expires_at: text,
  child_session: text,
  child_agent: text,
  // By Reins, about a call of a sub-agent of an agent in a terminal.
  subagent: text,
  subagent_type: text,
  // By Reins, in the data of an error.
  code: text,
});

export type ReinsMeta = z.output<typeof ReinsMeta>;

const NONE: ReinsMeta = Object.freeze(ReinsMeta.parse({}));

/** Reads `_meta.reins` of params, a result, an update or a tool call: `const { agent } = reinsMeta(params)`. */
export function reinsMeta(holder: unknown): ReinsMeta {
  const reins = metaOf(holder).reins;
  return isRecord(reins) ? ReinsMeta.parse(reins) : NONE;
}

/** Reads `reins` in the data of an error. */
export function reinsData(data: unknown): ReinsMeta {
  return reinsMeta({ _meta: data });
}

/** A copy of params, a result or an update with members added to its `_meta.reins`; all else stays. */
export function withReinsMeta<Holder extends JsonObject>(
  holder: Holder,
  members: JsonObject,
): Holder & { _meta: JsonObject } {
  const meta = metaOf(holder);
  const before = isRecord(meta.reins) ? meta.reins : {};
  return { ...holder, _meta: { ...meta, reins: { ...before, ...members } } };
}

/** What a client of the Sandbox Agent profile says in `_meta`. */
export function sandboxMeta(holder: unknown): JsonObject {
  const members = metaOf(holder)[SANDBOX];
  return isRecord(members) ? members : {};
}

/** All members of `_meta`. */
export function metaOf(holder: unknown): JsonObject {
  const meta = isRecord(holder) ? holder._meta : undefined;
  return isRecord(meta) ? meta : {};
}
