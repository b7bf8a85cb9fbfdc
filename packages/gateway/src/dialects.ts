import { amountOf, isRecord } from "@reins/kit";
import { writtenIn } from "./usage.ts";

/** The providers of models, by the name under which their keys are kept. */
export const PROVIDERS = ["anthropic", "openai", "gemini"] as const;
export type Provider = (typeof PROVIDERS)[number];

/** What a provider's API counted, in tokens; each token is in one of them. */
export interface TokenCounts {
  /** Read, but for what a cache held. */
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
}

/** What one document of a response says of its usage. */
interface Noted {
  readonly counts?: Partial<TokenCounts>;
  /** Whether the counts are those of the whole response. */
  readonly isFinal?: boolean;
  /** How many characters the model wrote in it. */
  readonly characters?: number;
}

/** What a request asks of a model, as its body says. */
export interface CallFacts {
  readonly model: string;
  /** The models that may answer, or advise, in its place or beside it. */
  readonly otherModels: readonly string[];
  /** The most tokens of the response, where the request limits them. */
  readonly maxOutput: number | undefined;
  /** The names of the tools that the model may call. */
  readonly tools: readonly string[];
  /** The names of what the provider keeps and the model is shown: conversations, prompts, caches. */
  readonly stored: readonly string[];
  /** Whether the response comes while it is written. */
  readonly isStreamed: boolean;
  /** Whether the response is written in the background, to be fetched later or by another call. */
  readonly isBackground: boolean;
}

/** The wire protocol of a call. */
export interface CallDialect {
  /** Throws where the provider may read the body in another way. */
  read(body: unknown, model: string): CallFacts;
  /** Reads a whole response, or the data of one event of a stream. */
  note(document: unknown): Noted;
  error(status: number, message: string): object;
}

/** One method of a provider's API that agents may call. */
export interface GatewayMethod {
  readonly name: string;
  readonly provider: Provider;
  /** The path below the provider's address; its first group is the model, where the path names it. */
  readonly path: RegExp;
  readonly dialect: CallDialect;
  /** Whether a model writes a response, which is what is paid for. */
  readonly generates: boolean;
}

/** What is the same in most requests. */
function factsIn(body: unknown, model: string) {
  return {
    model: askedText(body, "model") || model,
    otherModels: [] as readonly string[],
    isStreamed: asked(body, "stream") === true,
    isBackground: asked(body, "background") === true,
  };
}

const anthropic: CallDialect = {
  read(body, model) {
    const declared = askedList(body, "tools");
    const fallbacks = askedList(body, "fallbacks");
    const blocks = askedList(body, "messages").flatMap((message) =>
      askedText(message, "role") === "system" ? askedList(message, "content") : [],
    );
    const added = blocks.filter((block) => askedText(block, "type") === "tool_addition");
    const tools = [...declared, ...added.map((block) => asked(block, "tool"))];
    return {
      ...factsIn(body, model),
      otherModels: named([
        ...[...fallbacks, ...tools].map((one) => askedText(one, "model")),
        askedText(body, "fallbacks"),
      ]),
      maxOutput: largest([body, ...fallbacks].map((one) => askedAmount(one, "max_tokens"))),
      tools: named([
        ...tools.map((tool) => askedText(tool, "name") || askedText(tool, "type")),
        ...askedList(body, "mcp_servers").map((server) => remoteServer(askedText(server, "url"))),
        ...askedList(asked(body, "container"), "skills").map((one) => `skill:${askedText(one, "skill_id")}`),
      ]),
      stored: named([askedText(asked(body, "thread"), "previous_message_id")]),
    };
  },
  note(document) {
    const type = textAt(document, "type");
    const usage = at(type === "message_start" ? at(document, "message") : document, "usage");
    const delta = at(document, "delta");
    const characters = writtenIn(delta ?? at(document, "content"));
    if (!isRecord(usage)) return { characters };
    // What is done beside the response is not in the counts of the response.
    const beside = listAt(usage, "iterations").filter((one) => BESIDE.has(textAt(one, "type")));
    const sum = (name: string) =>
      amountAt(usage, name) === undefined
        ? undefined
        : [usage, ...beside].reduce<number>((all, one) => all + (amountAt(one, name) ?? 0), 0);
    const counts = known({
      input: sum("input_tokens"),
      output: sum("output_tokens"),
      cache_read: sum("cache_read_input_tokens"),
      cache_write: sum("cache_creation_input_tokens"),
    });
    return { counts, characters, isFinal: type !== "message_start" };
  },
  error: (status, message) => ({ type: "error", error: { type: kindOf(status), message } }),
};

