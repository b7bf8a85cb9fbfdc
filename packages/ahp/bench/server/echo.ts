import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Readable, Writable } from "node:stream";
import { WebSocketServer } from "ws";
import { report } from "./lifeline.ts";

// What everything is compared with: the least that a server over the same transport can do.
const [transport, path = ""] = process.argv.slice(2);

switch (transport) {
  case "stdio":
    echoLines(process.stdin, process.stdout);
    report("stdio");
    break;
  case "unix":
    createServer((socket) => echoLines(socket, socket)).listen(path, () => report(path));
    break;
  case "websocket": {
    const server = createHttpServer();
    new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (webSocket) => {
      webSocket.on("message", (data, binary) => webSocket.send(data, { binary }));
    });
    listen(server);
    break;
  }
  default:
    listen(createHttpServer(echoBody));
}

/** Sends every line back by itself. */
function echoLines(input: Readable, output: Writable): void {
  let held = "";
  input.setEncoding("utf8");
  input.on("data", (chunk: string) => {
    const lines = (held + chunk).split("\n");
    held = lines.pop() ?? "";
    for (const line of lines) output.write(`${line}\n`);
  });
}

function echoBody(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts);
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
  });
}

function listen(server: Server): void {
  server.listen(0, "127.0.0.1", () => {
    const address: AddressInfo | string | null = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    report(`http://127.0.0.1:${port}/ahp`);
  });
}
