import {
  type AnthropicAccess,
  anthropicModel,
  DEFAULT_ANTHROPIC_MODEL,
  OFFERED_ANTHROPIC_MODELS,
} from "./anthropic-model.ts";
import { DemoModel } from "./demo-model.ts";
import {
  type KnownModel,
  type Model,
  ModelError,
  type ModelEvent,
  type ModelInfo,
  type Price,
} from "./model.ts";
import { chatModel } from "./openai-chat.ts";
import { DEFAULT_OPENAI_MODEL, OFFERED_OPENAI_MODELS, type OpenAiAccess } from "./openai-client.ts";
import { responsesModel } from "./openai-responses.ts";

/** Configures which models are available. */
export interface ModelConfig {
  /** The default model, such as `claude-sonnet-5-5`, `openai:gpt-6-sol` or `demo`. */
  readonly model?: string | undefined;
  readonly anthropic?: AnthropicAccess | undefined;
  readonly openai?: (OpenAiAccess & { readonly api?: "responses" | "chat" | undefined }) | undefined;
  /** What is known of models, by id or name; they are on offer. */
  readonly known?: Readonly<Record<string, KnownModel>> | undefined;
  /** The models that are asked, in this order, when the one of a session cannot be used. */
  readonly fallbacks?: readonly string[] | undefined;
}

/** Reads the configuration from environment variables; empty ones count as absent. */
export function modelConfigFrom(env: Readonly<Record<string, string | undefined>>): ModelConfig {
  const given = (name: string) => env[name]?.trim() || undefined;
  const api = given("OPENAI_API");
  return {
    model: given("REINS_MODEL"),
    anthropic: {
      apiKey: given("ANTHROPIC_API_KEY"),
      authToken: given("ANTHROPIC_AUTH_TOKEN"),
      baseUrl: given("ANTHROPIC_BASE_URL"),
    },
    openai: {
      apiKey: given("OPENAI_API_KEY"),
      baseUrl: given("OPENAI_BASE_URL"),
      api: api === "chat" || api === "responses" ? api : undefined,
    },
  };
}

/** Prices by model id. */
export type Prices = Readonly<Record<string, Price>>;

/** The models of an agent. */
export interface Models {
  /** The model of a new session. */
  readonly defaultId: string;
  /** The models on offer; others can be chosen by name. */
  readonly choices: readonly string[];
  /** The models that are asked when another cannot be used. */
  readonly fallbacks?: readonly string[];
  /** The model with an id. One that cannot run reports so on each request. */
  open(id: string): Model;
}

/**
 * The models that a configuration gives access to. `demo` is always among them and needs no key. A model without a price
 * of the operator's costs what `listed` says of its name.
 */
export function modelsFrom(
  config: ModelConfig,
  prices: Prices = {},
  listed: (name: string) => Price | undefined = () => undefined,
): Models {
  const opened = new Map<string, Model>();
  return {
    defaultId: config.model === undefined ? defaultOf(config) : fullId(config.model, config),
    choices: [...new Set([...offered(config), "demo"])],
    fallbacks: (config.fallbacks ?? []).map((id) => fullId(id, config)),
    open(id) {
      const full = fullId(id, config);
      const model = opened.get(full) ?? priced(openModel(full, config), prices, listed);
      opened.set(full, model);
      return model;
    },
  };
}

/** A model with its price, which is configured by full id or by name. */
function priced(model: Model, prices: Prices, listed: (name: string) => Price | undefined): Model {
  const { id } = model.info;
  const name = id.slice(id.indexOf(":") + 1);
  const named = [id, name].find((each) => Object.hasOwn(prices, each));
  const price = named === undefined ? (model.info.price ?? listed(name)) : prices[named];
  if (price === undefined) return model;
  return { info: { ...model.info, price }, stream: (request, signal) => model.stream(request, signal) };
}

