import { type Channel, CODE, type JsonObject, Peer, RpcError, readParams } from "@reins/acp";
import { offersBridge, PeerBridge } from "@reins/bridge";
import { raceAbort } from "@reins/kit";
import { z } from "zod";
import { type AgentDependencies, dependenciesFrom, type NativeAgentOptions } from "./agent-dependencies.ts";
import type { UserPart } from "./history/entry.ts";
import { UnavailableModel } from "./models/models.ts";
import { configOptionsOf, isThoughtLevel, modeIds, settingsOf } from "./sessions/config-options.ts";
import type { ConversationRewind, Session } from "./sessions/session.ts";
import { Sessions } from "./sessions/sessions.ts";
import { type ClientCapabilities, replay } from "./sessions/updates.ts";
import { allTools } from "./tools/all-tools.ts";
import type { PersonService } from "./tools/host-services.ts";
import type { ToolView } from "./tools/tool.ts";

const AbsolutePath = z.string().startsWith("/", "is an absolute path");
const Directories = z.array(AbsolutePath).max(100);
const SessionId = z.string().min(1).max(256);

/** Parameters of `initialize`, with the capabilities that we use. */
const Initialize = z.looseObject({
  protocolVersion: z.number().optional(),
  clientCapabilities: z
    .looseObject({
      session: z.looseObject({ notices: z.unknown(), compaction: z.unknown() }).partial().nullish(),
      elicitation: z.looseObject({ form: z.unknown() }).partial().nullish(),
    })
    .nullish(),
});

/** Parameters of `session/new`. */
const NewSession = z.looseObject({
  cwd: AbsolutePath,
  additionalDirectories: Directories.nullish(),
  mcpServers: z.array(z.unknown()).nullish(),
});

/** Parameters of `session/load`, `session/resume` and `session/fork`. */
const EarlierSession = NewSession.extend({ sessionId: SessionId, cwd: AbsolutePath.optional() });

/** Parameters of `session/list`. */
const ListSessions = z.looseObject({
  cwd: AbsolutePath.nullish(),
  cursor: z.string().max(512).nullish(),
});

/** Parameters of methods that only name a session. */
const OneSession = z.looseObject({ sessionId: SessionId });

/** Parameters of `session/set_mode`. */
const SetMode = OneSession.extend({ modeId: z.string() });

/** Parameters of `session/set_config_option`. */
const SetConfigOption = OneSession.extend({ configId: z.string(), value: z.string().min(1).max(200) });

/** Parameters of `session/prompt`. */
const Prompt = OneSession.extend({
  prompt: z
    .array(z.looseObject({ type: z.string() }))
    .min(1)
    .max(1_000),
});

/** Parses the parameters of a method. Throws an error for the client when they are invalid. */
function read<Schema extends z.ZodType>(schema: Schema, method: string, params: unknown): z.infer<Schema> {
  const { data, error } = schema.safeParse(params);
  if (!error) return data;
  const faults = error.issues.slice(0, 5).map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new RpcError(CODE.invalidParams, `the parameters of ${method} are invalid: ${faults.join("; ")}`);
}

const Annotations = z.looseObject({ audience: z.array(z.string()).nullish() }).nullish();

const Block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string(), annotations: Annotations }),
  z.looseObject({
    type: z.literal("image"),
    data: z.string(),
    mimeType: z.string(),
    annotations: Annotations,
  }),
  z.looseObject({
    type: z.literal("resource_link"),
    uri: z.string(),
    name: z.string(),
    annotations: Annotations,
  }),
  z.looseObject({
    type: z.literal("resource"),
    resource: z.looseObject({ uri: z.string(), text: z.string().optional(), mimeType: z.string().nullish() }),
    annotations: Annotations,
  }),
]);

/**
 * Converts the blocks of a prompt. Blocks for the assistant alone and attached files are context, not the user's words.
 */
function promptParts(
  blocks: readonly unknown[],
  { images }: { readonly images: boolean },
): readonly UserPart[] {
  return blocks.map((block) => {
    const { data, error } = Block.safeParse(block);
    if (!error) return partOf(data, images);
    throw new RpcError(
      CODE.invalidParams,
      `a block of the prompt cannot be read: ${error.issues[0]?.message}`,
    );
  });
}

function partOf(block: z.infer<typeof Block>, images: boolean): UserPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text, ...(isForAssistant(block.annotations) && { context: true }) };
    case "image":
      if (images) return { type: "image", data: block.data, mimeType: block.mimeType };
      return context(`[an image of the type ${block.mimeType}, which this model cannot see]`);
    case "resource_link":
      return context(`[a link to ${block.name}: ${block.uri}]`);
    case "resource":
      return context(`[the content of ${block.resource.uri}]\n${block.resource.text ?? "(no text)"}`);
  }
}

