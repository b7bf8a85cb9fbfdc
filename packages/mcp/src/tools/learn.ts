import type { Upstream } from "../server/upstream.ts";
import { type Message, objectIn } from "../wire/message.ts";
import type { ToolCatalog } from "./catalog.ts";

/** More pages than this are no list. */
const MOST_PAGES = 64;

/**
 * Walks through a server's tools for our own sake, when an agent calls one without ever having listed them. A server
 * that has no list is left in peace.
 */
export async function learnTools(
  upstream: Upstream,
  catalog: ToolCatalog,
  meta: Message | undefined,
): Promise<void> {
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const params = { ...introduction(meta), ...(cursor !== undefined && { cursor }) };
    const answer = await upstream.ask({ jsonrpc: "2.0", id: 0, method: "tools/list", params }).answer;
    const result = "response" in answer ? objectIn(answer.response, "result") : undefined;
    const { tools, nextCursor } = result ?? {};
    if (!Array.isArray(tools)) return;
    await catalog.admit(cursor, tools, nextCursor);
    if (typeof nextCursor !== "string") return;
    cursor = nextCursor;
  }
}

/** What the agent says of itself in each request since 2026; tokens and the like are for its own request alone. */
function introduction(meta: Message | undefined): Message {
  const said = Object.entries(meta ?? {}).filter(([name]) => name.startsWith("io.modelcontextprotocol/"));
  return said.length > 0 ? { _meta: Object.fromEntries(said) } : {};
}