function openModel(id: string, config: ModelConfig): Model {
  const [provider = "", ...rest] = id.split(":");
  const name = rest.join(":");
  if (id === "demo") return new DemoModel();
  const known = knownOf(id, config);
  if (provider === "anthropic" && hasAnthropic(config))
    return anthropicModel(name, config.anthropic ?? {}, known);
  if (provider === "openai" && hasOpenAi(config)) return responsesModel(name, config.openai ?? {}, known);
  if (provider === "openai-chat" && hasOpenAi(config)) return chatModel(name, config.openai ?? {}, known);
  return new UnavailableModel(id, whyNot(id, provider), PROVIDERS.has(provider));
}

/** What the operator knows of a model, by its id or its name. */
function knownOf(id: string, { known = {} }: ModelConfig): KnownModel {
  const name = [id, id.slice(id.indexOf(":") + 1)].find((each) => Object.hasOwn(known, each));
  return (name !== undefined && known[name]) || {};
}

const PROVIDERS: ReadonlySet<string> = new Set(["anthropic", "openai", "openai-chat"]);

function whyNot(id: string, provider: string): string {
  if (provider === "anthropic") return `${id} needs a key; set ANTHROPIC_API_KEY, or choose another model`;
  if (provider === "openai" || provider === "openai-chat")
    return `${id} needs a key or an address; set OPENAI_API_KEY or OPENAI_BASE_URL, or choose another model`;
  return `there is no model ${id}; write anthropic:<model>, openai:<model>, openai-chat:<model> or demo`;
}

function defaultOf(config: ModelConfig): string {
  if (hasAnthropic(config)) return `anthropic:${DEFAULT_ANTHROPIC_MODEL}`;
  if (hasOpenAi(config)) return `${openAiDialect(config)}:${DEFAULT_OPENAI_MODEL}`;
  return "demo";
}

function offered(config: ModelConfig): readonly string[] {
  return [
    ...(config.model === undefined ? [] : [fullId(config.model, config)]),
    ...Object.keys(config.known ?? {}).map((id) => fullId(id, config)),
    ...(hasAnthropic(config) ? OFFERED_ANTHROPIC_MODELS.map((model) => `anthropic:${model}`) : []),
    ...(hasOpenAi(config) && config.openai?.baseUrl === undefined
      ? OFFERED_OPENAI_MODELS.map((model) => `openai:${model}`)
      : []),
  ];
}

/** Completes a name without a provider by what it looks like. */
function fullId(id: string, config: ModelConfig): string {
  if (id === "demo" || /^(?:anthropic|openai|openai-chat):/.test(id)) return id;
  if (id.startsWith("claude")) return `anthropic:${id}`;
  if (/^(?:gpt-|o\d)/.test(id) || hasOpenAi(config)) return `${openAiDialect(config)}:${id}`;
  return id;
}

/** Servers other than OpenAI's own usually support Chat Completions only. */
function openAiDialect({ openai }: ModelConfig): "openai" | "openai-chat" {
  return openai?.api === "chat" || (openai?.api === undefined && openai?.baseUrl !== undefined)
    ? "openai-chat"
    : "openai";
}

function hasAnthropic({ anthropic }: ModelConfig): boolean {
  return anthropic?.apiKey !== undefined || anthropic?.authToken !== undefined;
}

function hasOpenAi({ openai }: ModelConfig): boolean {
  return openai?.apiKey !== undefined || openai?.baseUrl !== undefined;
}

/** A model that was chosen by name and cannot run: every request fails with the reason. */
export class UnavailableModel implements Model {
  readonly info: ModelInfo;
  readonly reason: string;
  /** Whether only the key of its provider is missing. */
  readonly isKnown: boolean;

  constructor(id: string, reason: string, isKnown: boolean) {
    this.isKnown = isKnown;
    this.info = { id, contextTokens: 128_000, maxOutputTokens: 8_192, images: false, summarises: false };
    this.reason = reason;
  }

  // biome-ignore lint/correctness/useYield: it never gets that far
  async *stream(): AsyncIterable<ModelEvent> {
    throw new ModelError("not_configured", this.reason);
  }
}
