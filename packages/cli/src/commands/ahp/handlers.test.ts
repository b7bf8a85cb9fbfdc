import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AhpServer, type Handlers } from "@reins/ahp";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CliError } from "../../errors.ts";
import { loadHandlers, loggedHandlers } from "./serve.ts";

let folder: string;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-handlers-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function moduleOf(source: string): Promise<string> {
  count += 1;
  const path = join(folder, `handlers-${count}.ts`);
  await writeFile(path, source);
  return path;
}

describe("a handler module", () => {
  it.each([
    ["a default export", "export default { event: () => 1 };"],
    ["an export named handlers", "export const handlers = { event: () => 1 };"],
    ["a function that makes them", "export default () => ({ event: () => 1 });"],
    ["an async function that makes them", "export const handlers = async () => ({ event: () => 1 });"],
    ["an instance of a class", "class Rules { event() { return 1; } }\nexport default new Rules();"],
    ["TypeScript", "const one: number = 1;\nexport default { event: (): number => one };"],
  ])("may have %s", async (_, source) => {
    const { handlers, unknown } = await loadHandlers(await moduleOf(source));
    expect(Reflect.apply(handlers.event, handlers, [])).toBe(1);
    expect(unknown).toEqual([]);
  });

  it("reports functions that no event calls", async () => {
    const path = await moduleOf("export default { event() {}, preAction() {}, limit: 3 };");
    expect((await loadHandlers(path)).unknown).toEqual(["preAction"]);
  });

  it.each([
    ["no export", "export const other = 1;", 'neither a default export nor one named "handlers"'],
    ["no event", "export default { idle() {} };", 'they have no function "event"'],
    ["an event that is no function", "export default { event: 1 };", '"event" is not a function'],
    [
      "a family that is no function",
      "export default { event() {}, idle: true };",
      '"idle" is not a function',
    ],
    ["something that is no object", "export default 7;", "they are not an object"],
    ["a function that fails", "export default () => { throw new Error('no database'); };", "no database"],
    ["a mistake", "throw new Error('at the top');", "cannot be loaded: at the top"],
  ])("with %s is refused with a reason and a next step", async (_, source, text) => {
    const path = await moduleOf(source);
    const refused = loadHandlers(path);
    await expect(refused).rejects.toThrow(CliError);
    await expect(refused).rejects.toMatchObject({ message: expect.stringContaining(text), exitCode: 2 });
    await expect(refused).rejects.toMatchObject({
      message: expect.stringContaining(path),
      next: expect.stringMatching(/\w/),
    });
  });

  it("that is not there is named", async () => {
    await expect(loadHandlers(join(folder, "missing.ts"))).rejects.toMatchObject({
      message: expect.stringContaining("There is no handler module"),
      next: expect.stringContaining("--handlers"),
    });
  });
});

function watch(handlers: Handlers, level = "debug") {
  const entries: Record<string, unknown>[] = [];
  const log = pino({ level, base: null }, { write: (line) => void entries.push(JSON.parse(line)) });
  return { entries, server: new AhpServer(loggedHandlers(handlers, log)) };
}

const event = {
  event_type: "pre_action",
  session_id: "s",
  agent_id: "a",
  timestamp: "t",
  depth: 0,
  payload: {},
};
const message = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "ahp/event", params: event });

describe("observed handlers", () => {
  it("answer as before and leave a trace", async () => {
    class Rules implements Handlers {
      readonly #reason = "private";
      event() {
        return { decision: "block", reason: this.#reason } as const;
      }
    }
    const { entries, server } = watch(new Rules());
    expect(await server.handleMessage(message)).toContain('"reason":"private"');
    expect(entries).toEqual([
      expect.objectContaining({ handler: "event", decision: "block", msg: "answered" }),
    ]);
  });

  it("logs handlers that fail", async () => {
    const failing: Handlers = {
      event() {
        throw new Error("no database");
      },
    };
    const { entries, server } = watch(failing, "info");
    expect(await server.handleMessage(message)).toContain("Handler error: no database");
    expect(entries).toEqual([expect.objectContaining({ error: "no database", msg: "a handler failed" })]);
    expect(entries[0]).not.toHaveProperty("stack");
  });

  it("are missing where they were missing", async () => {
    const { server } = watch({ event: () => ({ decision: "allow" }) });
    const query = { jsonrpc: "2.0", id: "1", method: "ahp/query" };
    const params = { session_id: "s", agent_id: "a", query_type: "q", payload: {} };
    expect(await server.handleMessage(JSON.stringify({ ...query, params }))).toContain("Query not supported");
  });
});