/** The iterations whose tokens come on top of those of the response. */
const BESIDE: ReadonlySet<string> = new Set(["compaction", "advisor_message"]);

const openaiError: CallDialect["error"] = (status, message) => ({
  error: { message, type: kindOf(status), param: null, code: "reins_gateway" },
});

const openaiChat: CallDialect = {
  read(body, model) {
    // A server may know but one of them.
    const most = largest(["max_completion_tokens", "max_tokens"].map((name) => askedAmount(body, name)));
    const choices = Math.max(1, askedAmount(body, "n") ?? 1);
    return {
      ...factsIn(body, model),
      otherModels: named(askedList(body, "models").map(String)),
      maxOutput: most === undefined ? undefined : most * choices,
      tools: named([
        ...askedList(body, "tools").map((tool) => {
          const declared = asked(tool, "function") ?? asked(tool, "custom") ?? tool;
          return askedText(declared, "name") || askedText(tool, "type");
        }),
        ...askedList(body, "functions").map((declared) => askedText(declared, "name")),
        ...askedList(body, "plugins").map((plugin) => `plugin:${askedText(plugin, "id")}`),
        ...(asked(body, "web_search_options") === undefined ? [] : ["web_search"]),
      ]),
      stored: [],
    };
  },
  note(document) {
    const said = listAt(document, "choices").map((choice) => at(choice, "delta") ?? at(choice, "message"));
    const characters = writtenIn(said);
    const usage = at(document, "usage");
    if (!isRecord(usage)) return { characters };
    const read = amountAt(usage, "prompt_tokens");
    const written = amountAt(usage, "completion_tokens");
    // Some servers count reasoning in the total alone.
    const rest = (amountAt(usage, "total_tokens") ?? 0) - (read ?? 0);
    const output = written === undefined || read === undefined ? written : Math.max(written, rest);
    const counts = withCache(read, cachedIn(at(usage, "prompt_tokens_details")), output);
    return { counts, characters, isFinal: true };
  },
  error: openaiError,
};

const openaiResponses: CallDialect = {
  read(body, model) {
    // Tools may also come in the middle of a conversation.
    const loaded = askedList(body, "input").flatMap((item) =>
      askedText(item, "type") === "mcp_list_tools" ? [] : askedList(item, "tools"),
    );
    const conversation = asked(body, "conversation");
    return {
      ...factsIn(body, model),
      maxOutput: askedAmount(body, "max_output_tokens"),
      tools: named([...askedList(body, "tools"), ...loaded].flatMap(responsesTools)),
      stored: named([
        askedText(asked(body, "prompt"), "id"),
        askedText(body, "previous_response_id"),
        typeof conversation === "string" ? conversation : askedText(conversation, "id"),
      ]),
    };
  },
  note(document) {
    const usage = at(at(document, "response") ?? document, "usage");
    const characters = writtenIn(at(document, "delta") ?? at(document, "output"));
    if (!isRecord(usage)) return { characters };
    const cached = cachedIn(at(usage, "input_tokens_details"));
    const counts = withCache(amountAt(usage, "input_tokens"), cached, amountAt(usage, "output_tokens"));
    return { counts, characters, isFinal: true };
  },
  error: openaiError,
};

