import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { LoopbackServer } from "../src/http.ts";

test("answers on loopback until it is closed, disconnects waiting clients, and may be closed twice", async () => {
  const server = await LoopbackServer.listen();
  server.serve((_request, response) => void response.end("here"));
  expect(await (await fetch(server.url)).text()).toBe("here");
  const silent = connect(server.port, "127.0.0.1").resume();
  await once(silent, "connect");
  const hungUp = once(silent, "close");
  await Promise.all([server.close(), server.close()]);
  await server.close();
  await hungUp;
  await expect(fetch(server.url)).rejects.toThrow("fetch failed");
});
