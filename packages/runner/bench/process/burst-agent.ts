// Answers `{ burst: n }` with n updates such as an agent streams, and anything else with itself.
import { createInterface } from "node:readline";

const UPDATE = {
  jsonrpc: "2.0",
  method: "session/update",
  params: {
    sessionId: "0199b7a1-1c1e-7aa3-8bd0-3f3c5f1a2b3c",
    update: {
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: "a few words of the answer, as they come" },
    },
  },
};
const LINE = `${JSON.stringify(UPDATE)}\n`;

for await (const line of createInterface({ input: process.stdin })) {
  const { burst }: { burst?: number } = JSON.parse(line);
  if (burst === undefined) process.stdout.write(`${line}\n`);
  else for (let sent = 0; sent < burst; sent += 1) process.stdout.write(LINE);
}
