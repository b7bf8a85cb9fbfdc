import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { errorMessage, ifExists, isRecord } from "@reins/kit";
import { z } from "zod";
import { AgentError } from "../agent-error.ts";
import type { HookAgent } from "./hook-agents.ts";

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

/**
 * The file by which a folder, or one above it, switches the user's hooks off; `undefined` where none does. A file that is
 * no JSON counts by what its text seems to say, because agents read some such files.
 */
export async function switchedOffBy(agent: HookAgent, folder: string): Promise<string | undefined> {
  if (!agent.switches) return undefined;
  const { files, member, value, text: form } = agent.switches;
  const said = form ?? new RegExp(`"${member.join('"[^}]*"')}"\\s*:\\s*${value}`, "u");
  for (let at = folder; ; at = dirname(at)) {
    for (const file of files) {
      const path = join(at, file);
      const text = await ifExists(readFile(path, "utf8"));
      if (text !== undefined && (jsonIn(text) === undefined ? said.test(text) : isOff(jsonIn(text), agent)))
        return path;
    }
    if (dirname(at) === at) return undefined;
  }
}

/** JSON, or nothing where a text is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether settings switch all hooks off. */
export function isOff(document: unknown, { switches }: HookAgent): boolean {
  if (!switches) return false;
  const said = switches.member.reduce<unknown>(
    (holder, name) => (isRecord(holder) ? holder[name] : undefined),
    document,
  );
  return said === switches.value;
}
