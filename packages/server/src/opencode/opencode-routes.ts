import { readResult } from "@reins/acp";
import { type OpenCodePrompt, opencodeOperations } from "@reins/api";
import type { Hosting, SessionRecord } from "@reins/host";
import { errorMessage } from "@reins/kit";
import { required } from "../access/authenticator.ts";
import type { Log } from "../limits.ts";
import { callerProblems, HttpProblem } from "../problems.ts";
import type { AuthorizedCall, RawResponse, Router, Routes } from "../routes/router.ts";
import { mountDescription } from "./description.ts";
import { EventStreams } from "./event-stream.ts";
import { pendingPermissions, replyPermission } from "./permissions.ts";
import {
  expectModel,
  expectSession,
  PromptNames,
  type ReadyPrompt,
  readPrompt,
  readTranscript,
  runPrompt,
  throughHub,
} from "./prompts.ts";
import { sessionInfo } from "./shapes.ts";

export interface OpenCodeOptions {
  /** Waits until agents can run; rejects with a reason for users. */
  readonly hosting: () => Promise<Hosting>;
  /** The agent of sessions that name none. */
  readonly defaultAgent?: string | undefined;
  readonly log: Log;
}

/** What every route needs. */
export interface OpenCodeContext {
  readonly hosting: () => Promise<Hosting>;
  readonly defaultAgent: string;
  /** The folder that a request is about: the one it names, or the default of its principal. */
  folderOf(call: AuthorizedCall): Promise<string>;
}

const MOST_LISTED = 1_000;
const LISTED = 100;
const NONE = new AbortController().signal;
const op = opencodeOperations;

/** OpenCode's API over governed sessions: what its published SDK and its terminal client ask for. */
export function opencodeRoutes({ hosting: open, defaultAgent = "native", log }: OpenCodeOptions): Routes {
  const hosting = () => required(open);
  const context: OpenCodeContext = {
    ...{ hosting, defaultAgent },
    folderOf: async (call) => {
      const { folders } = (await hosting()).host;
      return namedFolder(call) ?? callerProblems(() => folders.defaultFor(call.principal));
    },
  };
  const streams = new EventStreams();
  return {
    name: "opencode",
    mount(router) {
      mountSessions(router, context);
      mountMessages(router, context, { streams, log });
      mountDescription(router, context);
      router.handle(op.listPermissions, ({ harness, principal }) => pendingPermissions(harness, principal));
      router.handle(op.replyPermission, ({ harness, principal, params, body }) =>
        replyPermission(harness, principal, { ...params, ...body }),
      );
      router.handle(op.respondPermission, ({ harness, principal, params, body }) =>
        replyPermission(harness, principal, { ...params, reply: body.response }),
      );
      router.stream(op.events, async (call, begin) =>
        streams.serve(call, begin, { hosting: await hosting(), isGlobal: false }),
      );
      router.stream(op.globalEvents, async (call, begin) =>
        streams.serve(call, begin, { hosting: await hosting(), isGlobal: true }),
      );
      const unmapped = () =>
        new HttpProblem(
          "not_implemented",
          "Reins does not map this part of OpenCode's API; see docs/opencode.md",
        );
      for (const path of ["/opencode", "/opencode/*"]) router.reject(path, undefined, unmapped);
    },
  };
}

/** The folder that a request names in its query or header. */
function namedFolder({ query, request }: AuthorizedCall): string | undefined {
  const { directory } = { directory: undefined, ...Object(query) };
  if (typeof directory === "string" && directory !== "") return directory;
  const header = request.headers["x-opencode-directory"];
  if (typeof header !== "string" || header === "") return undefined;
  try {
    return decodeURIComponent(header);
  } catch {
    throw new HttpProblem("invalid", "the header x-opencode-directory is not encoded as a part of a URL");
  }
}

