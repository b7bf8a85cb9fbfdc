import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchRow } from "../../../../scripts/bench/bench.ts";
import { type ServerFigures, ServerProcess } from "../../system/fixtures/server-process/server-process.ts";
import { Crowd } from "./crowd.ts";

/** How many there are of everything. */
export interface Sizes {
  readonly sessions: number;
  readonly readers: number;
  /** How many of the readers stop reading. */
  readonly stopped: number;
  /** How many sessions there are that nothing happens in, if they are measured. */
  readonly idle?: number;
}

const AGENTS = Array.from({ length: 8 }, (_, index) => `stub-${index + 1}`);
/** How many sessions there are before anything is counted: code is compiled, caches are filled. */
const WARM_UP = 64;
/** The messages for a reader that stops: more than its buffer holds. */
const BURST = 20_000;
/** Files that are open beside the connections of readers. */
const OTHER_FILES = 200;
const ENOUGH = 100;
const KIB = 1_024;

const RULES = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n";

/** Puts many sessions and readers on one server, and measures what each of them costs. */
export async function measureScale(sizes: Sizes): Promise<BenchRow[]> {
  expectFiles(sizes.readers + OTHER_FILES);
  const base = await realpath(await mkdtemp(join(tmpdir(), "scale-")));
  const server = await ServerProcess.start({ base, agents: AGENTS, rules: RULES, noSync: true });
  const crowd = new Crowd(server);
  try {
    await crowd.start(AGENTS);
    return await measured(server, crowd, sizes);
  } finally {
    crowd.close();
    await server.stop();
    await rm(base, { recursive: true, force: true });
  }
}

/** Every reader takes an open file here, and one in the server, whose limit is the same. */
function expectFiles(count: number): void {
  const report: unknown = process.report.getReport();
  const { soft } = Object(Object(report).userLimits).open_files ?? {};
  if (typeof soft === "number" && soft < count)
    throw new Error(`${count} files have to be open at once and ${soft} may be; raise it with ulimit -n`);
}

async function measured(
  server: ServerProcess,
  crowd: Crowd,
  { sessions, readers, stopped, idle: waiting = 0 }: Sizes,
): Promise<BenchRow[]> {
  for (let n = 0; n < WARM_UP; n += 1) await crowd.begin();
  const before = await server.figures();
  const begun = [];
  for (let n = 0; n < sessions; n += 1) begun.push(await crowd.begin());
  const idle = await server.figures();

  const heard = crowd.heard.count;
  for (const session of begun) await crowd.prompt(session, "say hello\nwait");
  await crowd.heard.reach(heard + sessions);
  const busy = await server.figures();
  for (const session of begun) await crowd.cancel(session);

  const quiet = await server.figures();
  for (let n = 0; n < readers; n += 1) await crowd.read(begun[n % sessions] ?? never());
  const read = await server.figures();
  const told = crowd.heard.count;
  // Readers get the prompt and the updates, the prompting client only the latter.
  const deliveries = 2 * readers + sessions;
  for (const session of begun) await crowd.prompt(session, "say again");
  await crowd.heard.reach(told + deliveries);
  const arrived = crowd.heard.count - told;

  const settled = await server.figures();
  const deaf = crowd.readers.slice(0, stopped);
  for (const { stream } of deaf) stream.pause();
  const heardBefore = crowd.heard.count;
  for (const { session } of deaf) await crowd.prompt(session, `burst ${BURST}`);
  await crowd.heard.reach(heardBefore + stopped * BURST);
  const held = await server.figures();

  for (let n = 0; n < waiting; n += 1) await crowd.begin();
  const many = await server.figures();

  const live = { what: "wanted", value: 200 };
  return [
    ...(waiting === 0
      ? []
      : [
          atMost(`one of ${waiting} idle sessions`, cost(held, many, waiting), "KiB", {
            what: "wanted",
            value: 20,
          }),
        ]),
    atMost("agents that run", read.agents, "processes", { what: "wanted", value: AGENTS.length }),
    atMost(`a live session of ${sessions}`, cost(before, idle, sessions), "KiB", live),
    atMost(`a session of ${sessions} in the middle of a turn`, cost(before, busy, sessions), "KiB", live),
    // A process takes memory by the megabyte, so that of few sessions this tells nothing.
    ...(sessions < ENOUGH
      ? []
      : [atMost("the same, all memory of the process", resident(before, busy, sessions), "KiB", live)]),
    {
      what: `messages to ${readers} readers that arrive`,
      value: arrived,
      unit: "messages",
      baseline: { what: "sent", value: deliveries },
      bar: { ratio: 1, sense: "at least" },
    },
    { what: `a reader of ${readers}`, value: cost(quiet, read, readers), unit: "KiB" },
    atMost(`a reader of ${stopped} that stops reading`, cost(settled, held, stopped), "KiB", {
      what: "four times what may wait",
      value: 4 * KIB,
    }),
  ];
}

/** What each of some costs on the heap and in buffers. */
function cost(before: ServerFigures, after: ServerFigures, count: number): number {
  const used = ({ heapUsed, external }: ServerFigures) => heapUsed + external;
  return (used(after) - used(before)) / KIB / count;
}

/** What each of some costs of all the memory that the process holds, freed or not. */
function resident(before: ServerFigures, after: ServerFigures, count: number): number {
  return (after.rss - before.rss) / KIB / count;
}

function atMost(
  what: string,
  value: number,
  unit: string,
  baseline: NonNullable<BenchRow["baseline"]>,
): BenchRow {
  return { what, value, unit, baseline, bar: { ratio: 1, sense: "at most" } };
}

function never(): never {
  throw new Error("there is no session to read");
}
