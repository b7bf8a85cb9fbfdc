import type { Wordings } from "@reins/scripted-model";
import { AgentEntry } from "./agent-entry.ts";
import { ourEntries } from "./catalogue.ts";

/** A place in a template that a value is put into. */
const at = (name: string) => `\${${name}}`;

/** The APIs of models, each with the variables by which programs usually find one. */
const MODEL_APIS = {
  anthropic: {
    variables: ["ANTHROPIC_API_KEY"],
    env: { ANTHROPIC_BASE_URL: at("url"), ANTHROPIC_API_KEY: at("key"), ANTHROPIC_MODEL: at("model") },
  },
  "openai-chat": {
    variables: ["OPENAI_API_KEY"],
    env: { OPENAI_BASE_URL: `${at("url")}/v1`, OPENAI_API_KEY: at("key"), OPENAI_MODEL: at("model") },
  },
  "openai-responses": {
    variables: ["OPENAI_API_KEY"],
    env: { OPENAI_BASE_URL: `${at("url")}/v1`, OPENAI_API_KEY: at("key"), OPENAI_MODEL: at("model") },
  },
  gemini: {
    variables: ["GEMINI_API_KEY"],
    env: { GOOGLE_GEMINI_BASE_URL: at("url"), GEMINI_API_KEY: at("key"), GEMINI_MODEL: at("model") },
  },
} as const;

/** An API of a model. */
export type ModelApi = keyof typeof MODEL_APIS;
export const MODEL_API_NAMES = [
  "anthropic",
  "openai-chat",
  "openai-responses",
  "gemini",
] as const satisfies readonly ModelApi[];

/** An agent of which only its command is known. */
interface UndescribedAgent {
  readonly id: string;
  readonly name?: string | undefined;
  readonly start: { readonly with: "file" | "node"; readonly file: string; readonly args: readonly string[] };
  readonly env?: Readonly<Record<string, string>>;
  /** The API that it asks its model by, so that it can be verified with a scripted one. */
  readonly modelApi?: ModelApi | undefined;
  readonly fromRegistry?: boolean;
  readonly registry?: string;
}

/**
 * The entry of an agent that the catalogue does not describe. Nothing is known of when it asks, so what it does counts as
 * observed until a verification has shown more.
 */
export function undescribed(agent: UndescribedAgent): AgentEntry {
  const { id, name = id, start, env = {}, modelApi, fromRegistry = false, registry } = agent;
  const api = modelApi && MODEL_APIS[modelApi];
  return AgentEntry.parse({
    ...{ id, name, start, fromRegistry },
    ...(registry !== undefined && { registry }),
    support: {
      level: "limited",
      reason:
        "Nothing is known of it but its command. Until it is verified, it counts as an agent that does not ask.",
    },
    profile: { env },
    credentials: { variables: api?.variables ?? [] },
    ...(api && { endpoint: { dialect: modelApi, env: api.env } }),
    wordings: usualWordings(),
    enforcement: { level: "observed" },
  });
}

/** The API that an undescribed agent asks its model by, if it is known. */
export function modelApiOf(entry: AgentEntry | undefined): ModelApi | undefined {
  return entry?.endpoint?.dialect;
}

/** How the tools of the agents that we know are called: another agent's may be called alike. */
function usualWordings(): Wordings {
  const merged: Wordings = {};
  for (const { wordings } of ourEntries())
    for (const [intent, ways] of Object.entries(wordings))
      merged[intent] = [...(merged[intent] ?? []), ...ways];
  return merged;
}
