import type { Transport } from "@modelcontextprotocol/client";
import { z } from "zod";
import type { Tool } from "../tools/tool.ts";
import { mcpTool } from "./mcp-tool.ts";
import { asRecord, McpServerEntry } from "./server-entry.ts";

const CONNECT_MS = 30_000;
const MAX_TOOLS = 200;

/** A server that could not be used, and why. */
interface McpFault {
  readonly server: string;
  readonly reason: string;
}

/** What the servers of a session offer. */
export interface Offered {
  readonly tools: readonly Tool[];
  readonly faults: readonly McpFault[];
}

/** The servers of tools that a session was given. They are reached when the first turn needs them, and once. */
export class McpServers {
  readonly #declared: readonly unknown[];
  readonly #ways: Transport[] = [];
  #offered: Promise<Offered> | undefined;
  readonly #closing = new AbortController();

  constructor(declared: readonly unknown[]) {
    this.#declared = declared;
  }

  /** The tools of all servers that can be reached. */
  offered(): Promise<Offered> {
    this.#offered ??= this.#connectAll();
    return this.#offered;
  }

  /** Lets go of every server. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the session was closed"));
    await this.#offered;
    await Promise.allSettled(this.#ways.splice(0).map((way) => way.close()));
  }

  async #connectAll(): Promise<Offered> {
    const all = await Promise.all(this.#declared.map((one) => this.#connect(one)));
    const tools = new Map(all.flatMap((offered) => offered.tools.map((tool) => [tool.name, tool] as const)));
    return { tools: [...tools.values()], faults: all.flatMap(({ faults }) => faults) };
  }

  async #connect(declared: unknown): Promise<Offered> {
    const { data: entry, error } = McpServerEntry.safeParse(declared);
    if (error) return failed("a server", `it is not declared as one: ${z.prettifyError(error)}`);
    const limits = { timeout: CONNECT_MS, signal: this.#closing.signal };
    try {
      // Loaded by the first session that has a server.
      const { Client } = await import("@modelcontextprotocol/client");
      const client = new Client({ name: "reins-native", version: "0.1.0" });
      const way = await transportTo(entry);
      this.#ways.push(way);
      await client.connect(way, limits);
      const { tools } = await client.listTools(undefined, limits);
      return {
        tools: tools.slice(0, MAX_TOOLS).map((tool) => mcpTool(entry.name, client, tool)),
        faults: [],
      };
    } catch (cause) {
      return failed(entry.name, cause instanceof Error ? cause.message : String(cause));
    }
  }
}

function failed(server: string, reason: string): Offered {
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
