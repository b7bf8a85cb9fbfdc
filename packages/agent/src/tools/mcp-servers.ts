import { createHash } from "node:crypto";
import type { Client, Tool as McpTool, Transport } from "@modelcontextprotocol/client";
import { isObject, type JsonObject } from "@reins/acp";
import { errorMessage } from "@reins/kit";
import { z } from "zod";
import { type Tool, ToolError } from "./tool.ts";

const CONNECT_MS = 30_000;
/** The most tools of one server; when there are many, they wait behind a search. */
const MAX_TOOLS = 10_000;

interface McpFault {
  readonly server: string;
  readonly reason: string;
}

/** The tools of all servers, and the servers that failed. */
export interface McpOffer {
  readonly tools: readonly Tool[];
  readonly faults: readonly McpFault[];
}

/** The MCP servers of a session. They are connected once, when the first turn needs them. */
export class McpServers {
  readonly #declared: readonly unknown[];
  readonly #transports: Transport[] = [];
  #offered: Promise<McpOffer> | undefined;
  readonly #closing = new AbortController();

  constructor(declared: readonly unknown[]) {
    this.#declared = declared;
  }

  /** Connects, and returns the tools of all reachable servers. */
  offered(): Promise<McpOffer> {
    this.#offered ??= this.#connectAll();
    return this.#offered;
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the session was closed"));
    await this.#offered;
    await Promise.allSettled(this.#transports.splice(0).map((transport) => transport.close()));
  }

  async #connectAll(): Promise<McpOffer> {
    const all = await Promise.all(this.#declared.map((one) => this.#connect(one)));
    const tools = new Map<string, Tool>();
    const counts = new Map<string, number>();
    for (const tool of all.flatMap((offered) => offered.tools)) {
      const count = (counts.get(tool.name) ?? 0) + 1;
      counts.set(tool.name, count);
      const name = count === 1 ? tool.name : distinctName(tool, count);
      tools.set(name, { ...tool, name });
    }
    return { tools: [...tools.values()], faults: all.flatMap(({ faults }) => faults) };
  }

  async #connect(declared: unknown): Promise<McpOffer> {
    const { data: entry, error } = McpServerEntry.safeParse(declared);
    if (error) return failed("a server", `its declaration is invalid: ${z.prettifyError(error)}`);
    const limits = { timeout: CONNECT_MS, signal: this.#closing.signal };
    try {
      // Loaded lazily: most sessions have no server.
      const { Client } = await import("@modelcontextprotocol/client");
      const client = new Client({ name: "reins-native", version: "0.1.0" });
      const transport = await transportTo(entry);
      this.#transports.push(transport);
      await client.connect(transport, limits);
      const { tools } = await client.listTools(undefined, limits);
      return {
        tools: tools.slice(0, MAX_TOOLS).map((tool) => mcpTool(entry.name, client, tool)),
        faults: [],
      };
    } catch (cause) {
      return failed(entry.name, errorMessage(cause));
    }
  }
}

function failed(server: string, reason: string): McpOffer {
  return { tools: [], faults: [{ server, reason }] };
}

async function transportTo(entry: McpServerEntry): Promise<Transport> {
  if ("url" in entry) {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const headers = asRecord(entry.headers);
    return new StreamableHTTPClientTransport(new URL(entry.url), { requestInit: { headers } });
  }
  const { StdioClientTransport, getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
  return new StdioClientTransport({
    command: entry.command,
    args: entry.args,
    env: { ...getDefaultEnvironment(), ...asRecord(entry.env) },
    stderr: "ignore",
  });
}

const Named = z.object({ name: z.string(), value: z.string() });

const StdioServer = z.object({
  name: z.string().min(1),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.array(Named).default([]),
});

const HttpServer = z.object({
  type: z.literal("http"),
  name: z.string().min(1),
  url: z.url({ protocol: /^https?$/ }),
  headers: z.array(Named).default([]),
});

/** A server as declared by `session/new`. */
const McpServerEntry = z.union([HttpServer, StdioServer]);
type McpServerEntry = z.infer<typeof McpServerEntry>;

/** Converts pairs to an object. */
function asRecord(pairs: readonly z.infer<typeof Named>[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}

const TIMEOUT_MS = 300_000;
const MAX_DESCRIPTION = 2_000;
const MAX_NAME = 64;

/** A tool name that every model accepts. */
function mcpToolName(server: string, tool: string): string {
  return `mcp__${server}__${tool}`.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME);
}

/** The name of a tool whose own is taken: names that differ only in what a model cannot write would be one. */
function distinctName({ name, source, label }: Tool, count: number): string {
  const digest = createHash("sha256").update(`${source}/${label}#${count}`).digest("hex");
  return `${name.slice(0, MAX_NAME - 9)}_${digest.slice(0, 8)}`;
}

/** Wraps a tool of a server. It is decided like any other and performed by the server. */
function mcpTool(server: string, client: Pick<Client, "callTool">, tool: McpTool): Tool {
  const name = mcpToolName(server, tool.name);
  return {
    name,
    source: server,
    label: tool.name,
    description: (tool.description ?? "").slice(0, MAX_DESCRIPTION),
    parameters: { ...tool.inputSchema },
    kind: "other",
    // A server's claims about its tools do not make them available in plan mode.
    isReadOnly: false,
    isInner: false,
    namespaces: [server, `mcp:${server}`],
    call(given) {
      if (!isObject(given)) throw new ToolError("malformed", `the arguments of ${name} are not an object`);
      return {
        title: `${server}: ${tool.name}`,
        prepare: async () => ({}),
        async perform({ signal }) {
          const result = await client.callTool(
            { name: tool.name, arguments: given },
            { signal, timeout: TIMEOUT_MS },
          );
          return { text: resultText(result), isError: result.isError === true };
        },
      };
    },
  };
}

function resultText({
  content,
  structuredContent,
}: {
  content: readonly unknown[];
  structuredContent?: unknown;
}): string {
  const texts = content.filter(isObject).map(blockText);
  if (texts.length > 0) return texts.join("\n");
  return structuredContent === undefined ? "(nothing)" : JSON.stringify(structuredContent);
}

function blockText(block: JsonObject): string {
  if (typeof block.text === "string") return block.text;
  if (isObject(block.resource) && typeof block.resource.text === "string") return block.resource.text;
  return `[${String(block.type)}]`;
}
