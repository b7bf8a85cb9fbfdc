import { CODE, type JsonObject } from "@reins/acp";
import { describe, expect, test } from "vitest";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { Connection } from "./connection.ts";
import {
  choicesOf,
  EXTENSIONS,
  extend,
  isExtension,
  listingOf,
  modelsOf,
  withCapabilities,
} from "./extensions.ts";
import type { Hub } from "./hub.ts";

const principal = { id: "ada", tenant: "t" } as Connection["principal"];

const session = (id: string, more: Partial<SessionRecord> = {}) =>
  ({
    ...{ id, agent: "stub", agent_session_id: `a-${id}`, tenant: "t", cwd: "/work", state: "idle" },
    ...{ mode: "persistent", additional_directories: [], metadata: {}, title: undefined },
    ...{ created_at: "1970-01-01T00:00:01.000Z", last_activity: "1970-01-01T00:00:02.000Z" },
    ...more,
  }) as SessionRecord;

/** Calls extensions on a hub with some sessions, of which `settings` are known. */
function open(records: readonly SessionRecord[], settings: JsonObject = {}) {
  const did: string[] = [];
  const find = async (_: unknown, id: string) => records.find((record) => record.id === id);
  const hub = {
    list: async (_: unknown, { limit = 100 }: { limit?: number } = {}) => records.slice(0, limit),
    find,
    terminate: async (_: unknown, id: string) => {
      const record = await find(undefined, id);
      return record !== undefined && record.ended === undefined;
    },
    annotate: async ({ id }: SessionRecord, metadata: JsonObject) =>
      void did.push(`annotate ${id} ${JSON.stringify(metadata)}`),
    settingsOf: () => settings,
    settingsOfAgent: async () => settings,
    countsOf: async (_: string, ids: readonly string[]) => new Map(ids.map((id) => [id, 3])),
  } as unknown as Hub;
  const connection = { principal, detach: (id: string) => did.push(`detach ${id}`) } as unknown as Connection;
  const call = (name: keyof typeof EXTENSIONS, params: JsonObject = {}) =>
    extend(hub, connection, EXTENSIONS[name], params);
  return { hub, did, call };
}

