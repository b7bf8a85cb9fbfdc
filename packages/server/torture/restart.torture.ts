import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Random, seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { openAgentHome } from "../system/fixtures/agent-home.ts";
import { ServerProcess } from "../system/fixtures/server-process/server-process.ts";
import {
  expectAgreement,
  expectAnswered,
  expectVerdicts,
  expectWhole,
  interruptions,
} from "./restart/account.ts";
import { type Errand, errand } from "./restart/errand.ts";
import { Follower } from "./restart/follower.ts";

const SIZES = {
  small: { homes: 1, deathsEach: 3 },
  full: { homes: 10, deathsEach: 20 },
};

const LAST_WORDS = "everything is well";
const PATIENCE_MS = 30_000;
/** How long a run lasts that sends fewer messages than expected. */
const MOST_MS = 2_000;

const torture: Torture = {
  name: "server-restart",
  title:
    "a server is killed in the middle of turns; its clients come back and miss nothing, and nothing was done without a verdict",
  async run(context) {
    const { homes, deathsEach } = SIZES[context.scale];
    const random = seededRandom(context.seed);
    for (let home = 1; home <= homes; home += 1) {
      const base = await realpath(await mkdtemp(join(tmpdir(), "server-restart-")));
      try {
        await new Ordeal(base, random, context).run(home, deathsEach);
      } finally {
        await rm(base, { recursive: true, force: true });
      }
    }
  },
};

export default torture;

/** One home, whose server is killed again and again. */
class Ordeal {
  readonly #base: string;
  readonly #random: Random;
  readonly #context: TortureContext;
  readonly #effects = new Set<string>();
  readonly #later: string[] = [];
  #turn = 0;

  constructor(base: string, random: Random, context: TortureContext) {
    this.#base = base;
    this.#random = random;
    this.#context = context;
  }

  async run(home: number, deaths: number): Promise<void> {
    const followers = [new Follower(this.#random), new Follower(this.#random)] as const;
    const session = await this.#begin(followers);
    for (let death = 0; death < deaths; death += 1) {
      this.#context.signal.throwIfAborted();
      await this.#liveAndDie(followers, session);
    }
    await this.#settle(followers, session);
    await this.#account(home, deaths, followers, session);
  }

  /** The first run: both clients say hello, one begins a session, and the other joins it. */
  async #begin([driver, watcher]: readonly [Follower, Follower]): Promise<string> {
    const server = await ServerProcess.start({ base: this.#base });
    await driver.introduce(server);
    await watcher.introduce(server);
    const _meta = { "sandboxagent.dev": { agent: "stub" } };
    const params = { cwd: server.workspace, mcpServers: [], _meta };
    const begun = await driver.ask(driver.message("session/new", params));
    const { sessionId } = Object(begun.result);
    await watcher.ask(watcher.message("session/resume", { sessionId }));
    await server.kill();
    return sessionId;
  }

  /** A run that ends at a random moment of a turn. */
  async #liveAndDie(followers: readonly [Follower, Follower], session: string): Promise<void> {
    const [driver] = followers;
    const server = await ServerProcess.start({ base: this.#base });
    const following = await Promise.all(followers.map((follower) => follower.follow(server)));
    this.#turn += 1;
    const given = errand(this.#random, server.workspace, this.#turn, [...this.#effects]);
    const until = driver.seen.length + 1 + this.#random.int(given.messages + 1);
    const turning = this.#prompt(driver, session, given).catch(() => undefined);
    await driver.until(() => driver.seen.length >= until, MOST_MS);
    await new Promise((resolve) => setTimeout(resolve, this.#random.int(4)));
    await server.kill();
    await Promise.all([turning, ...following.map(({ gone }) => gone)]);
  }

  /** Prompts, and waits for the answer or has it come later. */
  async #prompt(driver: Follower, session: string, { steps, effects }: Errand): Promise<void> {
    for (const path of effects) this.#effects.add(path);
    const prompt = [{ type: "text", text: steps.join("\n") }];
    const message = driver.message("session/prompt", { sessionId: session, prompt });
    const later = this.#random.chance(0.5);
    await driver.ask(message, later);
    if (later) this.#later.push(message.id);
  }

  /** The last run: a turn comes to its end, and everybody has heard everything. */
  async #settle(followers: readonly [Follower, Follower], session: string): Promise<void> {
    const [driver] = followers;
    const server = await ServerProcess.start({ base: this.#base });
    const following = await Promise.all(followers.map((follower) => follower.follow(server)));
    const prompt = [{ type: "text", text: `say ${LAST_WORDS}` }];
    await driver.ask(driver.message("session/prompt", { sessionId: session, prompt }));
    // A question of an earlier turn may be settled after the last words; the other follower gets its cancellation.
    for (const follower of followers)
      if (!(await follower.until(() => saidLast(follower) && follower.isDone, PATIENCE_MS)))
        throw new Error("the last words were not told, or a question was not settled");
    await server.stop();
    await Promise.all(following.map(({ gone }) => gone));
  }

  async #account(
    home: number,
    deaths: number,
    followers: readonly [Follower, Follower],
    session: string,
  ): Promise<void> {
    const opened = await openAgentHome({ base: this.#base });
    try {
      for (const follower of followers) await expectWhole(opened, follower, session);
      expectAnswered(followers[0], this.#later);
      const approvals = await expectAgreement(opened);
      const effects = await expectVerdicts(opened, this.#effects);
      const cut = await interruptions(opened);
      const told = followers.map(({ seen }) => seen.length).join(" and ");
      this.#context.log(
        `home ${home}: killed ${deaths} times, ${cut} of them in a turn; ${told} messages told, ${this.#later.length} answers later, ${approvals} approvals, ${effects} files written`,
      );
    } finally {
      await opened.close();
    }
  }
}

/** Whether a follower got the last message of the agent; the prompt has the same text. */
function saidLast({ seen }: Follower): boolean {
  return seen.some(({ message }) => {
    const { sessionUpdate, content } = Object(Object(message.params).update);
    return sessionUpdate === "agent_message_chunk" && Object(content).text === LAST_WORDS;
  });
}
