import { amountOf, isRecord } from "@reins/kit";

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
  /** The most tokens of the response, where the request limits them. */
  readonly maxOutput: number | undefined;
  /** The names of the tools that the model may call. */
  readonly tools: readonly string[];
}

/** The wire protocol of a call. */
export interface CallDialect {
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

const anthropic: CallDialect = {
  read: (body, model) => ({
    model: textAt(body, "model") || model,
    maxOutput: amountAt(body, "max_tokens"),
    tools: [
      ...listAt(body, "tools").map((tool) => textAt(tool, "name")),
      ...listAt(body, "mcp_servers").map((server) => remoteServer(textAt(server, "url"))),
    ],
  }),
  note(document) {
    const type = textAt(document, "type");
    const usage = at(type === "message_start" ? at(document, "message") : document, "usage");
    const delta = at(document, "delta");
    const written = [textAt(delta, "text"), textAt(delta, "thinking"), textAt(delta, "partial_json")];
    const characters = lengthOf(written);
    if (!isRecord(usage)) return { characters };
    const counts = known({
      input: amountAt(usage, "input_tokens"),
      output: amountAt(usage, "output_tokens"),
      cache_read: amountAt(usage, "cache_read_input_tokens"),
      cache_write: amountAt(usage, "cache_creation_input_tokens"),
    });
    return { counts, characters, isFinal: type !== "message_start" };
  },
  error: (status, message) => ({ type: "error", error: { type: kindOf(status), message } }),
};

const openaiError: CallDialect["error"] = (status, message) => ({
  error: { message, type: kindOf(status), param: null, code: "reins_gateway" },
});

const openaiChat: CallDialect = {
  read(body, model) {
    const most = amountAt(body, "max_completion_tokens") ?? amountAt(body, "max_tokens");
    const choices = Math.max(1, amountAt(body, "n") ?? 1);
    return {
      model: textAt(body, "model") || model,
      maxOutput: most === undefined ? undefined : most * choices,
      tools: [
        ...listAt(body, "tools").map((tool) => textAt(at(tool, "function"), "name") || textAt(tool, "type")),
        ...listAt(body, "functions").map((declared) => textAt(declared, "name")),
        ...(at(body, "web_search_options") === undefined ? [] : ["web_search"]),
      ],
    };
  },
  note(document) {
    const written = listAt(document, "choices").flatMap((choice) => {
      const said = at(choice, "delta") ?? at(choice, "message");
      const calls = listAt(said, "tool_calls").map((call) => textAt(at(call, "function"), "arguments"));
      return [textAt(said, "content"), textAt(said, "reasoning_content"), ...calls];
    });
    const characters = lengthOf(written);
    const usage = at(document, "usage");
    if (!isRecord(usage)) return { characters };
    const cached = amountAt(at(usage, "prompt_tokens_details"), "cached_tokens") ?? 0;
    const counts = withCache(amountAt(usage, "prompt_tokens"), cached, amountAt(usage, "completion_tokens"));
    return { counts, characters, isFinal: true };
  },
  error: openaiError,
};

const openaiResponses: CallDialect = {
  read: (body, model) => ({
    model: textAt(body, "model") || model,
    maxOutput: amountAt(body, "max_output_tokens"),
    tools: listAt(body, "tools").map((tool) =>
      textAt(tool, "type") === "mcp"
        ? remoteServer(textAt(tool, "server_url") || textAt(tool, "connector_id"))
        : textAt(tool, "name") || textAt(tool, "type"),
    ),
  }),
  note(document) {
    const usage = at(at(document, "response") ?? document, "usage");
    const characters = textAt(document, "delta").length;
    if (!isRecord(usage)) return { characters };
    const cached = amountAt(at(usage, "input_tokens_details"), "cached_tokens") ?? 0;
    const counts = withCache(amountAt(usage, "input_tokens"), cached, amountAt(usage, "output_tokens"));
    return { counts, characters, isFinal: true };
  },
  error: openaiError,
};

const gemini: CallDialect = {
  read: (body, model) => ({
    model,
    maxOutput: amountAt(at(body, "generationConfig"), "maxOutputTokens"),
    tools: listAt(body, "tools").flatMap((tool) => {
      const declared = [...listAt(tool, "functionDeclarations"), ...listAt(tool, "function_declarations")];
      const named = declared.map((one) => textAt(one, "name"));
      return named.length > 0 || !isRecord(tool) ? named : Object.keys(tool);
    }),
  }),
  note(document) {
    // Without `alt=sse` a stream is one list.
    if (Array.isArray(document)) {
      const noted = document.map((one) => gemini.note(one));
      return { ...noted.at(-1), characters: noted.reduce((sum, { characters = 0 }) => sum + characters, 0) };
    }
    const candidates = listAt(document, "candidates");
    const parts = candidates.flatMap((candidate) => listAt(at(candidate, "content"), "parts"));
    const written = parts.map((part) => textAt(part, "text") + textOf(at(part, "functionCall")));
    const characters = lengthOf(written);
    const usage = at(document, "usageMetadata");
    if (!isRecord(usage)) return { characters };
    const cached = amountAt(usage, "cachedContentTokenCount") ?? 0;
    const read =
      (amountAt(usage, "promptTokenCount") ?? 0) + (amountAt(usage, "toolUsePromptTokenCount") ?? 0);
    const output =
      (amountAt(usage, "candidatesTokenCount") ?? 0) + (amountAt(usage, "thoughtsTokenCount") ?? 0);
    const isFinal = candidates.some((candidate) => at(candidate, "finishReason") !== undefined);
    return { counts: withCache(read, cached, output), characters, isFinal };
  },
  error: (status, message) => ({ error: { code: status, message, status: kindOf(status).toUpperCase() } }),
};

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

/** Counts of an API that reports what a cache held as a part of the input. */
function withCache(read = 0, cached: number, output = 0): TokenCounts {
  const held = Math.min(cached, read);
  return { input: read - held, output, cache_read: held, cache_write: 0 };
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

function textOf(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value);
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}