describe("an extension", () => {
  test("is one of our methods, and no other", async () => {
    expect(Object.values(EXTENSIONS).every(isExtension)).toBe(true);
    expect(isExtension("session/prompt")).toBe(false);
    const { hub } = open([]);
    expect(() => extend(hub, {} as Connection, "session/other", {})).toThrow("is not known here");
  });

  test("needs a sessionId, of a session that its principal may see", async () => {
    const { call } = open([]);
    await expect(call("sessionGet")).rejects.toMatchObject({ code: CODE.invalidParams });
    await expect(call("sessionGet", { sessionId: "s" })).rejects.toMatchObject({ code: CODE.notFound });
  });

  test("detaches a client", async () => {
    const { call, did } = open([]);
    expect(await call("sessionDetach", { sessionId: "s" })).toEqual({});
    expect(did).toEqual(["detach s"]);
  });

  test("terminates a session once", async () => {
    const ended = { reason: "completed", terminated_by: "daemon", at: "" } as const;
    const { call } = open([session("open"), session("ended", { ended })]);
    const results = await Promise.all(
      ["open", "ended", "unknown"].map((sessionId) => call("sessionTerminate", { sessionId })),
    );
    expect(results.map(({ terminated, alreadyEnded }) => [terminated, alreadyEnded])).toEqual([
      [true, false],
      [false, true],
      [false, false],
    ]);
  });

  test("shows sessions with their settings, by id", async () => {
    const modes = { currentModeId: "plan", availableModes: [] };
    const ended = { reason: "error", terminated_by: "agent", message: "broken", at: "" } as const;
    const { call } = open([session("b", { ended, title: "T" }), session("a", { metadata: { model: "m" } })], {
      modes,
    });
    const { sessions } = await call("sessionList");
    expect(sessions).toMatchObject([
      {
        sessionId: "a",
        agentMode: "plan",
        permissionMode: "default",
        model: "m",
        ended: false,
        eventCount: 3,
      },
      {
        ...{
          sessionId: "b",
          nativeSessionId: "a-b",
          ended: true,
          title: "T",
          createdAt: 1_000,
          updatedAt: 2_000,
        },
        terminationInfo: { reason: "error", terminatedBy: "agent", message: "broken" },
      },
    ]);
    expect(await open([]).call("sessionList")).toEqual({ sessions: [] });
  });

  test("sets metadata, up to a size", async () => {
    const { call, did } = open([session("s")]);
    await call("sessionSetMetadata", { sessionId: "s", metadata: { a: 1 } });
    await call("sessionSetMetadata", { sessionId: "s", _meta: { "sandboxagent.dev": { b: 2 } } });
    expect(did).toEqual(['annotate s {"a":1}', 'annotate s {"b":2}']);
    const large = { sessionId: "s", metadata: { text: "x".repeat(64 * 1024) } };
    await expect(call("sessionSetMetadata", large)).rejects.toThrow("at most 65536 characters");
    await expect(call("sessionSetMetadata", { sessionId: "s" })).rejects.toThrow("needs metadata");
  });

  test("lists the models of a session or of an agent", async () => {
    const models = { currentModelId: "m", availableModels: [{ modelId: "m", name: "M" }] };
    const { call } = open([session("s")], { models });
    const listed = { currentModelId: "m", availableModels: [{ modelId: "m", name: "M", variants: [] }] };
    expect(await call("sessionListModels", { sessionId: "s" })).toMatchObject(listed);
    expect(await call("sessionListModels", { agent: "stub" })).toMatchObject(listed);
    await expect(call("sessionListModels")).rejects.toThrow("needs a sessionId or an agent");
    expect(await open([session("s")]).call("sessionListModels", { sessionId: "s" })).toEqual({
      availableModels: [],
      currentModelId: null,
    });
  });
});

describe("the models of a session", () => {
  test("are those of its config option, in groups or not", () => {
    const options = [{ value: "one", name: "One" }, { options: [{ value: "two" }] }, "none"];
    const configOptions = [
      { id: "x", category: "other" },
      { id: "m", category: "model", options, currentValue: "one" },
    ];
    expect(modelsOf({ configOptions })).toMatchObject({
      currentModelId: "one",
      availableModels: [
        { modelId: "one", name: "One" },
        { modelId: "two", name: "two", description: null },
      ],
    });
    expect(choicesOf({ groups: [{ options: [{ value: 1 }] }] })).toEqual([{ value: 1 }]);
  });

  test("are unknown before the agent lists them", () => {
    expect(modelsOf({})).toBeUndefined();
    expect(modelsOf({ models: { availableModels: "none" } })).toBeUndefined();
  });
});

test("a listing has a cursor as long as there are more sessions", async () => {
  const records = Array.from({ length: 201 }, (_, index) => session(`s${index}`, { title: `${index}` }));
  const first = await listingOf(open(records).hub, principal, {});
  expect([(first.sessions as unknown[]).length, first.nextCursor]).toEqual([200, "s199"]);
  const last = await listingOf(open(records.slice(0, 1)).hub, principal, { cwd: "/work", cursor: "s199" });
  expect(last).toMatchObject({
    sessions: [
      { sessionId: "s0", cwd: "/work", title: "0", _meta: { reins: { agent: "stub", state: "idle" } } },
    ],
    nextCursor: null,
  });
});

test("an agent's own capabilities stay beside those that the hub adds", () => {
  const own = { sessionCapabilities: { fork: {} }, promptCapabilities: { image: true }, _meta: { own: 1 } };
  expect(withCapabilities({ agentInfo: "i", agentCapabilities: own })).toMatchObject({
    agentInfo: "i",
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true },
      sessionCapabilities: { fork: {}, list: {}, resume: {}, close: {}, delete: {} },
      _meta: { own: 1 },
    },
  });
});
