import { join } from "node:path";
import { Readable } from "node:stream";
import { configOperations } from "@reins/api";
import { type FileCaller, FileFault, type FileService, type Hosting } from "@reins/host";
import { isRecord } from "@reins/kit";
import { required } from "../access/authenticator.ts";
import { parseBody } from "../gateway/request.ts";
import { callerProblems, HttpProblem } from "../problems.ts";
import type { LongPollCall, Routes } from "../routes/router.ts";
import { callerOf } from "./files.ts";

const MOST_BYTES = 4 * 1024 * 1024;
const DONE = { status: 204 } as const;

/** What Sandbox Agent's clients store for a folder, in files of the folder by the names that it uses. */
export function configRoutes(hosting: () => Promise<Hosting>): Routes {
  /** One change at a time, so that none is lost. */
  let changing: Promise<unknown> = Promise.resolve();
  const stored = async (call: LongPollCall, kind: "mcp" | "skills", directory: string) =>
    new StoredConfigs((await required(hosting)).files, callerOf({ ...call, query: {} }), kind, directory);
  const change = (run: () => Promise<void>) => {
    const next = changing.then(run, run);
    changing = next.catch(() => undefined);
    return callerProblems(() => next);
  };
  return {
    name: "config",
    mount(router) {
      const { getMcpConfig, putMcpConfig, deleteMcpConfig } = configOperations;
      const { getSkillsConfig, putSkillsConfig, deleteSkillsConfig } = configOperations;
      router.longPoll(getMcpConfig, async (call) => {
        const { directory, mcpName } = call.query;
        return callerProblems(async () => (await stored(call, "mcp", directory)).get(mcpName));
      });
      router.longPoll(getSkillsConfig, async (call) => {
        const { directory, skillName } = call.query;
        return callerProblems(async () => (await stored(call, "skills", directory)).get(skillName));
      });
      router.longPoll(putMcpConfig, async (call) => {
        const { directory, mcpName } = call.query;
        await change(async () => (await stored(call, "mcp", directory)).set(mcpName, call.body));
        return DONE;
      });
      router.longPoll(putSkillsConfig, async (call) => {
        const { directory, skillName } = call.query;
        await change(async () => (await stored(call, "skills", directory)).set(skillName, call.body));
        return DONE;
      });
      router.longPoll(deleteMcpConfig, async (call) => {
        const { directory, mcpName } = call.query;
        await change(async () => (await stored(call, "mcp", directory)).set(mcpName, undefined));
        return DONE;
      });
      router.longPoll(deleteSkillsConfig, async (call) => {
        const { directory, skillName } = call.query;
        await change(async () => (await stored(call, "skills", directory)).set(skillName, undefined));
        return DONE;
      });
    },
  };
}

/** The entries of one file, by name. */
class StoredConfigs {
  readonly #files: FileService;
  readonly #caller: FileCaller;
  readonly #path: string;

  constructor(files: FileService, caller: FileCaller, kind: string, directory: string) {
    this.#files = files;
    this.#caller = caller;
    this.#path = join(directory, ".sandbox-agent", "config", `${kind}.json`);
  }

  async get(name: string): Promise<{ readonly status: 200; readonly text: string }> {
    const entry = (await this.#read()).get(name);
    if (entry === undefined) throw new HttpProblem("not_found", `nothing is stored as ${name}`);
    return { status: 200, text: JSON.stringify(entry) };
  }

  /** Stores an entry, or removes it. */
  async set(name: string, entry: object | undefined): Promise<void> {
    const entries = await this.#read();
    if (entry) entries.set(name, entry);
    else if (!entries.delete(name)) return;
    const text = Buffer.from(`${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
    if (text.length > MOST_BYTES) throw new HttpProblem("too_large", `${this.#path} would be too large`);
    await this.#files.write(this.#caller, this.#path, Readable.from([text]), text.length);
  }

  async #read(): Promise<Map<string, unknown>> {
    try {
      const file = await this.#files.open(this.#caller, this.#path);
      if (file.size > MOST_BYTES || file.size === 0) {
        await file.close();
        return new Map();
      }
      const chunks: Buffer[] = await file.stream(0, file.size - 1).toArray();
      const value = parseBody(Buffer.concat(chunks).toString());
      return new Map(isRecord(value) ? Object.entries(value) : []);
    } catch (error) {
      if (error instanceof FileFault && error.code === "not_found") return new Map();
      throw error;
    }
  }
}
