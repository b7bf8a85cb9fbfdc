import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Arrivals } from "./arrivals.ts";
import type { Prompter } from "./prompter.ts";

/** The agent itself, over its input and output: nothing stands between. */
export async function stdioPrompter(stub: string): Promise<Prompter> {
  const child = spawn(process.execPath, [stub], { stdio: ["pipe", "pipe", "inherit"], detached: true });
  const arrivals = new Arrivals();
  const waiting = new Map<number, (result: unknown) => void>();
  let next = 1;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id, method, result } = JSON.parse(line);
    if (method === "session/update") arrivals.add(1);
    else waiting.get(id)?.(result);
  });
  const ask = (method: string, params: object) =>
    new Promise<unknown>((resolve) => {
      const id = next++;
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  await ask("initialize", { protocolVersion: 1 });
  const { sessionId } = Object(await ask("session/new", { cwd: "/", mcpServers: [] }));
  return {
    name: "direct stdio",
    prompt: async (text) =>
      void (await ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] })),
    updates: () => arrivals.count,
    arrived: (count) => arrivals.reach(count),
    close: async () => void child.kill(),
  };
}
