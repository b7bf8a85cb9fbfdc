import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { webSocketChannel } from "../src/hosting/agent-channel.ts";
import { folder } from "./support/reins.ts";

it("a Reins that takes the connection and then hangs is not waited for without end", async () => {
  const socket = join(folder, "hanging.sock");
  const hanging = createServer().listen(socket);
  onTestFinished(() => void hanging.close());
  await once(hanging, "listening");
  await expect(
    webSocketChannel({ home: folder, socket, agent: "native", patienceMs: 50 }),
  ).rejects.toMatchObject({ message: expect.stringContaining("does not answer"), exitCode: 3 });
});
