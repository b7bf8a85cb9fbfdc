// What an agent runs in place of an MCP server: says the secret at our socket and passes everything on, both ways.
// It imports nothing of ours, so that it starts at once.
import { connect } from "node:net";

const path = process.env.REINS_MCP_SOCKET;
const secret = process.env.REINS_MCP_SECRET;
if (!path || !secret) leave("it was started without REINS_MCP_SOCKET and REINS_MCP_SECRET");

const socket = connect({ path: path ?? "", allowHalfOpen: true });
socket.once("connect", () => {
  socket.write(`${secret}\n`);
  process.stdin.pipe(socket);
});
socket.pipe(process.stdout);
socket.once("end", () => {
  process.stdin.destroy();
  socket.end();
});
socket.once("error", (error) => leave(error.message));
socket.once("close", () => process.stdout.write("", () => process.exit()));
process.stdout.once("error", () => socket.destroy());

function leave(why: string): never {
  process.stderr.write(`reins: the MCP gateway cannot be reached: ${why}\n`);
  process.exit(1);
}
