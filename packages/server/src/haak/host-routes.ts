import { isAbsolute } from "node:path";
import { RpcError } from "@reins/acp";
import { boardOperations, haakOperations, mailboxOperations, memoryOperations } from "@reins/api";
import { Board, HaakViews, Mailbox, type MailboxMessage, SharedFileError } from "@reins/haak";
import { type CallerChange, governCaller, type SessionRecord, userMemory } from "@reins/host";
import type { Harness, Principal } from "@reins/supervisor";
import { actorOf } from "@reins/supervisor";
import type { Log } from "../limits.ts";
import { HttpProblem } from "../problems.ts";
import { type LongPollCall, perHarness, type RawResponse, type Routes } from "../routes/router.ts";
import { pinRoutes } from "../v1/tools.ts";

/** Changes something once it is decided, and waits where a person is asked; a caller who leaves ends that. */
type Govern = (
  call: Pick<LongPollCall, "harness" | "principal" | "onDisconnect">,
  change: CallerChange,
  run: () => Promise<unknown>,
) => Promise<RawResponse>;

/** Decides what callers write, as what agents write is decided. */
function governed(log: Log): Govern {
  const onError = (err: unknown) => log.error({ err }, "a record of a caller's change is missing");
  return async ({ harness, principal, onDisconnect }, change, run) => {
    const gone = new AbortController();
    const left = () => gone.abort(new HttpProblem("timeout", "the client has disconnected"));
    const stay = onDisconnect(left);
    try {
      const made = await governCaller({ harness, onError }, principal, change, () => shared(run), gone);
      return made === undefined ? { status: 204 } : { status: 201, text: JSON.stringify(made) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      throw new HttpProblem("forbidden", error.message, { cause: error });
    } finally {
      stay();
    }
  };
}

/** The shared board. */
const boardRoutes = (govern: Govern): Routes => ({
  name: "board",
  mount(router) {
    router.handle(boardOperations.showBoard, ({ harness, principal, query }) =>
      shared(async () => ({ lines: await boardOf(harness, principal).read(query.lines) })),
    );
    router.longPoll(boardOperations.postBoard, (call) => {
      const { harness, principal, body } = call;
      return govern(call, { tool: "board/post", arguments: body }, () =>
        boardOf(harness, principal).post(actorOf(principal), body.content),
      );
    });
  },
});

const LIMIT = 100;
const mailboxes = perHarness(() => new Map<string, Mailbox>());

function boardOf({ home }: Harness, { tenant }: Principal): Board {
  return new Board({ home, tenant });
}

/** One per tenant, because it caches what was read. */
function mailboxOf(harness: Harness, { tenant }: Principal): Mailbox {
  const { home, store } = harness;
  const ofTenant = mailboxes(harness);
  const mailbox = ofTenant.get(tenant) ?? new Mailbox({ home, tenant, store });
  ofTenant.set(tenant, mailbox);
  return mailbox;
}

/** The mailboxes of agents. */
const mailboxRoutes = (govern: Govern): Routes => ({
  name: "mailbox",
  mount(router) {
    router.handle(mailboxOperations.listMail, ({ harness, principal, query: { agent, limit = LIMIT } }) =>
      shared(async () => {
        const mailbox = mailboxOf(harness, principal);
        const { messages: all, faults } = await mailbox.read();
        const asked = agent === undefined ? all : all.filter((message) => concerns(message, agent));
        return { messages: asked.slice(-limit).map(shown), faults };
      }),
    );
    router.longPoll(mailboxOperations.sendMail, (call) => {
      const { harness, principal, body } = call;
      return govern(call, { tool: "mailbox/send", arguments: body }, () =>
        mailboxOf(harness, principal).send({ from: actorOf(principal), ...body }),
      );
    });
    router.handle(mailboxOperations.listUnreadMail, (call) =>
      shared(async () => {
        const { harness, principal, params, query } = call;
        const mailbox = mailboxOf(harness, principal);
        const unread = await mailbox.unreadFor(params.agent);
        const messages = unread.slice(0, query.limit ?? LIMIT).map(shown);
        return { messages, faults: (await mailbox.read()).faults };
      }),
    );
    router.longPoll(mailboxOperations.markMailRead, (call) => {
      const { harness, principal, params, body } = call;
      const mailbox = mailboxOf(harness, principal);
      const change = { tool: "mailbox/mark_read", arguments: { ...params, ...body } };
      return govern(call, change, async () => {
        await harness.store.commit([mailbox.markRead(params.agent, body.messages)]);
      });
    });
  },
});

function concerns({ from, to }: MailboxMessage, agent: string): boolean {
  return from === agent || to.includes(agent);
}

function shown({ id, from, to, subject, body, timestamp }: MailboxMessage) {
  return { id, from, to, subject, body, timestamp };
}

/** The memory of a user's sessions. */
const memoryRoutes = (govern: Govern): Routes => ({
  name: "memory",
  mount(router) {
    router.handle(memoryOperations.listMemory, async ({ harness, principal, query: asked }) => {
      const memory = userMemory(harness, principal);
      const { query, workspace, limit = LIMIT } = asked;
      if (query === undefined) return { facts: await memory.list(limit) };
      return { facts: await memory.recall({ query, limit, ...(workspace !== undefined && { workspace }) }) };
    });
    router.longPoll(memoryOperations.addMemory, async (call) => {
      const { harness, principal, body } = call;
      const { content, confidence, workspace } = body;
      if (workspace !== undefined && workspace !== "" && !isAbsolute(workspace))
        throw new HttpProblem("invalid", "the workspace of a fact is an absolute path");
      if (content.trim() === "") throw new HttpProblem("invalid", "a fact needs words");
      return govern(call, { tool: "memory/add", arguments: body }, () =>
        userMemory(harness, principal).remember({
          content,
          source: actorOf(principal),
          ...(confidence !== undefined && { confidence }),
          ...(workspace !== undefined && { workspace }),
        }),
      );
    });
    router.longPoll(memoryOperations.forgetMemory, (call) => {
      const { harness, principal, params } = call;
      return govern(call, { tool: "memory/forget", arguments: params }, async () => {
        if (!(await userMemory(harness, principal).forget(params.fact)))
          throw new HttpProblem("not_found", `there is no fact ${params.fact}`);
      });
    });
  },
});

const viewsOf = perHarness((harness) => new HaakViews(harness));

/** HAAK's four tables, as views of the store. */
const haakTableRoutes: Routes = {
  name: "haak tables",
  mount(router) {
    router.handle(haakOperations.listHaakSessions, async ({ harness, principal, query }) => {
      const { limit = LIMIT, ...range } = query;
      return { sessions: await viewsOf(harness).sessions(principal, { ...range, limit }) };
    });
    router.handle(haakOperations.getHaakSession, async ({ harness, principal, params }) => {
      const { found, of } = await find(harness, principal, params.session);
      return of.row(found);
    });
    router.handle(haakOperations.listHaakTurns, async ({ harness, principal, params, query }) => {
      const { found, of } = await find(harness, principal, params.session);
      return { turns: await of.turns(found, { limit: LIMIT, ...given(query) }) };
    });
    router.handle(haakOperations.listHaakHistory, async ({ harness, principal, params, query }) => {
      const { found, of } = await find(harness, principal, params.session);
      return { history: await of.history(found, { limit: LIMIT, ...given(query) }) };
    });
    router.handle(haakOperations.listHaakLedger, async ({ harness, principal, params, query }) => {
      const { found, of } = await find(harness, principal, params.session);
      const placed = await of.ledger(found, { limit: LIMIT, ...given(query) });
      return { ledger: placed.map(({ seq, entry }) => ({ seq, ...entry })) };
    });
  },
};

/** Routes for what agents share: board, mail, memory, HAAK's tables and the pinned tools of MCP servers. */
export function hostRoutes(log: Log): readonly Routes[] {
  const govern = governed(log);
  return [boardRoutes(govern), mailboxRoutes(govern), memoryRoutes(govern), haakTableRoutes, pinRoutes];
}

async function find(
  harness: Harness,
  principal: Principal,
  session: string,
): Promise<{ readonly found: SessionRecord; readonly of: HaakViews }> {
  const of = viewsOf(harness);
  const found = await of.find(principal, session);
  if (found) return { found, of };
  throw new HttpProblem("not_found", `there is no session ${session}`);
}

function given(range: { after?: number | undefined; limit?: number | undefined }) {
  const { after, limit } = range;
  return { after, ...(limit !== undefined && { limit }) };
}

const PROBLEMS: Readonly<Record<string, "invalid" | "too_large" | "conflict" | undefined>> = {
  invalid: "invalid",
  too_large: "too_large",
  full: "conflict",
  unsafe_file: "conflict",
};

/** Maps errors of shared files to problems. */
async function shared<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof SharedFileError)) throw error;
    throw new HttpProblem(PROBLEMS[error.code] ?? "unavailable", error.message, { cause: error });
  }
}
