// What any server in Node costs: takes messages over HTTP and WebSocket, passes them on to an agent, and its back.
// Nothing is decided, recorded or checked. With "sync" as its second argument, each prompt first waits for the disk once.
import { spawn } from "node:child_process";
import { fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { WebSocketServer } from "ws";

const [, , stub, sync] = process.argv;
const RECORD = Buffer.alloc(4_096, "x");
/** Written over again and again, as the log of a database is: a file that grows takes the disk half as long again. */
const PLACES = 1_024;
const file = sync === "sync" ? openSync(process.argv[4], "w", 0o600) : undefined;
let place = 0;
if (file !== undefined) {
  writeSync(file, Buffer.alloc(PLACES * RECORD.length));
  fsyncSync(file);
}

/** An agent of its own, and what is done with each of its lines. */
function agent(take) {
  const child = spawn(process.execPath, [stub], { stdio: ["pipe", "pipe", "inherit"] });
  createInterface({ input: child.stdout }).on("line", take);
  process.once("disconnect", () => child.kill());
  return (text) => {
    if (file !== undefined && text.includes('"session/prompt"')) {
      writeSync(file, RECORD, 0, RECORD.length, place * RECORD.length);
      place = (place + 1) % PLACES;
      fdatasyncSync(file);
    }
    child.stdin.write(`${text}\n`);
  };
}

let stream;
const waiting = new Map();
const pass = agent((line) => {
  const { id, method } = JSON.parse(line);
  if (method !== undefined) return stream?.write(`data: ${line}\n\n`);
  waiting.get(id)?.(line);
  waiting.delete(id);
});

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    stream = response;
    return;
  }
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const text = Buffer.concat(pieces).toString();
    waiting.set(JSON.parse(text).id, (line) => {
      const length = Buffer.byteLength(line);
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": length,
        "x-acp-connection-id": "1",
      });
      response.end(line);
    });
    pass(text);
  });
});

new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (socket) => {
  const say = agent((line) => socket.send(line));
  socket.on("message", (data) => say(JSON.stringify(JSON.parse(String(data)))));
});

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address();
  process.send({ address: `http://127.0.0.1:${port}`, token: "none", workspace: tmpdir() });
});
process.once("disconnect", () => process.exit());
