import type { ServerProcess } from "../../system/fixtures/server-process/server-process.ts";
import { Arrivals, UpdateCounter } from "./arrivals.ts";
import type { Prompter } from "./prompter.ts";
import { RpcLine } from "./rpc-line.ts";
import { WebSocketLine } from "./web-socket-line.ts";

/** How a server is reached. */
type Reached = Pick<ServerProcess, "address" | "token" | "workspace">;

/** Reins over HTTP: messages by POST, updates on the stream. */
export async function rpcPrompter(server: Reached, name: string): Promise<Prompter> {
  const line = new RpcLine(server);
  const named = await line.hello();
  const id = await line.begin(named);
  const arrivals = new Arrivals();
  const counter = new UpdateCounter(arrivals);
  await line.stream(named, (piece) => counter.take(piece));
  return {
    name,
    prompt: (text) => line.prompt(named, id, text),
    updates: () => arrivals.count,
    arrived: (count) => arrivals.reach(count),
    close: async () => line.close(),
  };
}

const MARK = Buffer.from('"session/update"');

/** Reins over WebSocket: everything on one connection. */
export async function webSocketPrompter(server: Reached, name: string): Promise<Prompter> {
  const arrivals = new Arrivals();
  const waiting = new Map<number, (result: unknown) => void>();
  let next = 1;
  const headers = { authorization: `Bearer ${server.token}` };
  const line = await WebSocketLine.open(`${server.address}/acp?agent=stub`, headers, (message) => {
    if (message.includes(MARK)) {
      arrivals.add(1);
      return;
    }
    const { id, result, error } = JSON.parse(message.toString());
    if (error) throw new Error(error.message);
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  const ask = (method: string, params: object) =>
    new Promise<unknown>((resolve) => {
      const id = next++;
      waiting.set(id, resolve);
      line.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  await ask("initialize", { protocolVersion: 1 });
  const { sessionId } = Object(await ask("session/new", { cwd: server.workspace, mcpServers: [] }));
  return {
    name,
    prompt: async (text) =>
      void (await ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] })),
    updates: () => arrivals.count,
    arrived: (count) => arrivals.reach(count),
    close: async () => line.close(),
  };
}
