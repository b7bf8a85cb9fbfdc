import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { aborted } from "./bounds.ts";
import { Bystander } from "./bystander.ts";
import { fuzzBrokenHttp } from "./fuzz/broken-http.ts";
import { fuzzBrokenWebSocket } from "./fuzz/broken-websocket.ts";
import { FuzzContext } from "./fuzz/context.ts";
import { fuzzBodies } from "./fuzz/http.ts";
import { Loris } from "./fuzz/loris.ts";
import { fuzzFrames, fuzzLines } from "./fuzz/streams.ts";
import { Harness } from "./harness/harness.ts";
import { until } from "./harness/until.ts";
import { MemoryWatch, megabytes } from "./memory.ts";
import { rawHttp } from "./raw/http.ts";
import { rawLines, rawUnix } from "./raw/lines.ts";
import { rawWebSocket } from "./raw/websocket.ts";

const MESSAGES = { small: 6_000, full: 200_000 };
const BATCH = 100;
const LOOKS = 40;
/** How many bytes of each message may stay in memory; a leak of one small object would be ten times that. */
const MOST_LIVE_SLOPE = 20;
const MOST_RESIDENT = 600 * 2 ** 20;

const torture: Torture = {
  name: "ahp-fuzz",
  title: "A live server takes mutated messages and garbage over every transport; others notice nothing",
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), "ahp-fuzz-"));
    const unix = join(folder, "ahp.sock");
    const harness = await Harness.start({ stdio: true, unix, http: {} });
    try {
      await fuzz(context, harness, unix);
    } finally {
      await harness.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

export default torture;

async function fuzz(context: TortureContext, harness: Harness, unix: string): Promise<void> {
  const { descriptors } = await harness.report();
  const bystanders = await Promise.all([
    Bystander.start({ type: "unix", path: unix }),
    Bystander.start({ type: "websocket", url: harness.webSocket }),
    Bystander.start({ type: "http", url: harness.http }),
  ]);
  const loris = Loris.start(harness.http, context.seed);
  const disturbances = [harness.died, aborted(context.signal), ...bystanders.map(({ failed }) => failed)];
  try {
    await Promise.race([send(context, harness, unix), ...disturbances]);
    if (context.scale === "full") await Promise.race([loris.cut(), ...disturbances]);
  } finally {
    loris.stop();
    await Promise.all(bystanders.map((bystander) => bystander.stop()));
  }
  await Promise.race([...disturbances, expectClosed(harness, descriptors)]);
  context.log(
    `right answers to well-behaved clients: ${bystanders.map(({ answers }) => answers).join(", ")}`,
  );
}

/** No client is connected any more, so nothing may be open any more. */
async function expectClosed(harness: Harness, descriptors: number): Promise<void> {
  await until(harness, "the end of all connections", (report) => report.descriptors <= descriptors);
}

/** Sends all messages, by every worker at once, and keeps an eye on the memory. */
async function send({ seed, scale, log }: TortureContext, harness: Harness, unix: string): Promise<void> {
  const memory = await MemoryWatch.start(harness);
  const total = MESSAGES[scale];
  let sent = 0;
  let nextLook = 0;
  const work = async (sendSome: () => Promise<number>) => {
    while (sent < total) {
      const more = await sendSome();
      sent += more;
      if (sent < nextLook) continue;
      nextLook = sent + total / LOOKS;
      await memory.look(sent);
    }
  };
  await Promise.all(workers(harness, unix, seed).map(work));
  log(`${sent} messages; ${memory}`);
  if (memory.peak > MOST_RESIDENT) throw new Error(`${megabytes(memory.peak)} were resident (seed ${seed})`);
  if (scale === "full" && memory.liveSlope > MOST_LIVE_SLOPE)
    throw new Error(`memory grows by ${memory.liveSlope.toFixed(1)} bytes a message (seed ${seed})`);
}

/** Each sends some messages and says how many. */
function workers(harness: Harness, unix: string, seed: number): (() => Promise<number>)[] {
  const { stdin, stdout } = harness.child;
  if (!stdin || !stdout) throw new Error("the harness has no pipes");
  const stdio = rawLines(stdout, stdin);
  const context = (name: string) => new FuzzContext(harness, seed, name);
  const [overStdio, overUnix, overWebSocket, overHttp] = [
    context("stdio"),
    context("unix"),
    context("websocket"),
    context("http"),
  ];
  const [brokenHttp, brokenWebSocket] = [context("broken HTTP"), context("broken WebSocket")];
  return [
    async () => {
      await fuzzLines(overStdio, stdio, overStdio.messages(BATCH));
      return BATCH;
    },
    async () => {
      const stream = await rawUnix(unix);
      await fuzzLines(overUnix, stream, overUnix.messages(BATCH));
      stream.destroy();
      return BATCH;
    },
    async () => {
      const stream = await rawWebSocket(harness.webSocket);
      await fuzzFrames(overWebSocket, stream, overWebSocket.messages(BATCH));
      stream.destroy();
      return BATCH;
    },
    async () => {
      const connection = await rawHttp(harness.http);
      await fuzzBodies(overHttp, connection, overHttp.messages(BATCH));
      connection.socket.destroy();
      return BATCH;
    },
    async () => {
      await fuzzBrokenHttp(brokenHttp);
      return 1;
    },
    async () => {
      await fuzzBrokenWebSocket(brokenWebSocket);
      return 1;
    },
  ];
}