/** The names of a tool and of those in it. A type that is no declaration of a tool is its name. */
function responsesTools(tool: unknown): string[] {
  const type = askedText(tool, "type");
  const name = askedText(tool, "name");
  const own =
    type === "mcp"
      ? remoteServer(askedText(tool, "server_url") || askedText(tool, "connector_id"))
      : DECLARED.has(type)
        ? name
        : type;
  return [own, ...askedList(tool, "tools").flatMap(responsesTools)];
}

const DECLARED: ReadonlySet<string> = new Set(["", "function", "custom", "namespace"]);

const gemini: CallDialect = {
  read(body, model) {
    const settings = asked(body, "generationConfig");
    const most = askedAmount(settings, "maxOutputTokens");
    const candidates = Math.max(1, askedAmount(settings, "candidateCount") ?? 1);
    return {
      ...{ ...factsIn(body, model), model },
      maxOutput: most === undefined ? undefined : most * candidates,
      tools: named(askedList(body, "tools").flatMap(geminiTools)),
      stored: named([askedText(body, "cachedContent")]),
    };
  },
  note(document) {
    // Without `alt=sse` a stream is one list.
    if (Array.isArray(document)) {
      const noted = document.map((one) => gemini.note(one));
      return { ...noted.at(-1), characters: noted.reduce((sum, { characters = 0 }) => sum + characters, 0) };
    }
    const candidates = listAt(document, "candidates");
    const characters = writtenIn(candidates.map((candidate) => at(candidate, "content")));
    const usage = at(document, "usageMetadata");
    if (!isRecord(usage)) return { characters };
    // Of a count that is absent there is nothing, but for that of the prompt.
    const count = (name: string) => amountAt(usage, name) ?? 0;
    const prompt = amountAt(usage, "promptTokenCount");
    const read = prompt === undefined ? undefined : prompt + count("toolUsePromptTokenCount");
    const output = count("candidatesTokenCount") + count("thoughtsTokenCount");
    const isFinal =
      at(document, "promptFeedback") !== undefined ||
      candidates.some((candidate) => at(candidate, "finishReason") !== undefined);
    const cached = { read: count("cachedContentTokenCount"), written: 0 };
    return { counts: withCache(read, cached, output), characters, isFinal };
  },
  error: (status, message) => ({ error: { code: status, message, status: kindOf(status).toUpperCase() } }),
};

/** The functions that a tool of Gemini declares, and what else it names: tools of the provider, and servers. */
function geminiTools(tool: unknown): string[] {
  if (!isRecord(tool)) return [];
  const others = Object.keys(tool).filter((key) => spelled(key) !== spelled("functionDeclarations"));
  const servers = askedList(tool, "mcpServers").map((server) =>
    remoteServer(askedText(asked(server, "streamableHttpTransport"), "url")),
  );
  return [
    ...askedList(tool, "functionDeclarations").map((one) => askedText(one, "name")),
    ...others,
    ...servers,
  ];
}

/** The methods that pass the gateway; everything else is answered with 404. */
export const GATEWAY_METHODS: readonly GatewayMethod[] = [
  {
    ...{ name: "anthropic messages", provider: "anthropic", dialect: anthropic },
    ...{ path: /^\/v1\/messages$/, generates: true },
  },
  {
    ...{ name: "anthropic count_tokens", provider: "anthropic", dialect: anthropic },
    ...{ path: /^\/v1\/messages\/count_tokens$/, generates: false },
  },
  {
    ...{ name: "openai responses", provider: "openai", dialect: openaiResponses },
    ...{ path: /^\/v1\/responses$/, generates: true },
  },
  {
    ...{ name: "openai chat", provider: "openai", dialect: openaiChat },
    ...{ path: /^\/v1\/chat\/completions$/, generates: true },
  },
  {
    ...{ name: "gemini generateContent", provider: "gemini", dialect: gemini },
    ...{
      path: /^\/v1(?:beta)?\/models\/([\w.-]{1,128}):(?:generateContent|streamGenerateContent)$/,
      generates: true,
    },
  },
  {
    ...{ name: "gemini countTokens", provider: "gemini", dialect: gemini },
    ...{ path: /^\/v1(?:beta)?\/models\/([\w.-]{1,128}):countTokens$/, generates: false },
  },
];