function mountSessions(router: Router, { hosting, defaultAgent, folderOf }: OpenCodeContext): void {
  const found = async ({ principal }: AuthorizedCall, session: string) => {
    const opened = await hosting();
    return { hosting: opened, record: await expectSession(opened, principal, session) };
  };
  router.longPoll(op.createSession, async (call) => {
    const { principal, body: { title, agent = defaultAgent, parentID, model, permission } = {} } = call;
    if (parentID !== undefined)
      throw new HttpProblem("not_implemented", "sessions below another are begun by agents alone");
    if (!isWithoutEffect(permission))
      throw new HttpProblem("not_implemented", "the constitution rules, and no permissions of a session");
    if (model) expectModel({ providerID: model.providerID, modelID: model.id });
    const opened = await hosting();
    if (!opened.catalogue.entries.some(({ id }) => id === agent))
      throw new HttpProblem("invalid", `there is no agent ${agent}`);
    const params = { cwd: await folderOf(call), mcpServers: [], _meta: { reins: { agent } } };
    const id = await throughHub(opened, { principal, agent }, async (connection) => {
      const { sessionId } = readResult("session/new", await connection.request("session/new", params, NONE));
      if (sessionId !== undefined && title !== undefined)
        await connection.request(TITLE, { sessionId, metadata: { title } }, NONE);
      return sessionId;
    });
    return json(await begun(opened, call, id));
  });
  router.handle(op.listSessions, async (call) => {
    const { hub } = await hosting();
    const { roots, start = 0, search = "", limit = LISTED } = call.query;
    const cwd = namedFolder(call);
    const records = await hub.list(call.principal, { open: true, limit: MOST_LISTED, ...(cwd && { cwd }) });
    return records
      .filter(({ parent }) => roots !== "true" || parent === undefined)
      .map(sessionInfo)
      .filter(({ time }) => time.updated >= start)
      .filter(({ title }) => title.toLowerCase().includes(search.toLowerCase()))
      .slice(0, limit);
  });
  router.handle(op.sessionStatus, async ({ principal }) => {
    const { hub } = await hosting();
    const records = await hub.list(principal, { open: true, limit: MOST_LISTED });
    // The store may be a moment behind.
    const running = records.filter((record) => (hub.live(record.id)?.record ?? record).state === "running");
    return Object.fromEntries(running.map((record) => [sessionInfo(record).id, { type: "busy" }]));
  });
  router.handle(op.getSession, async (call) => sessionInfo((await found(call, call.params.session)).record));
  router.handle(op.updateSession, async (call) => {
    const { hosting: opened, record } = await found(call, call.params.session);
    const { title, time, permission } = call.body;
    if (time?.archived || !isWithoutEffect(permission))
      throw new HttpProblem("not_implemented", "of a session, the title alone can be changed");
    const { principal } = call;
    if (title !== undefined)
      await throughHub(opened, { principal }, (connection) =>
        connection.request(TITLE, { sessionId: record.id, metadata: { title } }, NONE),
      );
    return sessionInfo((await found(call, call.params.session)).record);
  });
  router.longPoll(op.deleteSession, async (call) => {
    const { hosting: opened, record } = await found(call, call.params.session);
    await throughHub(opened, { principal: call.principal, agent: record.agent }, (connection) =>
      connection.request("session/delete", { sessionId: record.id }, NONE),
    );
    return json(true);
  });
  router.handle(op.sessionChildren, async (call) => {
    const { hosting: opened, record } = await found(call, call.params.session);
    const records = await opened.hub.list(call.principal, { open: true, limit: MOST_LISTED });
    return records.filter(({ parent }) => parent === record.id).map(sessionInfo);
  });
  router.handle(op.sessionTodo, async (call) => {
    const { hosting: opened, record } = await found(call, call.params.session);
    return (await readTranscript(opened, record, { most: 2 })).todos;
  });
  router.handle(op.sessionDiff, async (call) => {
    await found(call, call.params.session);
    return [];
  });
  router.longPoll(op.forkSession, async (call) => {
    const { hosting: opened, record } = await found(call, call.params.session);
    if (call.body?.messageID !== undefined)
      throw new HttpProblem("not_implemented", "a session is forked from its end alone");
    const { principal } = call;
    const params = { sessionId: record.id, cwd: record.cwd, mcpServers: [] };
    const id = await throughHub(opened, { principal, agent: record.agent }, async (connection) => {
      return readResult("session/new", await connection.request("session/fork", params, NONE)).sessionId;
    });
    return json(await begun(opened, call, id));
  });
  router.handle(op.abortSession, async (call) => {
    const { hosting: opened, record } = await found(call, call.params.session);
    await throughHub(opened, { principal: call.principal }, (connection) =>
      connection.notification("session/cancel", { sessionId: record.id }),
    );
    return true;
  });
}

