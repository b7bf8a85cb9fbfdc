import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { errorMessage } from "@reins/kit";
import { z } from "zod";
import { AgentError } from "../agent-error.ts";

/** A hook as Codex lists it: where it stands, and whether a person has reviewed it in this form. */
const CodexHook = z.looseObject({
  key: z.string(),
  eventName: z.string(),
  command: z.string().nullish(),
  currentHash: z.string(),
  enabled: z.boolean(),
  trustStatus: z.string(),
});
export type CodexHook = z.infer<typeof CodexHook>;

const Listed = z.looseObject({
  result: z.looseObject({ data: z.array(z.looseObject({ hooks: z.array(CodexHook) })) }),
});

const LIST_MS = 30_000;
const MAX_LINE = 4 * 1024 * 1024;

/** Asks Codex which hooks it has in a folder, and which of them it runs: those that a person has reviewed there. */
export async function codexHooks(
  command: string,
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<readonly CodexHook[]> {
  const child = spawn(command, ["app-server"], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), LIST_MS);
  try {
    child.stdin.on("error", () => undefined);
    const send = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const clientInfo = { name: "reins", title: "Reins", version: "1" };
    send({ id: 1, method: "initialize", params: { clientInfo, capabilities: { experimentalApi: true } } });
    send({ method: "initialized" });
    send({ id: 2, method: "hooks/list", params: { cwds: [cwd] } });
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.length > MAX_LINE) throw new Error("its answer is too long");
      const message: unknown = JSON.parse(line);
      if (Object(message).id !== 2) continue;
      return Listed.parse(message).result.data.flatMap(({ hooks }) => hooks);
    }
    throw new Error("it ended without an answer");
  } catch (error) {
    throw new AgentError("probe_failed", `Codex does not say which hooks it runs (${errorMessage(error)}).`);
  } finally {
    clearTimeout(timer);
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "close");
  }
}

/** The lines of `config.toml` that say that a person has reviewed hooks. */
export function trustLines(hooks: readonly Pick<CodexHook, "key" | "currentHash">[]): string {
  return hooks
    .map(
      ({ key, currentHash }) =>
        `\n[hooks.state.${JSON.stringify(key)}]\ntrusted_hash = ${JSON.stringify(currentHash)}\n`,
    )
    .join("");
}
