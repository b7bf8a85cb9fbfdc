import { AnthropicModel } from "./anthropic/anthropic-model.ts";
import { DEFAULT_ANTHROPIC_MODEL, OFFERED_ANTHROPIC_MODELS } from "./anthropic/known-models.ts";
import { DemoModel } from "./demo/demo-model.ts";
import type { Model, Price } from "./model.ts";
import type { ModelConfig } from "./model-config.ts";
import { ChatModel } from "./openai/chat-model.ts";
import { DEFAULT_OPENAI_MODEL, OFFERED_OPENAI_MODELS } from "./openai/known-models.ts";
import { ResponsesModel } from "./openai/responses-model.ts";
import { UnavailableModel } from "./unavailable-model.ts";

/** What models cost, by their ids. */
export type Prices = Readonly<Record<string, Price>>;

/** The models that an agent may speak to. */
export interface Models {
  /** The one that is used until somebody chooses. */
  readonly defaultId: string;
  /** Those on offer; others can be asked for by name. */
  readonly choices: readonly string[];
  /** The model of an id. One that cannot run says so when it is asked. */
  open(id: string): Model;
}

/** The models that a configuration gives access to. Without any key there is `demo`, which needs none. */
export function modelsFrom(config: ModelConfig, prices: Prices = {}): Models {
  const opened = new Map<string, Model>();
  return {
    defaultId: config.model === undefined ? defaultOf(config) : fullId(config.model, config),
    choices: [...new Set([...offered(config), "demo"])],
    open(id) {
      const full = fullId(id, config);
      const model = opened.get(full) ?? priced(openModel(full, config), prices);
      opened.set(full, model);
      return model;
    },
  };
}

/** A model with its price, by its whole id or by its name alone. */
function priced(model: Model, prices: Prices): Model {
  const { id } = model.info;
  const price = prices[id] ?? prices[id.slice(id.indexOf(":") + 1)];
  if (price === undefined) return model;
  return { info: { ...model.info, price }, stream: (request, signal) => model.stream(request, signal) };
}

function openModel(id: string, config: ModelConfig): Model {
  const [provider = "", ...rest] = id.split(":");
  const name = rest.join(":");
  if (id === "demo") return new DemoModel();
  if (provider === "anthropic" && hasAnthropic(config))
    return new AnthropicModel(name, config.anthropic ?? {});
  if (provider === "openai" && hasOpenAi(config)) return new ResponsesModel(name, config.openai ?? {});
  if (provider === "openai-chat" && hasOpenAi(config)) return new ChatModel(name, config.openai ?? {});
  return new UnavailableModel(id, whyNot(id, provider), PROVIDERS.has(provider));
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
    ...(hasAnthropic(config) ? OFFERED_ANTHROPIC_MODELS.map((model) => `anthropic:${model}`) : []),
    ...(hasOpenAi(config) && config.openai?.baseUrl === undefined
      ? OFFERED_OPENAI_MODELS.map((model) => `openai:${model}`)
      : []),
  ];
}

/** A name without a provider is taken as what it looks like. */
function fullId(id: string, config: ModelConfig): string {
  if (id === "demo" || /^(?:anthropic|openai|openai-chat):/.test(id)) return id;
  if (id.startsWith("claude")) return `anthropic:${id}`;
  if (/^(?:gpt-|o\d)/.test(id) || hasOpenAi(config)) return `${openAiDialect(config)}:${id}`;
  return id;
}

/** Servers other than OpenAI's own understand Chat Completions, and seldom more. */
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