/** The kind of error that an HTTP status is, in the words of Anthropic and OpenAI. */
function kindOf(status: number): string {
  const kinds: Readonly<Record<number, string>> = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
  };
  return kinds[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}

/** Counts of an API that reports what a cache held, or took, as a part of the input; only those that it reports. */
function withCache(
  read: number | undefined,
  cached: { readonly read: number; readonly written: number },
  output: number | undefined,
): Partial<TokenCounts> {
  const cache_read = Math.min(cached.read, read ?? 0);
  const cache_write = Math.min(cached.written, (read ?? 0) - cache_read);
  const input = read === undefined ? undefined : read - cache_read - cache_write;
  return known({ input, output, cache_read, cache_write });
}

/** What OpenAI says of its cache. */
function cachedIn(details: unknown): { readonly read: number; readonly written: number } {
  const written = amountAt(details, "cache_write_tokens") ?? 0;
  return { read: amountAt(details, "cached_tokens") ?? 0, written };
}

function known(counts: Record<keyof TokenCounts, number | undefined>): Partial<TokenCounts> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined));
}

/** What stands among the tools for an MCP server that the provider calls by itself. */
function remoteServer(address: string): string {
  return `mcp:${address}`;
}

function at(value: unknown, name: string): unknown {
  const found = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return found ?? undefined;
}

function textAt(value: unknown, name: string): string {
  const found = at(value, name);
  return typeof found === "string" ? found : "";
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const found = at(value, name);
  return Array.isArray(found) ? found : [];
}

function amountAt(value: unknown, name: string): number | undefined {
  return amountOf(at(value, name));
}

/** More members than any object has that is looked into. */
const MOST_MEMBERS = 1_000;

/**
 * A member of a request in any spelling that some server takes for the same: with other cases, as servers written in Go
 * do, or with underscores in place of capitals, as Google's do.
 */
function asked(value: unknown, name: string): unknown {
  if (!isRecord(value)) return undefined;
  const wanted = spelled(name);
  const keys = Object.keys(value);
  if (keys.length > MOST_MEMBERS)
    throw new Error(`an object of the request has more than ${MOST_MEMBERS} members`);
  const found = keys.filter(
    (key) => key.length >= wanted.length && key.length <= wanted.length + 8 && spelled(key) === wanted,
  );
  const [key, ...others] = found;
  if (key === undefined) return undefined;
  if (others.length > 0) throw new Error(`the request has a member in two spellings: ${found.join(" and ")}`);
  return value[key] ?? undefined;
}

/** Of two cases: some letters have a case that is no letter of their own alphabet. */
function spelled(name: string): string {
  return name.replaceAll("_", "").toUpperCase().toLowerCase();
}

function askedText(value: unknown, name: string): string {
  const found = asked(value, name);
  return typeof found === "string" ? found : "";
}

function askedAmount(value: unknown, name: string): number | undefined {
  return amountOf(asked(value, name));
}

/** A list of a request; some servers take an object for a list with that alone. */
function askedList(value: unknown, name: string): readonly unknown[] {
  const found = asked(value, name);
  return Array.isArray(found) ? found : isRecord(found) ? [found] : [];
}

/** The names that are some, each once. */
function named(names: readonly string[]): readonly string[] {
  return [...new Set(names)].filter((name) => name !== "");
}

function largest(amounts: readonly (number | undefined)[]): number | undefined {
  const given = amounts.filter((amount) => amount !== undefined);
  return given.length === 0 ? undefined : Math.max(...given);
}