/** Tools of OpenCode itself, which no agent of Reins has. */
const OWN_TOOLS: ReadonlySet<unknown> = new Set(["question", "plan_enter", "plan_exit"]);

/** Whether permissions of a session only deny what there is not. OpenCode's command line sends such. */
function isWithoutEffect(permission: unknown): boolean {
  if (permission === undefined) return true;
  if (!Array.isArray(permission)) return false;
  return permission.every((one) => Object(one).action === "deny" && OWN_TOOLS.has(Object(one).permission));
}

/** Changes metadata of a session, of which one is its title. */
const TITLE = "_sandboxagent/session/set_metadata";

/** A session that was just begun. */
async function begun(
  { hub }: Hosting,
  { principal }: AuthorizedCall,
  id: string | undefined,
): Promise<object> {
  const record = id === undefined ? undefined : await hub.find(principal, id);
  if (record) return sessionInfo(record);
  throw new HttpProblem("bad_gateway", "the agent began no session");
}

function mountMessages(
  router: Router,
  { hosting }: OpenCodeContext,
  { streams, log }: { readonly streams: EventStreams; readonly log: Log },
): void {
  const recordOf = async ({ principal }: AuthorizedCall, session: string): Promise<SessionRecord> =>
    expectSession(await hosting(), principal, session);
  router.longPoll(op.listMessages, async (call) => {
    const { limit } = call.query;
    if (call.query.before !== undefined)
      throw new HttpProblem("not_implemented", "older messages are listed by a larger limit alone");
    const range = limit === undefined ? {} : { most: limit };
    const record = await recordOf(call, call.params.session);
    return json((await readTranscript(await hosting(), record, range)).messages);
  });
  router.longPoll(op.getMessage, async (call) => {
    const { session, message: wanted } = call.params;
    const { messages } = await readTranscript(await hosting(), await recordOf(call, session));
    const message = messages.find(({ info }) => info.id === wanted);
    if (!message) throw new HttpProblem("not_found", `there is no message ${wanted}`);
    return json(message);
  });
  const names = new PromptNames();
  const prepared = async (
    call: Pick<AuthorizedCall, "principal">,
    session: string,
    body: OpenCodePrompt,
  ): Promise<ReadyPrompt> => {
    const { principal } = call;
    const opened = await hosting();
    const record = await expectSession(opened, principal, session);
    const prompt = readPrompt(record, principal, body, opened.hub.clock.now().getTime());
    if (body.messageID !== undefined) await names.take(opened, prompt);
    return prompt;
  };
  const run = async (prompt: ReadyPrompt) =>
    runPrompt(await hosting(), prompt, streams).finally(() => names.release(prompt));
  router.longPoll(op.prompt, async (call) =>
    json(await run(await prepared(call, call.params.session, call.body))),
  );
  router.longPoll(op.promptAsync, async (call) => {
    const prompt = await prepared(call, call.params.session, call.body);
    run(prompt).catch((error: unknown) => {
      log.info({ session: prompt.record.id }, "a prompt of an OpenCode client failed");
      streams.failed({ record: prompt.record, message: errorMessage(error) });
    });
    return { status: 204 };
  });
  router.longPoll(op.command, async (call) => {
    const { command, arguments: given, parts = [], model: _, ...chosen } = call.body;
    const text = `/${command}${given === "" ? "" : ` ${given}`}`;
    const body = { ...chosen, parts: [{ type: "text" as const, text }, ...parts] };
    return json(await run(await prepared(call, call.params.session, body)));
  });
}

function json(value: unknown): RawResponse {
  return { status: 200, text: JSON.stringify(value) };
}
