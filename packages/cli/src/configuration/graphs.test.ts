import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { durableEngine, GraphsSettings } from "./graphs.ts";

it("says at the start of a node that the port at which Restate is to call is taken", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const settings = GraphsSettings.parse({ engine: "restate", restate: { listen: `127.0.0.1:${port}` } });
  await expect(durableEngine(settings)).rejects.toThrow(
    `127.0.0.1:${port}, where Restate is to call, cannot be listened on`,
  );
  server.close();
  await once(server, "close");
  expect(await durableEngine(settings)).toBeTypeOf("function");
});
