// An ACP agent of a few lines, for measuring. A prompt says what it does:
//   "hello"      answers
//   "burst <n>"  sends so many updates first
//   "ask <n>"    asks so many permissions first, one after the other
import { createInterface } from "node:readline";

let sessions = 0;
let next = 1;
const waiting = new Map();
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionId, text) =>
  send({
    method: "session/update",
    params: { sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } },
  });

function ask(sessionId, call) {
  const id = next++;
  const options = [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ];
  const toolCall = { toolCallId: `call-${call}`, name: "Bash", kind: "execute", rawInput: { command: "ls" } };
  send({ id, method: "session/request_permission", params: { sessionId, toolCall, options } });
  return new Promise((resolve) => waiting.set(id, resolve));
}

async function prompt({ sessionId, prompt: blocks }) {
  const [word, count] = String(blocks.at(-1).text).split(" ");
  for (let n = 0; word === "burst" && n < Number(count); n += 1)
    update(sessionId, `piece ${n} of what is said `);
  for (let n = 0; word === "ask" && n < Number(count); n += 1) await ask(sessionId, n);
  return { stopReason: "end_turn" };
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) {
    waiting.get(id)?.(result);
    waiting.delete(id);
  } else if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
  else if (method === "session/new") send({ id, result: { sessionId: `stub-${++sessions}` } });
  else if (method === "session/prompt") send({ id, result: await prompt(params) });
  else if (id !== undefined) send({ id, result: {} });
});
