import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AhpServer } from "../src/server/server.ts";
import { serveHttp } from "../src/transport/http/serve.ts";
import { serveUnix } from "../src/transport/unix.ts";
import { readVectors, type ServerVector, vectorHandlers } from "../test/vectors.ts";
import { type RawStream, rawHttp, rawStdio, rawUnix, rawWebSocket } from "./fixtures/raw.ts";
import { temporaryFolder } from "./fixtures/temporary.ts";

const { servers } = readVectors();

/** Vectors by the limits of the server they were recorded with; each kind needs a server of its own. */
const byConfig = Map.groupBy(servers, (vector) => JSON.stringify(vector.config ?? null));

function optionsFor(config: string) {
  const parsed = JSON.parse(config);
  return { compat: true, ...(parsed ? { config: parsed } : {}) };
}

/** A request whose answer shows that everything before it has been dealt with. */
const MARK = '{"jsonrpc":"2.0","id":"mark","method":"mark","params":null}';

async function replyTo(vector: ServerVector, stream: RawStream): Promise<string | null> {
  stream.send(`${vector.in}\n`);
  stream.send(`${MARK}\n`);
  const first = await stream.next();
  if (JSON.parse(first).id === "mark") return null;
  await stream.next();
  return first;
}

async function playAll(vectors: readonly ServerVector[], stream: RawStream): Promise<void> {
  for (const vector of vectors) {
    const reply = await replyTo(vector, stream);
    expect(reply && JSON.parse(reply), vector.in).toEqual(vector.out && JSON.parse(vector.out));
  }
  await stream.close();
}

describe.each([...byConfig])("every recorded message, limits %s", (config, vectors) => {
  const options = optionsFor(config);

  test("over stdio", () => playAll(vectors, rawStdio(options)));

  test("over a Unix socket", async () => {
    const path = join(await temporaryFolder(), "ahp.sock");
    const served = await serveUnix(new AhpServer(vectorHandlers(), options), { path });
    await playAll(vectors, await rawUnix(path));
    await served.close();
  });

  test("over WebSocket", async () => {
    const served = await serveHttp(new AhpServer(vectorHandlers(), options));
    await playAll(vectors, await rawWebSocket(served.address.replace("http", "ws")));
    await served.close();
  });

  test("over HTTP", async () => {
    const served = await serveHttp(new AhpServer(vectorHandlers(), options));
    for (const vector of vectors) {
      const { status, body } = await rawHttp(served.address, vector.in);
      const expected = vector.http ?? { status: 200, body: vector.out ?? undefined };
      expect(status, vector.in).toBe(expected.status);
      if (status === 200) expect(JSON.parse(body), vector.in).toEqual(JSON.parse(expected.body ?? ""));
    }
    await served.close();
  });
});