function context(text: string): UserPart {
  return { type: "text", text, context: true };
}

function isForAssistant(annotations: z.infer<typeof Annotations>): boolean {
  const audience = annotations?.audience ?? [];
  return audience.length > 0 && !audience.includes("user");
}

const PROTOCOL_VERSION = 1;
const PAGE = 50;

/**
 * The native agent: an ACP agent on any configured model. It asks permission for every tool call and lets a supervisor
 * decide what only the agent can see; it runs behind a channel and never by itself.
 */
export class NativeAgent {
  readonly #dependencies: AgentDependencies;
  readonly #rpc: Peer;
  readonly #bridge: PeerBridge;
  readonly #sessions: Sessions;
  #capabilities: ClientCapabilities = { notices: false, compaction: false, bridge: false, questions: false };

  constructor(channel: Channel, options: NativeAgentOptions = {}) {
    const dependencies = dependenciesFrom(options);
    this.#rpc = new Peer(channel, {
      request: (method, params, { signal }) => this.#handle(method, params, signal),
      notification: (method, params) => this.#notified(method, params),
      fault: dependencies.onFault,
    });
    this.#bridge = new PeerBridge(this.#rpc, undefined, dependencies.services.offersBridge);
    this.#bridge.capabilities = {};
    const person: PersonService = {
      ask: (sessionId, question, signal) =>
        raceAbort(
          this.#rpc.request("elicitation/create", { sessionId, mode: "form", ...question }, { signal }),
          signal,
        ),
    };
    const services = { bridge: this.#bridge, person, ...dependencies.services };
    this.#dependencies = { ...dependencies, services };
    this.#sessions = new Sessions(this.#dependencies, this.#rpc, () => this.#capabilities);
    this.#rpc.signal.addEventListener("abort", () => this.#sessions.cancelAll());
  }

  /** Cancels every turn. Sessions stay in their store. */
  async close(reason = "the agent is closing"): Promise<void> {
    this.#sessions.cancelAll();
    await this.#sessions.settled();
    this.#rpc.close(new Error(reason));
  }

  async #handle(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    switch (method) {
      case "initialize":
        return this.#initialize(params);
      case "session/new":
        return this.#create(params);
      case "session/load":
      case "session/resume":
      case "session/fork":
        return this.#continue(method, params);
      case "session/list":
        return this.#list(params);
      case "session/close":
        return this.#close(read(OneSession, method, params).sessionId);
      case "session/delete":
        return this.#delete(read(OneSession, method, params).sessionId);
      case "session/set_mode":
        return this.#setMode(params);
      case "session/set_config_option":
        return this.#setConfigOption(params);
      case "session/prompt":
        return this.#prompt(params, signal);
      case "_reins/steer":
        return this.#steer(params, signal);
      default:
        throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
    }
  }

  /** Describes the tools that an open session may use now. */
  tools(sessionId: string, signal: AbortSignal): Promise<ToolView | undefined> {
    return this.#sessions.tools(sessionId, signal);
  }

  /** Takes the conversation of an open session back; returns whether there was the turn that was named. */
  rewind(sessionId: string, rewind: ConversationRewind): Promise<boolean> {
    return this.#sessions.rewind(sessionId, rewind);
  }

  #notified(method: string, params: JsonObject): void {
    if (this.#bridge.receive(method, params) || method !== "session/cancel") return;
    const { sessionId } = readParams(method, params);
    if (sessionId !== undefined) this.#sessions.cancel(sessionId);
  }

  #initialize(params: unknown): JsonObject {
    const { clientCapabilities } = read(Initialize, "initialize", params);
    this.#bridge.capabilities = { ...clientCapabilities };
    const { notices, compaction } = clientCapabilities?.session ?? {};
    this.#capabilities = {
      notices: isOffered(notices),
      compaction: isOffered(compaction),
      bridge: offersBridge(clientCapabilities ?? {}),
      questions: isOffered(clientCapabilities?.elicitation?.form),
    };
    const { models } = this.#dependencies;
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "reins-native", title: "Reins", version: "0.1.0" },
      agentCapabilities: {
        loadSession: true,
        mcpCapabilities: { http: true, sse: false },
        promptCapabilities: { image: models.open(models.defaultId).info.images, embeddedContext: true },
        sessionCapabilities: {
          list: {},
          delete: {},
          resume: {},
          close: {},
          fork: {},
          additionalDirectories: {},
        },
      },
      authMethods: [],
    };
  }

  async #create(params: unknown): Promise<JsonObject> {
    const { cwd, additionalDirectories, mcpServers } = read(NewSession, "session/new", params);
    const session = await this.#sessions.create({ cwd, additionalDirectories: additionalDirectories ?? [] });
    return this.#describe(session, mcpServers ?? []);
  }

  async #continue(
    method: "session/load" | "session/resume" | "session/fork",
    params: unknown,
  ): Promise<JsonObject> {
    const { sessionId, cwd, additionalDirectories, mcpServers } = read(EarlierSession, method, params);
    const folders = {
      ...(cwd !== undefined && { cwd }),
      ...(additionalDirectories && { additionalDirectories }),
    };
    if (method === "session/fork")
      return this.#describe(await this.#sessions.fork(sessionId, folders), mcpServers ?? []);
    const session = await this.#sessions.resume(sessionId, folders);
    if (method === "session/load") {
      const tools = allTools(this.#dependencies.services, this.#dependencies.memory);
      for (const update of replay(session.entries, tools))
        await this.#rpc.notify("session/update", { sessionId, update });
    }
    const { sessionId: _, ...settings } = await this.#describe(session, mcpServers ?? []);
    return settings;
  }

  /** Connects a session to the client's MCP servers and returns its settings. */
  async #describe(session: Session, mcpServers: readonly unknown[]): Promise<JsonObject> {
    await session.setMcpServers(mcpServers);
    return { sessionId: session.id, ...settingsOf(session.header, this.#dependencies) };
  }

  async #list(params: unknown): Promise<JsonObject> {
    const { cwd, cursor } = read(ListSessions, "session/list", params);
    const query = { cwd: cwd ?? undefined, cursor: cursor ?? undefined, limit: PAGE };
    const { sessions, nextCursor } = await this.#dependencies.store.list(query);
    return {
      sessions: sessions.map(({ id, title, updatedAt, additionalDirectories, ...header }) => ({
        sessionId: id,
        cwd: header.cwd,
        updatedAt,
        ...(title !== undefined && { title }),
        ...(additionalDirectories.length > 0 && { additionalDirectories }),
      })),
      ...(nextCursor !== undefined && { nextCursor }),
    };
  }

  async #close(sessionId: string): Promise<JsonObject> {
    await this.#sessions.close(sessionId);
    return {};
  }

  async #delete(sessionId: string): Promise<JsonObject> {
    await this.#sessions.close(sessionId);
    await this.#dependencies.store.remove(sessionId);
    return {};
  }

  async #setMode(params: unknown): Promise<JsonObject> {
    const { sessionId, modeId } = read(SetMode, "session/set_mode", params);
    const session = this.#sessions.expect(sessionId);
    const modes = modeIds(this.#dependencies.services);
    if (!modes.includes(modeId))
      throw new RpcError(CODE.invalidParams, `there is no mode ${modeId}; there are ${modes.join(", ")}`);
    await session.set({ mode: modeId });
    return {};
  }

  async #setConfigOption(params: unknown): Promise<JsonObject> {
    const { sessionId, configId, value } = read(SetConfigOption, "session/set_config_option", params);
    const session = this.#sessions.expect(sessionId);
    if (configId === "model") await session.set({ model: this.#modelNamed(value) });
    else if (configId === "thought_level" && isThoughtLevel(value))
      await session.set({ thoughtLevel: value });
    else throw new RpcError(CODE.invalidParams, `${configId} cannot be set to ${value}`);
    return { configOptions: configOptionsOf(session.header, this.#dependencies.models) };
  }

  /**
   * The id of a model. Rejects an unknown name; a model that only lacks a key is accepted, because the key may follow.
   */
  #modelNamed(name: string): string {
    const model = this.#dependencies.models.open(name);
    if (!(model instanceof UnavailableModel) || model.isKnown) return model.info.id;
    throw new RpcError(CODE.invalidParams, `the model cannot be set to ${name}: ${model.reason}`);
  }

  async #prompt(params: unknown, signal: AbortSignal): Promise<JsonObject> {
    const { sessionId, prompt } = read(Prompt, "session/prompt", params);
    const session = this.#sessions.expect(sessionId);
    const { info } = this.#dependencies.models.open(session.header.model);
    return this.#sessions.prompt(session, promptParts(prompt, info), signal);
  }

  /** Takes a prompt into the turn under way, unless it is withdrawn before the turn has read it. */
  async #steer(params: unknown, signal: AbortSignal): Promise<JsonObject> {
    const { sessionId, prompt } = read(Prompt, "_reins/steer", params);
    const session = this.#sessions.expect(sessionId);
    const { info } = this.#dependencies.models.open(session.header.model);
    return { taken: await this.#sessions.steer(session, promptParts(prompt, info), signal) };
  }
}

function isOffered(capability: unknown): boolean {
  return capability !== undefined && capability !== null && capability !== false;
}
